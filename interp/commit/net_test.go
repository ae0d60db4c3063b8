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
	for _, c := range net(list).Changes {
		got[c.Path] = c
	}
	for path, text := range map[string]string{"/v/b": "typed", "/v/y": "third"} {
		c := got[path]
		if c.From != "" || c.After == nil || c.After.SHA256 != hashHex([]byte(text)) || c.Content == nil || string(c.Content.Bytes) != text {
			t.Errorf("%s: %+v, want content %q", path, c, text)
		}
	}
}
