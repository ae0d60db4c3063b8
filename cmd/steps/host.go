package main

import (
	"github.com/spf13/pflag"

	"steps.example/interp"
)

// hostFlags say what the user takes from this machine's jail, and wants of it.
type hostFlags struct {
	gaps, require []string
	capture       string
}

func (f *hostFlags) add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.gaps, "allow-gap", nil, "let commands run although the jail cannot keep this `GUARANTEE` here; see steps doctor; repeatable")
	flags.StringSliceVar(&f.require, "require", nil, "let no command run unless the jail keeps this `GUARANTEE`, such as names; repeatable")
}

func (f *hostFlags) machine() interp.Machine {
	return interp.Machine{Gaps: f.gaps, Require: f.require}
}

// captureFlag is for apply alone: a plan runs nothing.
func (f *hostFlags) captureFlag(flags *pflag.FlagSet) {
	flags.StringVar(&f.capture, "capture", "", "how to catch what a command writes, `overlay|snapshot`; without it, overlay where this machine can")
}

func (f *hostFlags) mode() (interp.CaptureMode, error) {
	switch mode := interp.CaptureMode(f.capture); mode {
	case "", interp.CaptureOverlay, interp.CaptureSnapshot:
		return mode, nil
	}
	return "", usagef("--capture %s: must be overlay or snapshot", f.capture)
}
