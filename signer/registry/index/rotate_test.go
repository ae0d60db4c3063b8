package index

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"
)

// newKeys are fresh ones, but for the root's.
func (f *fixture) newKeys() *Keys {
	f.t.Helper()
	dir := filepath.Join(f.t.TempDir(), "keys")
	check(f.t, GenerateOnlineKeys(dir))
	next, err := LoadKeys(dir)
	check(f.t, err)
	if next.Root != nil {
		f.t.Fatal("a root key beside the online ones")
	}
	next.Root = f.keys.Root
	return next
}

func wantRefusal(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want …%s…", err, text)
	}
}

// A process that dies between the new root and the index under it leaves an index that
// can be rotated again, and old keys that cannot harm it.
func TestRotateCutShort(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://")
	f.sign(1, "a")
	old := f.indexer("old")
	_, err := old.Fold(t.Context())
	check(t, err)
	next := f.newKeys()
	version, root, err := old.nextRoot(t.Context(), next)
	check(t, err)
	check(t, f.store.Create(t.Context(), roleKey(metadata.ROOT, version), root))

	// The new keys are not the index's yet; the old ones still are.
	next.Pinned = f.keys.Pinned
	fresh, err := Open(f.store, next, f.options("fresh"))
	check(t, err)
	_, err = fresh.Fold(t.Context())
	wantRefusal(t, err, "cut short")
	f.sign(2, "a")
	_, err = f.indexer("old").Fold(t.Context())
	check(t, err)

	check(t, f.indexer("rotate").Rotate(t.Context(), next))
	if f.revision(1) != 1 || f.revision(2) != 1 {
		t.Error("packages were lost")
	}
	// An indexer that still has the old keys, whose next commit would end the index.
	f.sign(1, "b")
	_, err = old.Fold(t.Context())
	wantRefusal(t, err, "its keys were replaced")
	_, err = f.indexer("old").Fold(t.Context())
	wantRefusal(t, err, "its keys were replaced")
	fresh, err = Open(f.store, next, f.options("fresh"))
	check(t, err)
	_, err = fresh.Fold(t.Context())
	check(t, err)
	if f.revision(1) != 2 {
		t.Error("the new keys do not work")
	}
}

// Whoever is at work has the old keys.
func TestRotateTakesTheLease(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://")
	at := f.indexer("at work")
	_, err := at.turn(t.Context())
	check(t, err)
	wantRefusal(t, f.indexer("rotate").Rotate(t.Context(), f.newKeys()), "another indexer, at work, holds the lease")
	check(t, at.lease.release(t.Context()))
	next := f.newKeys()
	check(t, f.indexer("rotate").Rotate(t.Context(), next))
	_, err = at.turn(t.Context())
	check(t, err)
	if at.lease.epoch != 0 {
		t.Error("the lease was not lost")
	}
	_, err = at.Fold(t.Context())
	wantRefusal(t, err, "its keys were replaced")
	// It was given back.
	x, err := Open(f.store, next, f.options("next"))
	check(t, err)
	_, err = x.turn(t.Context())
	check(t, err)
	if x.lease.epoch == 0 {
		t.Error("the lease was kept")
	}
}

// The root's key replaces itself, and an old one is no use then.
func TestRotateRoot(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://")
	next, stranger := f.newKeys(), f.newKeys()
	dir := filepath.Join(t.TempDir(), "keys")
	check(t, GenerateKeys(dir))
	whole, err := LoadKeys(dir)
	check(t, err)
	next.Root = whole.Root
	check(t, f.indexer("rotate").Rotate(t.Context(), next))
	wantRefusal(t, f.indexer("rotate").Rotate(t.Context(), stranger), "not that of the newest root metadata")
	stranger.Root = next.Root
	x, err := Open(f.store, &Keys{Root: next.Root, Pinned: f.keys.Pinned}, f.options("rotate"))
	check(t, err)
	check(t, x.Rotate(t.Context(), stranger))
}

// A root that is about to end is said, and renewed by rotating.
func TestRootEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://")
	var log bytes.Buffer
	fold := func(keys *Keys) string {
		o := f.options("x")
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		log.Reset()
		x, err := Open(f.store, keys, o)
		check(t, err)
		_, err = x.Fold(t.Context())
		check(t, err)
		return log.String()
	}
	const notice = "root metadata ends"
	f.later(24 * time.Hour)
	if got := fold(f.keys); strings.Contains(got, notice) {
		t.Errorf("said too early: %s", got)
	}
	f.later(rootLife - 48*time.Hour)
	if got := fold(f.keys); !strings.Contains(got, notice) {
		t.Errorf("not said: %s", got)
	}
	next := f.newKeys()
	check(t, f.indexer("x").Rotate(t.Context(), next))
	f.later(24 * time.Hour)
	if got := fold(next); strings.Contains(got, notice) {
		t.Errorf("said after it was renewed: %s", got)
	}
}
