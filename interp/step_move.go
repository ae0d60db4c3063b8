package interp

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/view"
	"steps.example/steps"
)

// oneSource gives what a source names: with glob exactly one match, or an error.
func (m *machine) oneSource(p steps.Path, glob bool) (string, error) {
	if !glob {
		return m.path(p)
	}
	matches, err := m.existing(p)
	if err != nil {
		return "", err
	}
	if len(matches) != 1 {
		return "", fmt.Errorf("source %q must match exactly one path, it matches %d", p.Path, len(matches))
	}
	return matches[0], nil
}

// existing gives what p matches, dangling links included, each path once.
func (m *machine) existing(p steps.Path) ([]string, error) {
	matches, err := m.glob(p)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []string
	for _, match := range matches {
		there, err := m.lexists(match)
		if err != nil {
			return nil, err
		}
		if there && !seen[match] {
			seen[match] = true
			out = append(out, match)
		}
	}
	return out, nil
}

// endpoints gives what a copy or move starts from, the target that it names,
// whose parents are made, and where it will end up there.
func (m *machine) endpoints(from steps.Path, glob bool, to steps.Path) (source, target, dest string, err error) {
	if source, err = m.oneSource(from, glob); err != nil {
		return "", "", "", err
	}
	if target, err = m.path(to); err != nil {
		return "", "", "", err
	}
	if err := m.makeParents(target); err != nil {
		return "", "", "", err
	}
	dest, err = m.destination(source, target)
	return source, target, dest, err
}

func (m *machine) move(s *steps.Move) error {
	source, target, dest, err := m.endpoints(s.Source, s.SourceGlob, s.Target)
	if err != nil {
		return err
	}
	switch {
	case s.Overwrite != nil && *s.Overwrite:
		// Nothing is deleted for a source that is not there, or that is the
		// destination itself.
		there, err := m.lexists(source)
		if err != nil {
			return err
		}
		same, err := m.view.Same(source, dest)
		if err != nil {
			return err
		}
		if there && !same {
			if err := m.view.RemoveAll(dest); err != nil {
				return err
			}
		}
	case s.Overwrite != nil:
		if exists, err := m.view.Exists(dest); err != nil {
			return err
		} else if exists {
			return fmt.Errorf("%s: %w, and overwrite is false", dest, unix.EEXIST)
		}
	}
	return m.rename(source, target, s.Force)
}

// rename moves source to target, or into it where that is a directory. force
// forgives whatever the file system would object to.
func (m *machine) rename(source, target string, force bool) error {
	dest, err := m.destination(source, target)
	if err != nil {
		return err
	}
	same, err := m.view.Same(source, dest)
	if err != nil {
		return err
	}
	if same {
		return fmt.Errorf("%s and %s are the same file", source, dest)
	}
	err = m.renameOnto(source, dest)
	if force && isErrno(err) {
		return nil
	}
	return err
}

func (m *machine) renameOnto(source, dest string) error {
	st, err := m.view.Lstat(dest)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	if st != nil && st.Kind == changeset.Dir {
		return fmt.Errorf("%s: %w", dest, unix.EEXIST)
	}
	return m.view.Rename(source, dest)
}

// isErrno reports whether err is an objection of the file system (and not a
// path that leads out, or a tree that moved).
func isErrno(err error) bool {
	var errno unix.Errno
	return errors.As(err, &errno) && !errors.Is(err, view.ErrOutside)
}

func (m *machine) moveContents(from, to steps.Path) error {
	source, err := m.path(from)
	if err != nil {
		return err
	}
	target, err := m.path(to)
	if err != nil {
		return err
	}
	if err := m.makeDirs(target); err != nil {
		return err
	}
	names, err := m.view.ReadDir(source)
	if err != nil {
		return err
	}
	real, err := m.view.Real(target)
	if err != nil {
		return err
	}
	for _, name := range names {
		child := source + "/" + name
		if at, err := m.view.Physical(child); err != nil {
			return err
		} else if at == real {
			continue
		}
		if err := m.rename(child, target, false); err != nil {
			return err
		}
	}
	return nil
}
