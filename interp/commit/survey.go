package commit

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// survey is a walk over what a command may write to.
type survey struct {
	// force opens directories up for their owner on the way.
	force bool
	// names lists a directory, if set.
	names func(d *fsroot.Dir) ([]string, error)
	// visit is called for every object, parents first. was is what it was
	// before it was opened up. It may say not to go below.
	visit func(path string, was, now changeset.Stamp) (skip bool, err error)
}

// survey visits every object at and below the roots. It stays on the mount of
// each root and goes through no link.
func (w *work) survey(roots []string, s *survey) error {
	for _, root := range roots {
		st, err := w.set.Lstat(root)
		if fsroot.IsMissing(err) || isLink(err) {
			continue
		}
		if err != nil {
			return err
		}
		if err := w.surveyBelow(root, st, st.Dev, s); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) surveyBelow(path string, was changeset.Stamp, dev uint64, s *survey) error {
	if was.Dev != dev {
		return fmt.Errorf("%s is on another file system than what is around it: %w", path, unix.EXDEV)
	}
	st := was
	if s.force && st.Kind() == changeset.Dir {
		var err error
		if st, err = w.openUp(path, st); err != nil {
			return err
		}
	}
	skip, err := s.visit(path, was, st)
	if err != nil || skip || st.Kind() != changeset.Dir {
		return err
	}
	d, err := w.set.OpenDir(path)
	if err != nil {
		return err
	}
	list := s.names
	if list == nil {
		list = (*fsroot.Dir).Names
	}
	names, err := list(d)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		sub := filepath.Join(path, name)
		st, err := w.set.Lstat(sub)
		if err != nil {
			return err
		}
		if strings.HasPrefix(name, slotDirStart) && w.isSlotDir(sub) {
			continue
		}
		if err := w.surveyBelow(sub, st, dev, s); err != nil {
			return err
		}
	}
	return nil
}

// openUp gives a directory's owner those rights to it that this process lacks.
func (w *work) openUp(path string, st changeset.Stamp) (changeset.Stamp, error) {
	if st.Perm()&0o700 == 0o700 {
		return st, nil
	}
	dir, name, err := attrTarget(w.set, path)
	if err != nil {
		return st, err
	}
	if unix.Faccessat(dir, name, unix.R_OK|unix.W_OK|unix.X_OK, unix.AT_EACCESS) == nil {
		return st, nil // root
	}
	return w.loosen(w.set, path, st, 0o700)
}
