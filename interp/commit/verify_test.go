package commit

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

// What cannot be looked at is no drift.
func TestVerifyFails(t *testing.T) {
	t.Parallel()
	b := newBed(t, model{})
	set := openSet(t, b.root)
	path := b.root + "/" + strings.Repeat("x", 300)
	if drifts, err := verifyOne(set, path, &changeset.State{Kind: changeset.File}, nil); !errors.Is(err, unix.ENAMETOOLONG) {
		t.Errorf("got %v, %v", drifts, err)
	}
}
