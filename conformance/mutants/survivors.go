package main

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed survivors.txt
var survivorsText string

// parseSurvivors reads the mutants that make no difference to anybody: paragraphs
// of the reason, in lines that begin with #, and below it the keys it is true of.
func parseSurvivors(text string) (map[string]string, error) {
	out := map[string]string{}
	var reason []string
	open := false
	for i, line := range strings.Split(text, "\n") {
		switch line = strings.TrimSpace(line); {
		case line == "":
			reason, open = nil, false
		case strings.HasPrefix(line, "#"):
			if open {
				reason, open = nil, false
			}
			reason = append(reason, strings.TrimSpace(line[1:]))
		case len(reason) == 0:
			return nil, fmt.Errorf("survivors.txt:%d: no reason stands above %q", i+1, line)
		case out[line] != "":
			return nil, fmt.Errorf("survivors.txt:%d: %q is there twice", i+1, line)
		default:
			open = true
			out[line] = strings.Join(reason, " ")
		}
	}
	return out, nil
}
