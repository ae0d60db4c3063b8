package rubyglob

import (
	"slices"
	"strings"
)

// A walker runs one search.
type walker struct {
	fs      FS
	budget  int // what is left of Limit
	results []string
}

// A place is a path reached so far.
type place struct {
	path string
	sep  bool // a slash separates path from what follows
	kind Kind // unknown, or as of Lstat

	listed bool // a wildcard has been met on the way
}

func (at place) join(name string) string {
	if at.sep {
		return at.path + "/" + name
	}
	return at.path + name
}

func (w *walker) spend(path string) error {
	if w.budget--; w.budget < 0 || len(path) > MaxPath {
		return ErrLimit
	}
	return nil
}

// walk continues the search at a place with the components that may come next.
// There are several once **/ has been met: it can end here or further down.
func (w *walker) walk(at place, next []*component) error {
	if err := w.spend(at.path); err != nil {
		return err
	}
	var wants struct{ any, dir, list, deep, name bool }
	for _, c := range next {
		if c.kind == recursive {
			wants.deep = true
			c = c.next
		}
		switch c.kind {
		case matchAny:
			wants.any = true
		case matchDir:
			wants.dir = true
		case wild:
			wants.list = true
		case plain:
			wants.name = true
		case brace:
			if !wants.deep {
				return w.expand(at, c)
			}
		}
	}
	if err := w.accept(&at, wants.any, wants.dir); err != nil || at.kind == None {
		return err
	}
	switch {
	case wants.list || wants.deep:
		return w.list(at, next, wants.deep)
	case wants.name:
		return w.named(at, next)
	}
	return nil
}

// accept adds the place to the results if the pattern may end here. It fills in
// the kind where that needs it.
func (w *walker) accept(at *place, wantAny, wantDir bool) (err error) {
	if wantAny && at.kind == unknown {
		if at.kind, err = w.fs.Lstat(at.path); err != nil {
			return err
		}
	}
	if wantAny && at.kind != None {
		w.results = append(w.results, at.path)
	}
	if wantDir {
		isDir, err := w.isDir(at)
		if err != nil {
			return err
		}
		if isDir {
			w.results = append(w.results, at.join(""))
		}
	}
	return nil
}

// isDir reports whether the place is a directory or a link to one.
func (w *walker) isDir(at *place) (bool, error) {
	if at.kind != unknown && at.kind != Symlink {
		return at.kind == Dir, nil
	}
	kind, err := w.fs.Stat(at.path)
	if err != nil {
		return false, err
	}
	if kind == None && at.kind == unknown {
		at.kind = None
	}
	return kind == Dir, nil
}

// expand tries all expansions of the rest of a pattern.
func (w *walker) expand(at place, c *component) error {
	return expand(c.rest(), func(s string) error {
		return w.walk(at, []*component{parse(s)})
	})
}

// list continues with the entries of a directory.
func (w *walker) list(at place, next []*component, deep bool) error {
	isDir, err := w.isDir(&at)
	if err != nil || !isDir {
		return err
	}
	names, err := w.fs.ReadDir(at.path)
	if err != nil {
		return err
	}
	names = slices.Clone(names)
	if !deep && !at.listed {
		names = append(names, ".") // for a pattern such as .*
	}
	slices.Sort(names)
	for _, name := range names {
		if err := w.entry(at, name, next, deep); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) entry(at place, name string, next []*component, deep bool) (err error) {
	entry := place{path: at.join(name), sep: true, kind: unknown, listed: true}
	if err := w.spend(entry.path); err != nil {
		return err
	}
	hidden := strings.HasPrefix(name, ".")
	switch {
	case name == ".":
		entry.kind = Dir
	case deep && !hidden:
		if entry.kind, err = w.fs.Lstat(entry.path); err != nil {
			return err
		}
	}
	var onward []*component
	for _, c := range next {
		if c.kind == recursive {
			if entry.kind == Dir && !hidden {
				onward = appendNew(onward, c)
			}
			c = c.next
		}
		switch c.kind {
		case plain, wild, brace:
			if c.matches(name) {
				onward = appendNew(onward, c.next)
			}
		}
	}
	if len(onward) == 0 {
		return nil
	}
	return w.walk(entry, onward)
}

// named continues with entries that are spelled out, without listing.
func (w *walker) named(at place, next []*component) error {
	var names []string
	onward := map[string][]*component{}
	for _, c := range next {
		if c.kind != plain {
			continue
		}
		name := unescape(c.text)
		if onward[name] == nil {
			names = append(names, name)
		}
		onward[name] = appendNew(onward[name], c.next)
	}
	for _, name := range names {
		entry := place{path: at.join(name), sep: true, kind: unknown, listed: at.listed}
		if err := w.walk(entry, onward[name]); err != nil {
			return err
		}
	}
	return nil
}

// appendNew keeps a list free of repeats, which several **/ would multiply.
func appendNew(list []*component, c *component) []*component {
	if slices.Contains(list, c) {
		return list
	}
	return append(list, c)
}
