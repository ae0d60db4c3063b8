package commit

import (
	"testing"

	"steps.example/interp/changeset"
)

// TestNetOfMovedOver: what an earlier changeset made and a later one moves over a file,
// which another had made there, is known by its own hash afterwards.
func TestNetOfMovedOver(t *testing.T) {
	t.Parallel()
	made := func(text string) *changeset.State {
		return &changeset.State{Kind: changeset.File, Mode: 0o644, Size: int64(len(text)), SHA256: hashHex([]byte(text))}
	}
	known := func(size int64) *changeset.State {
		return &changeset.State{Kind: changeset.File, Mode: 0o644, Size: size, UID: changeset.KeepOwner, GID: changeset.KeepOwner}
	}
	content := func(text string) *changeset.Content { return &changeset.Content{Bytes: []byte(text)} }
	list := []*changeset.Changeset{
		{Changes: []changeset.Change{
			{Path: "/v/b", After: made("old a"), Content: content("old a")},
			{Path: "/v/y", After: made("typed"), Content: content("typed")},
		}},
		{Changes: []changeset.Change{
			{Path: "/v/b", Before: known(5), After: known(5), From: "/v/y"},
			{Path: "/v/y", Before: known(5), After: made("third"), Content: content("third")},
		}},
	}
	got := map[string]changeset.Change{}
	for _, c := range net(list, false).Changes {
		got[c.Path] = c
	}
	for path, text := range map[string]string{"/v/b": "typed", "/v/y": "third"} {
		c := got[path]
		if c.From != "" || c.After == nil || c.After.SHA256 != hashHex([]byte(text)) || c.Content == nil || string(c.Content.Bytes) != text {
			t.Errorf("%s: %+v, want content %q", path, c, text)
		}
	}
}

// TestNetOfReceipts: what one receipt made and a later one moved was perhaps written to
// in between, and is known by the time that it had when it was moved.
func TestNetOfReceipts(t *testing.T) {
	t.Parallel()
	file := func(text, sum string) *changeset.State {
		return &changeset.State{Kind: changeset.File, Mode: 0o644, Size: int64(len(text)), SHA256: sum}
	}
	for name, before := range map[string]*changeset.State{"made": nil, "changed": file("one", "")} {
		first := changeset.Change{Path: "/v/f", Before: before, After: file("one", hashHex([]byte("one")))}
		if before != nil { // only its mode
			first.After = &changeset.State{Kind: changeset.File, Mode: 0o600, Size: 3}
			first.Stamp = &changeset.Stamp{MTime: 1}
		}
		cs := Net([]*changeset.Changeset{
			{Changes: []changeset.Change{first}},
			{Changes: []changeset.Change{
				{Path: "/v/f", Before: file("two", ""), After: file("three", hashHex([]byte("three"))), Stamp: &changeset.Stamp{MTime: 2}},
				{Path: "/v/old", After: file("two", ""), From: "/v/f"},
			}},
		})
		for _, c := range cs.Changes {
			switch {
			case c.Path == "/v/old" && (c.After.SHA256 != "" || c.After.MTime != 2 || c.After.Size != 3):
				t.Errorf("%s: moved: %+v", name, c.After)
			case c.Path == "/v/f" && c.After.SHA256 != hashHex([]byte("three")):
				t.Errorf("%s: new: %+v", name, c.After)
			}
		}
		if len(cs.Changes) != 2 {
			t.Errorf("%s: %d changes", name, len(cs.Changes))
		}
	}
}
