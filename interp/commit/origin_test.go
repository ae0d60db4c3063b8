package commit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"steps.example/interp/changeset"
)

// TestOriginChanged: a file that is to be copied must be the one looked at.
func TestOriginChanged(t *testing.T) {
	t.Parallel()
	b := newBed(t, parse(t, "src 0644 "+strings.Repeat("long ", 1<<19)))
	set := openSet(t, b.root)
	src := filepath.Join(b.root, "src")
	stamp, err := set.Lstat(src)
	if err != nil {
		t.Fatal(err)
	}
	copyOf := func() *changeset.Changeset {
		return &changeset.Changeset{Changes: []changeset.Change{{
			Path:    filepath.Join(b.root, "copy"),
			After:   &changeset.State{Kind: changeset.File, Mode: 0o640, UID: -1, GID: -1},
			Content: &changeset.Content{Origin: &changeset.Origin{Path: src, Stamp: stamp}},
		}}}
	}
	s := b.open(t)
	cs := copyOf()
	id, err := b.apply(t, s, cs)
	if err != nil {
		t.Fatal(err)
	}
	after := cs.Changes[0].After
	want, _ := os.ReadFile(src)
	if got, err := os.ReadFile(src + "/../copy"); err == nil || got != nil {
		t.Fatal("path through a file")
	}
	got, err := os.ReadFile(filepath.Join(b.root, "copy"))
	if err != nil || string(got) != string(want) || after.SHA256 != hashHex(want) || after.Size != int64(len(want)) {
		t.Fatalf("copy: %d bytes, %v, %+v", len(got), err, after)
	}
	if err := s.Undo(id); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(src, []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := b.apply(t, s, copyOf()); !errors.Is(err, ErrMoved) {
		t.Fatalf("copied a changed file: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(b.root, "copy")); err == nil {
		t.Fatal("copy is there")
	}
	clean(t, s)
}

// What is to be copied and is gone has moved.
func TestOriginGone(t *testing.T) {
	t.Parallel()
	b := newBed(t, parse(t, `f 0644 f`))
	st, err := openSet(t, b.root).Lstat(b.root + "/f")
	if err == nil {
		err = os.Remove(b.root + "/f")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.apply(t, b.open(t), &changeset.Changeset{Changes: []changeset.Change{{
		Path: b.root + "/copy", After: st.State(), Content: &changeset.Content{Origin: &changeset.Origin{Path: b.root + "/f", Stamp: st}},
	}}})
	if !errors.Is(err, ErrMoved) {
		t.Errorf("got %v", err)
	}
}

// A content that is not what was planned is not put anywhere.
func TestContentAsPlanned(t *testing.T) {
	t.Parallel()
	b := newBed(t, model{})
	state := &changeset.State{Kind: changeset.File, Mode: 0o644, UID: changeset.KeepOwner, GID: changeset.KeepOwner, Size: 1, SHA256: hashHex([]byte("y"))}
	_, err := b.apply(t, b.open(t), &changeset.Changeset{Changes: []changeset.Change{{
		Path: b.root + "/f", After: state, Content: &changeset.Content{Bytes: []byte("x")},
	}}})
	if !errors.Is(err, ErrMoved) {
		t.Errorf("got %v", err)
	}
	sameTree(t, "before", dumpDisk(t, b.root, nil), model{})
}

// A file that ends early is not read for ever.
func TestShorterThanItWas(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := hashFD(int(f.Fd()), 5); err == nil {
		t.Error("five bytes of four were hashed")
	}
}
