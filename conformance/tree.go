package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Tree is a tree as data: slash-separated path below the root → entry.
type Tree map[string]Entry

// Entry is one object.
type Entry struct {
	Type    string `json:"type"` // "dir", "file", "symlink"
	Mode    string `json:"mode,omitempty"`
	Content string `json:"content,omitempty"`
	Target  string `json:"target,omitempty"`
}

// Build makes the tree below root, which must exist and be empty. Parents that
// are not in it get mode 0755.
func (t Tree) Build(root string) error {
	paths := t.sortedPaths()
	for _, p := range paths {
		e, at := t[p], filepath.Join(root, filepath.FromSlash(p))
		if !filepath.IsLocal(p) {
			return fmt.Errorf("path %q leads out of the tree", p)
		}
		if err := makeParents(root, filepath.Dir(at)); err != nil {
			return err
		}
		var err error
		switch e.Type {
		case "dir":
			if err = os.Mkdir(at, 0o755); errors.Is(err, fs.ErrExist) {
				err = nil
			}
		case "file":
			err = os.WriteFile(at, []byte(fill(e.Content, root)), 0o644)
		case "symlink":
			err = os.Symlink(fill(e.Target, root), at)
		default:
			err = fmt.Errorf("path %q: type %q is not known", p, e.Type)
		}
		if err != nil {
			return err
		}
	}
	// Modes last and children first, so that no directory shuts its maker out.
	for _, p := range slices.Backward(paths) {
		if t[p].Mode == "" {
			continue
		}
		mode, err := strconv.ParseUint(t[p].Mode, 8, 12)
		if err != nil {
			return fmt.Errorf("path %q: mode: %w", p, err)
		}
		if err := chmod(filepath.Join(root, filepath.FromSlash(p)), uint32(mode)); err != nil {
			return err
		}
	}
	return nil
}

func makeParents(root, dir string) error {
	if dir == root {
		return nil
	}
	if err := makeParents(root, filepath.Dir(dir)); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	return err
}

// ReadTree reads the tree below root. What its owner cannot read or search is
// opened up for the moment and closed again.
func ReadTree(root string) (Tree, error) {
	t := Tree{}
	return t, t.read(root, root)
}

func (t Tree) read(root, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, d := range entries {
		at := filepath.Join(dir, d.Name())
		rel, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		mode := unixMode(info.Mode())
		e := Entry{Mode: fmt.Sprintf("%04o", mode)}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			e.Type, e.Mode = "symlink", ""
			if e.Target, err = os.Readlink(at); err != nil {
				return err
			}
		case info.IsDir():
			e.Type = "dir"
			err = opened(at, mode, 0o500, func() error { return t.read(root, at) })
		case info.Mode().IsRegular():
			e.Type = "file"
			err = opened(at, mode, 0o400, func() error {
				data, err := os.ReadFile(at)
				e.Content = string(data)
				return err
			})
		default:
			e.Type = "other"
		}
		if err != nil {
			return err
		}
		t[filepath.ToSlash(rel)] = e
	}
	return nil
}

// opened calls f while the owner has at least the rights need on path.
func opened(path string, mode, need uint32, f func() error) error {
	if mode&need == need {
		return f()
	}
	if err := chmod(path, mode|need); err != nil {
		return err
	}
	return errors.Join(f(), chmod(path, mode))
}

func unixMode(m fs.FileMode) uint32 {
	bits := uint32(m.Perm())
	for bit, mode := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if m&mode != 0 {
			bits |= bit
		}
	}
	return bits
}

func chmod(path string, bits uint32) error {
	m := fs.FileMode(bits & 0o777)
	for bit, mode := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if bits&bit != 0 {
			m |= mode
		}
	}
	return os.Chmod(path, m)
}

// filled is the tree as it is on disk below root: the root put into link texts
// and contents, implied parents added.
func (t Tree) filled(root string) Tree {
	out := Tree{}
	for p, e := range t {
		e.Content, e.Target = fill(e.Content, root), fill(e.Target, root)
		if e.Type == "symlink" {
			e.Mode = ""
		}
		out[p] = e
		for dir := filepath.Dir(p); dir != "."; dir = filepath.Dir(dir) {
			if _, ok := t[dir]; !ok {
				out[dir] = Entry{Type: "dir", Mode: "0755"}
			}
		}
	}
	return out
}

// Diff lists what differs between two trees, a line each, sorted.
func (t Tree) Diff(want Tree) []string {
	var out []string
	for _, p := range want.sortedPaths() {
		got, ok := t[p]
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("%s: missing, want %s", p, want[p]))
		case got != want[p]:
			out = append(out, fmt.Sprintf("%s: %s, want %s", p, got, want[p]))
		}
	}
	for _, p := range t.sortedPaths() {
		if _, ok := want[p]; !ok {
			out = append(out, fmt.Sprintf("%s: %s, want nothing", p, t[p]))
		}
	}
	return out
}

func (e Entry) String() string {
	switch e.Type {
	case "symlink":
		return fmt.Sprintf("symlink to %q", e.Target)
	case "file":
		return fmt.Sprintf("file %s %q", e.Mode, e.Content)
	}
	return e.Type + " " + e.Mode
}
