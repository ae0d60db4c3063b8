//go:build !linux

package race

import (
	"context"
	"errors"
	"runtime"
)

var errOther = errors.New("the attacker needs renameat2, openat2 and inotify, and " + runtime.GOOS + " has none of them")

// Run says that there is no attacker on this system.
func Run(context.Context, Options, func(Result)) (Summary, error) { return Summary{}, errOther }

func playAttacker(string) error { return errOther }
