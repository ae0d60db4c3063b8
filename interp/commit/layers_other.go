//go:build !linux

package commit

import (
	"errors"

	"steps.example/interp/changeset"
)

var errNoOverlay = errors.New("only Linux has layers")

func (w *work) upperFault(*slotDir) error { return errNoOverlay }

func lowerFault(_ int, dir string, _ changeset.Stamp) error {
	return noLayers(dir, "cannot have one: only Linux has them")
}

func isWhiteout(int, string) (bool, error) { return false, errNoOverlay }

func marksOf(int) (bool, error) { return false, errNoOverlay }
