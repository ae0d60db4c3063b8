package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestHelpFits: what every verb says of itself fits a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Long + "\n" + cmd.UsageString()) {
			if line = strings.TrimRight(line, "\n"); len([]rune(line)) > 80 {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), len([]rune(line)), line)
			}
		}
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look(newRoot(stdio()))
}
