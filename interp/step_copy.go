package interp

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/view"
	"steps.example/steps"
)

func (m *machine) copy(s *steps.Copy) error {
	source, _, dest, err := m.endpoints(s.Source, s.SourceGlob, s.Target)
	if err != nil {
		return err
	}
	overwrite := s.Overwrite == nil || *s.Overwrite
	if !overwrite {
		if exists, err := m.view.Exists(dest); err != nil {
			return err
		} else if exists {
			return fmt.Errorf("%s: %w, and overwrite is false", dest, unix.EEXIST)
		}
	}
	same, err := m.view.Same(source, dest)
	if err != nil {
		return err
	}
	if same {
		return fmt.Errorf("%s and %s are the same file", source, dest)
	}
	if err := m.mayRead(source); err != nil {
		return err
	}
	if s.Recursive {
		return m.copyTree(source, dest, copying{replace: overwrite, preserve: s.Preserve})
	}
	if s.Preserve != "" {
		return m.preserveCopy(s.Preserve, source, dest)
	}
	if overwrite {
		if err := m.unlinkSymlink(dest); err != nil {
			return err
		}
	}
	return m.view.CopyFile(source, dest)
}

func (m *machine) unlinkSymlink(p string) error {
	st, err := m.view.Lstat(p)
	if view.IsAbsent(err) || err == nil && (st == nil || st.Kind != changeset.Symlink) {
		return nil
	}
	if err != nil {
		return err
	}
	return m.view.Remove(p)
}

// copying says what a copy does about files and links in the way: with replace they
// are removed first, otherwise a link in the way is written through; preserve, if
// set, decides instead.
type copying struct {
	replace  bool
	preserve string
}

// copyTree copies source, itself followed if it is a link, to dest. Links below
// it are copied as links, directories are merged.
func (m *machine) copyTree(source, dest string, how copying) error {
	real, err := m.view.Real(source)
	if err != nil {
		return err
	}
	st, err := m.view.Lstat(real)
	if err != nil {
		return err
	}
	if st == nil {
		return fmt.Errorf("copy %s: %w", source, unix.ENOENT)
	}
	return m.copyEntry(real, dest, st, how)
}

func (m *machine) copyEntry(source, dest string, st *changeset.State, how copying) error {
	if err := m.ctx.Err(); err != nil {
		return err
	}
	// A directory that holds the home directory must not bring it along.
	if st.Kind == changeset.File {
		if err := m.mayRead(source); err != nil {
			return err
		}
	}
	switch {
	case how.preserve != "" && st.Kind == changeset.File:
		return m.preserveCopy(how.preserve, source, dest)
	case how.preserve != "" && st.Kind == changeset.Symlink:
		return m.preserve(how.preserve, dest, m.linkOffer(st.Target))
	case how.preserve == "" && how.replace:
		if err := m.clear(dest); err != nil {
			return err
		}
	}
	switch st.Kind {
	case changeset.File:
		return m.view.CopyFile(source, dest)
	case changeset.Symlink:
		return m.view.Symlink(st.Target, dest)
	case changeset.Dir:
		return m.copyDir(source, dest, how)
	}
	return fmt.Errorf("copy %s: is neither a file, a directory nor a symlink", source)
}

func (m *machine) copyDir(source, dest string, how copying) error {
	at, err := m.view.Physical(dest)
	if err != nil {
		return err
	}
	exists, err := m.view.Exists(dest)
	if err != nil {
		return err
	}
	if !exists && strings.HasPrefix(at, source+"/") {
		return fmt.Errorf("cannot copy the directory %s into itself, to %s", source, dest)
	}
	if err := m.view.Mkdir(dest, 0o777); err != nil {
		if !errors.Is(err, unix.EEXIST) {
			return err
		}
		if isDir, e := m.view.IsDir(dest); e != nil || !isDir {
			return err
		}
		if err := m.useDirs(dest); err != nil {
			return err
		}
	}
	names, err := m.view.ReadDir(source)
	if err != nil {
		return err
	}
	for _, name := range names {
		st, err := m.view.Lstat(source + "/" + name)
		if err != nil {
			return err
		}
		if st == nil {
			return fmt.Errorf("copy %s/%s: %w", source, name, unix.ENOENT)
		}
		if err := m.copyEntry(source+"/"+name, dest+"/"+name, st, how); err != nil {
			return err
		}
	}
	return nil
}

// clear removes a file, or a link to anything, at p.
func (m *machine) clear(p string) error {
	st, err := m.view.Lstat(p)
	if view.IsAbsent(err) || err == nil && (st == nil || st.Kind == changeset.Dir) {
		return nil
	}
	if err != nil {
		return err
	}
	return m.view.Remove(p)
}
