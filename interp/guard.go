package interp

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"steps.example/interp/internal/rubyglob"
	"steps.example/interp/view"
	"steps.example/steps"
)

// guarded reports whether all guards hold, from left to right, stopping at the
// first that does not. Each is asked once a block, when it is first needed; the
// whole guard, its id included, is the key.
func (m *machine) guarded(guards []steps.Guard) (bool, error) {
	for _, g := range guards {
		holds, known := m.guards[g]
		if !known {
			var err error
			if holds, err = m.holds(g); err != nil {
				return false, fmt.Errorf("guard %s: %w", g.Condition, err)
			}
			m.guards[g] = holds
		}
		if !holds {
			return false, nil
		}
	}
	return true, nil
}

func (m *machine) holds(g steps.Guard) (bool, error) {
	if g.Condition == "on" {
		return g.Value == m.OS, nil
	}
	found, err := m.anyExists(steps.Path{Base: g.Base, Path: g.Path, Formula: g.Formula})
	if err != nil {
		return false, err
	}
	switch g.Condition {
	case "if_exists":
		return found, nil
	case "unless_exists":
		return !found, nil
	}
	return false, fmt.Errorf("condition %q is not known", g.Condition)
}

// anyExists reports whether something that p matches exists, links followed: a
// dangling link does not.
func (m *machine) anyExists(p steps.Path) (bool, error) {
	matches, err := m.glob(p)
	if err != nil {
		return false, err
	}
	for _, match := range matches {
		if ok, err := m.view.Exists(match); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// glob gives the paths that p matches, sorted: those on disk for a pattern, the
// path itself, there or not, for anything else.
func (m *machine) glob(p steps.Path) ([]string, error) {
	var patterns []string
	search := p.Base == steps.BaseSearchPath
	if search {
		for _, dir := range m.SearchPath {
			// Directories outside the roots hold nothing that a step may touch.
			if _, err := m.view.Lstat(dir); err == nil {
				patterns = append(patterns, escapeGlob(dir)+"/"+m.expandWith(p.Path, escapeGlob))
			}
		}
	} else {
		pattern, err := m.pattern(p)
		if err != nil {
			return nil, err
		}
		plain, err := m.path(p)
		if err != nil {
			return nil, err
		}
		// Only what the document wrote counts: escaped metacharacters of
		// directories alone make no pattern.
		if !rubyglob.HasMeta(m.expandWith(p.Path, func(string) string { return "" })) {
			return []string{plain}, nil
		}
		patterns = []string{pattern}
	}
	base, err := m.baseDir(p)
	if err != nil && !search {
		return nil, err
	}
	var out []string
	for _, pattern := range patterns {
		matches, err := rubyglob.Glob(globFS{m.view}, pattern)
		if err != nil {
			return nil, err
		}
		for _, match := range matches {
			// Braces can spell a ".." that the document's checks did not see.
			if clean := path.Clean(match); base != "" && clean != base && !strings.HasPrefix(clean, base+"/") {
				return nil, fmt.Errorf("path %q: matches %s, which is not below its base", p.Path, match)
			}
		}
		// ".*" matches "." as well, and nobody who writes it means that.
		out = append(out, slices.DeleteFunc(matches, isDots)...)
	}
	return out, nil
}

func isDots(p string) bool { return strings.HasSuffix(p, "/.") || strings.HasSuffix(p, "/..") }

// globFS lets rubyglob look at a view.
type globFS struct{ v *view.View }

func (g globFS) Lstat(path string) (rubyglob.Kind, error) { return globKind(g.v.Lstat(path)) }
func (g globFS) Stat(path string) (rubyglob.Kind, error)  { return globKind(g.v.Stat(path)) }

func (g globFS) ReadDir(path string) ([]string, error) {
	names, err := g.v.ReadDir(path)
	if view.IsAbsent(err) {
		return nil, nil
	}
	return names, err
}
