//go:build !linux

package crash

import (
	"context"
	"errors"
)

var errLinux = errors.New("the suite takes changes back with calls that only Linux has")

// Names lists what [Run] runs; an error on this system.
func Names(Options) ([]string, error) { return nil, errLinux }

// Run is an error on this system.
func Run(context.Context, Options, func(Result)) (Summary, error) { return Summary{}, errLinux }
