package interp

import (
	"path/filepath"
	"strings"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/rubyglob"
	"steps.example/interp/view"
	"steps.example/steps"
)

// maxMade bounds, in bytes, what one command may leave behind.
const maxMade = 64 << 30

// kinds are the kinds of outputs, as changesets have them.
var kinds = map[string]changeset.Kind{
	steps.OutputFile: changeset.File, steps.OutputDirectory: changeset.Dir, steps.OutputSymlink: changeset.Symlink,
}

// contract is what r may leave behind, for judging what it made.
func (m *machine) contract(r *Run, made *changeset.Captured, failed bool) (changeset.Contract, error) {
	c := changeset.Contract{
		Writes:        r.Policy.Writes,
		Failed:        failed,
		Protected:     r.Policy.Protect,
		ProtectedName: m.protectedName,
		Named:         r.named,
		Approved:      m.Approved,
		Fold:          steps.Fold,
		MaxChanges:    maxChanges,
		MaxBytes:      maxMade,
	}
	if r.Policy.Outputs == nil {
		return c, nil
	}
	c.Outputs = []changeset.Output{}
	changed := newChangedFS(made.Changes)
	for _, o := range r.Policy.Outputs {
		out := changeset.Output{
			Paths: []string{o.Path}, Any: o.Any,
			Kind: kinds[o.Kind], MaxSize: o.MaxSize, Executable: o.Executable,
		}
		if o.Any {
			var err error
			if out.Paths, err = rubyglob.Glob(changed, o.Path); err != nil {
				return c, err
			}
		}
		c.Outputs = append(c.Outputs, out)
	}
	return c, nil
}

func (e *environment) protectedName(path string) string { return e.protection.Of(path).Name }

// changedFS is a tree of nothing but the paths that change, for matching the
// patterns of outputs with them.
type changedFS struct {
	kind  map[string]rubyglob.Kind
	names map[string][]string
}

func newChangedFS(cs *changeset.Changeset) *changedFS {
	f := &changedFS{kind: map[string]rubyglob.Kind{"/": rubyglob.Dir}, names: map[string][]string{}}
	for i := range cs.Changes {
		c := &cs.Changes[i]
		kind := rubyglob.Other
		st := c.After
		if st == nil {
			st = c.Before
		}
		switch st.Kind {
		case changeset.Dir:
			kind = rubyglob.Dir
		case changeset.File:
			kind = rubyglob.File
		case changeset.Symlink:
			kind = rubyglob.Symlink
		}
		f.add(c.Path, kind)
	}
	return f
}

func (f *changedFS) add(path string, kind rubyglob.Kind) {
	if _, known := f.kind[path]; !known {
		dir := filepath.Dir(path)
		f.add(dir, rubyglob.Dir)
		f.names[dir] = append(f.names[dir], filepath.Base(path))
		f.kind[path] = kind
	} else if kind != rubyglob.Dir {
		f.kind[path] = kind
	}
}

// Lstat finds clean paths only: no pattern climbs.
func (f *changedFS) Lstat(path string) (rubyglob.Kind, error) {
	return f.kind[strings.ReplaceAll(path, "//", "/")], nil
}

// Stat follows nothing: where a link leads is not what changed.
func (f *changedFS) Stat(path string) (rubyglob.Kind, error) {
	if k, err := f.Lstat(path); k != rubyglob.Symlink {
		return k, err
	}
	return rubyglob.Other, nil
}

func (f *changedFS) ReadDir(path string) ([]string, error) {
	return f.names[strings.ReplaceAll(path, "//", "/")], nil
}

// beforeTree is the tree that a view shows, for the judge.
type beforeTree struct{ v *view.View }

func (t beforeTree) Lstat(path string) (*changeset.State, error) {
	st, err := t.v.Lstat(path)
	if view.IsAbsent(err) {
		return nil, nil
	}
	return st, err
}

func (t beforeTree) ReadDir(path string) ([]string, error) {
	names, err := t.v.ReadDir(path)
	if view.IsAbsent(err) {
		return nil, nil
	}
	return names, err
}
