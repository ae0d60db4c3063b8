//go:build !linux

package main

import (
	"context"
	"os"
	"path/filepath"
)

// readFacts: there is advice for Linux only.
func readFacts() facts { return facts{root: os.Geteuid() == 0} }

const overlayCapture = "overlay"

// capture: there are no overlays here.
func capture(_ context.Context, _ string, where storeFlags, _ string) (*captureResult, error) {
	prefix, err := filepath.Abs(where.prefix)
	return &captureResult{
		Prefix: prefix, Mechanism: "snapshot", Copies: "reflink where the file system can, as APFS does", Why: "this system has none",
	}, err
}
