package commit

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// maxFound bounds how many objects a command may leave behind, or remove.
const maxFound = 1 << 20

// maxPath is the longest path, in bytes, that anybody can use: Linux' PATH_MAX
// with its NUL.
const maxPath = 4095

// budget is what is left of [maxFound].
type budget int

func (b *budget) spend(path string) error {
	if *b--; *b < 0 {
		return fmt.Errorf("%s: the command left behind, or removed, more than %d objects", filepath.Dir(path), maxFound)
	}
	if len(path) > maxPath {
		return fmt.Errorf("%s…: the path is longer than %d bytes", path[:200], maxPath)
	}
	return nil
}

// names lists a directory, sorted, that may have known entries beside those that
// are left to be found.
func (b budget) names(d *fsroot.Dir, known int) ([]string, error) {
	names, err := namesUpTo(d.FD(), max(int(b), 0)+known)
	if err == errTooMany {
		err = fmt.Errorf("%s has %w, at most %d objects may change", d.Path, err, maxFound)
	}
	slices.Sort(names)
	return names, err
}

// inode identifies an object.
type inode struct{ dev, ino uint64 }

// found is what is known of what a command changed.
type found struct {
	changes *changeset.Changeset
	names   map[inode][]string // of objects with several
	links   map[inode]uint64
}

func newFound() *found {
	return &found{changes: &changeset.Changeset{}, names: map[inode][]string{}, links: map[inode]uint64{}}
}

func (f *found) change(c changeset.Change) { f.changes.Changes = append(f.changes.Changes, c) }

// name notes one name of an object that the command left.
func (f *found) name(path string, st changeset.Stamp) {
	if st.Kind() != changeset.Dir && st.Nlink > 1 {
		id := inode{st.Dev, st.Ino}
		f.names[id], f.links[id] = append(f.names[id], path), st.Nlink
	}
}

// captured sorts all that was found.
func (f *found) captured() *changeset.Captured {
	f.changes.Sort()
	c := &changeset.Captured{Changes: f.changes}
	there := map[string]bool{}
	for i := range f.changes.Changes {
		if ch := &f.changes.Changes[i]; ch.After != nil {
			there[ch.Path] = true
		}
	}
	for id, names := range f.names {
		var mine []string
		for _, p := range names {
			if there[p] {
				mine = append(mine, p)
			}
		}
		slices.Sort(mine)
		if len(mine) > 1 {
			c.Linked = append(c.Linked, mine)
		}
		if len(mine) < len(names) || uint64(len(names)) < f.links[id] {
			c.Shared = append(c.Shared, mine...)
		}
	}
	slices.Sort(c.Shared)
	slices.SortFunc(c.Linked, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return c
}
