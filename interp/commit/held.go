package commit

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// openHeld opens the slot directories for reading what a command left in them,
// by path, as the tree is read through its roots.
func (w *work) openHeld() error {
	w.closeHeld()
	var paths []string
	for _, sd := range w.slots {
		if sd.fd >= 0 {
			paths = append(paths, sd.path)
			w.disk.between("made and held", unix.AT_FDCWD, sd.path)
		}
	}
	set, err := fsroot.New(paths)
	if err != nil {
		return err
	}
	w.held = set
	for _, sd := range w.slots {
		if sd.fd < 0 {
			continue
		}
		want, err := fsroot.StampFD(sd.fd)
		if err != nil {
			return err
		}
		if have, err := set.Lstat(sd.path); err != nil || !have.SameObject(want) {
			return moved(sd.path, "it is not the transaction's directory any more")
		}
	}
	return nil
}

func (w *work) closeHeld() {
	if w.held != nil {
		w.held.Close()
		w.held = nil
	}
}

// isHeld reports whether a path is of something that a command left and that is
// out of its reach now.
func (w *work) isHeld(path string) bool {
	if w.held == nil {
		return false
	}
	_, _, ok := w.held.Locate(path)
	return ok
}

// loosen gives the owner of an object those rights in bits that are missing.
func (w *work) loosen(set *fsroot.Set, path string, st changeset.Stamp, bits uint32) (changeset.Stamp, error) {
	if st.Perm()&bits == bits {
		return st, nil
	}
	dir, name, err := attrTarget(set, path)
	if err != nil {
		return st, err
	}
	w.disk.between("looked at and loosened", dir, name)
	obj, now, err := openObject(dir, name)
	if err != nil {
		return st, err
	}
	defer unix.Close(obj)
	if !now.SameObject(st) {
		return st, moved(path, "it is another object")
	}
	if err := w.disk.chmod(obj, name, st.Perm()|bits); err != nil && err != unix.EPERM {
		return st, err
	}
	return fsroot.StampFD(obj)
}

// openFile opens a regular file that must be the stamped one. Where its owner
// may not read it and it is a command's, it is made readable first, and the
// stamp with it.
func (w *work) openFile(set *fsroot.Set, path string, st *changeset.Stamp, force bool) (*os.File, error) {
	d, name, err := set.OpenParent(path)
	if err != nil {
		return nil, err
	}
	w.disk.between("looked at and opened", d.FD(), name)
	f, now, err := d.Open(name)
	if force && errors.Is(err, unix.EACCES) {
		if *st, err = w.loosen(set, path, *st, 0o400); err != nil {
			return nil, err
		}
		if d, name, err = set.OpenParent(path); err != nil {
			return nil, err
		}
		f, now, err = d.Open(name)
	}
	if err != nil {
		return nil, err
	}
	if !now.Unchanged(*st) {
		f.Close()
		return nil, moved(path, "it is another object, or was written to")
	}
	return f, nil
}

// hashOpen hashes an open file that must stay as it was stamped.
func (w *work) hashOpen(f *os.File, path string, st changeset.Stamp) (string, error) {
	sum, err := hashFD(int(f.Fd()), st.Size)
	if err != nil {
		return "", err
	}
	w.disk.between("hashed and looked at", int(f.Fd()), "")
	now, err := fsroot.StampFD(int(f.Fd()))
	if err == nil && !now.Unchanged(st) {
		err = moved(path, "it was written to while it was read")
	}
	return sum, err
}

// stopped tells whether the caller wants no more of it.
func (w *work) stopped() error {
	select {
	case <-w.done:
		return context.Canceled
	default:
		return nil
	}
}
