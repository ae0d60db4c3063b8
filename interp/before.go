package interp

import (
	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// maxBefore bounds, in bytes, a file that is read to be shown.
const maxBefore = 1 << 20

// BeforeReader gives a function that reads what a file held that a change
// replaces, for showing a difference. It reports false where the file cannot be
// read, or is no longer the one that the change speaks of.
func BeforeReader(t Target) func(*changeset.Change) ([]byte, bool) {
	return func(c *changeset.Change) ([]byte, bool) {
		if c.Stamp == nil {
			return nil, false
		}
		set, err := fsroot.New(t.roots())
		if err != nil {
			return nil, false
		}
		defer set.Close()
		dir, name, err := set.OpenParent(c.Path)
		if err != nil {
			return nil, false
		}
		data, stamp, err := dir.ReadFile(name, maxBefore)
		return data, err == nil && c.Stamp.Unchanged(stamp)
	}
}
