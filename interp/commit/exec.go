package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// errStuck wraps what a [Conflict] says, on its way up.
type errStuck struct{ Conflict }

func (e errStuck) Error() string { return e.String() }

func (w *work) stuck(o *op, held bool, format string, args ...any) error {
	c := Conflict{Path: o.path, Reason: fmt.Sprintf(format, args...)}
	if held {
		c.Held = w.slotPath(o.slot)
	}
	return errStuck{c}
}

// forward carries out an operation that is not done. Where it finds another
// object than the journal tells of, it puts everything back and returns a
// [*MovedError].
func (w *work) forward(o *op) error {
	if o.kind == opAttr {
		found, err := w.attr(o, o.old, o.new)
		if err == nil && !found {
			err = moved(o.path, "another object took its place")
		}
		return err
	}
	d, name, err := w.set.OpenParent(o.path)
	if err != nil {
		return w.lookup(o.path, err)
	}
	slots, slot := w.at(o.slot)
	switch o.kind {
	case opTake:
		if err := w.disk.move(d.FD(), name, slots, slot); err != nil {
			return w.lookup(o.path, err)
		}
		if o.id.Kind() == changeset.Dir {
			defer w.set.Forget(o.path)
		}
		return w.check(o, o.id, func() error { return w.disk.move(slots, slot, d.FD(), name) })
	case opPut:
		err := w.disk.move(slots, slot, d.FD(), name)
		if err == unix.EEXIST || err == unix.ENOTEMPTY {
			return moved(o.path, "something is there now")
		}
		if err != nil {
			return w.lookup(o.path, err)
		}
		return nil
	default:
		swap := func() error { return w.disk.exchange(slots, slot, d.FD(), name) }
		if err := swap(); err != nil {
			return w.lookup(o.path, err)
		}
		return w.check(o, o.was, swap)
	}
}

// check compares what came out of the tree with what should have, and puts it
// back if it is something else.
func (w *work) check(o *op, want changeset.Stamp, back func() error) error {
	got, ok, err := w.inSlot(o.slot)
	if err == nil && ok && sameVersion(got, want) {
		return nil
	}
	if err == nil {
		err = moved(o.path, "another object took its place")
	}
	return errors.Join(err, back())
}

// lookup turns an error about a path that should be there into the right kind.
func (w *work) lookup(path string, err error) error {
	switch {
	case fsroot.IsMissing(err):
		return moved(path, "it, or its directory, is gone")
	case errors.Is(err, unix.ELOOP):
		return moved(path, "its directory is a link now")
	case errors.Is(err, unix.EACCES):
		err = fmt.Errorf("%w (you may not write to its directory)", err)
	case errors.Is(err, unix.EPERM):
		err = fmt.Errorf("%w (it or its directory may be immutable, or another user's)", err)
	}
	return &fs.PathError{Op: "change", Path: path, Err: err}
}

// redo makes sure that an operation is done, whether it was or not.
func (w *work) redo(o *op) error {
	if o.kind == opAttr {
		_, err := w.attr(o, o.old, o.new)
		return err
	}
	have, full, err := w.inSlot(o.slot)
	if err != nil {
		return fmt.Errorf("look at %s: %w", w.slotPath(o.slot), err)
	}
	switch o.kind {
	case opTake:
		if full {
			return nil
		}
		// Not at its path either: it was moved on, or is none of our business.
		if st, err := w.set.Lstat(o.path); err != nil || !st.SameObject(o.id) {
			return nil
		}
	case opPut:
		if !full {
			return nil
		}
	case opSwap:
		if !have.SameObject(o.id) {
			return nil
		}
	}
	err = w.forward(o)
	if errors.Is(err, ErrMoved) {
		return w.stuck(o, o.kind != opTake, "something else is there")
	}
	return err
}

// backward makes sure that an operation is not done, whether it was or not. It
// never moves an object that is not the one the journal tells of.
func (w *work) backward(o *op) error {
	if o.kind == opAttr {
		_, err := w.attr(o, o.new, o.old)
		return err
	}
	have, full, err := w.inSlot(o.slot)
	if err != nil {
		return fmt.Errorf("look at %s: %w", w.slotPath(o.slot), err)
	}
	switch o.kind {
	case opTake:
		return w.untake(o, full)
	case opPut:
		if full {
			return nil
		}
		return w.unput(o)
	}
	return w.unswap(o, have, full)
}

func (w *work) untake(o *op, full bool) error {
	if !full {
		// A moved object is not in its slot before and after its journey; if it
		// had arrived, unput brought it here. Something else at the path means
		// that it was never taken and others have replaced it since.
		if _, err := w.set.Lstat(o.path); o.moves != "" && fsroot.IsMissing(err) {
			if st, err := w.set.Lstat(o.moves); err == nil && st.SameObject(o.id) {
				return nil // why it is still there has been said
			}
			return w.stuck(o, false, "it was moved to %s and is not there any more", o.moves)
		}
		return nil
	}
	d, name, err := w.set.OpenParent(o.path)
	if err != nil {
		return w.stuck(o, true, "%v", err)
	}
	slots, slot := w.at(o.slot)
	err = w.disk.move(slots, slot, d.FD(), name)
	if err == unix.EEXIST || err == unix.ENOTEMPTY {
		return w.stuck(o, true, "something else is there now")
	}
	return err
}

func (w *work) unput(o *op) error {
	d, name, err := w.set.OpenParent(o.path)
	if err != nil {
		if fsroot.IsMissing(err) || errors.Is(err, unix.ELOOP) {
			return nil
		}
		return err
	}
	st, err := d.Lstat(name)
	if fsroot.IsMissing(err) {
		return nil // removed by others: what was to be taken back is not there
	}
	if err != nil {
		return err
	}
	if !st.SameObject(o.id) {
		if o.moves != "" {
			return nil // untake finds out
		}
		return w.stuck(o, false, "it was replaced since, by something else")
	}
	if o.moves == o.path {
		// Whichever directory it is in, untake will put it back into that one.
	} else if o.moves != "" {
		// A hard link that was there before is no sign that it was moved here.
		if st, err := w.set.Lstat(o.moves); err == nil && st.SameObject(o.id) {
			return nil
		}
		if d, name, err = w.set.OpenParent(o.path); err != nil {
			return err
		}
	} else if err := w.untouched(d.FD(), name, o); err != nil {
		return err
	}
	slots, slot := w.at(o.slot)
	if err := w.disk.move(d.FD(), name, slots, slot); err != nil {
		return err
	}
	if st.Kind() == changeset.Dir {
		defer w.set.Forget(o.path)
	}
	got, ok, err := w.inSlot(o.slot)
	if err == nil && (!ok || !got.SameObject(o.id)) {
		err = w.stuck(o, false, "it was replaced by something else at this moment")
	} else if err == nil && o.moves == "" {
		err = w.untouched(slots, slot, o) // what is in a slot goes away with it
	}
	if err == nil {
		return nil
	}
	return errors.Join(err, w.disk.move(slots, slot, d.FD(), name))
}

func (w *work) unswap(o *op, have changeset.Stamp, full bool) error {
	if !full {
		return nil // an earlier recovery put the old object to its place
	}
	if have.SameObject(o.id) {
		return nil
	}
	d, name, err := w.set.OpenParent(o.path)
	if err != nil {
		return w.stuck(o, true, "%v", err)
	}
	slots, slot := w.at(o.slot)
	st, err := d.Lstat(name)
	if fsroot.IsMissing(err) {
		return w.disk.move(slots, slot, d.FD(), name)
	}
	if err != nil {
		return err
	}
	if !sameVersion(st, o.id) {
		return w.stuck(o, true, "it was written to or replaced since")
	}
	if err := w.disk.exchange(slots, slot, d.FD(), name); err != nil {
		return err
	}
	got, ok, err := w.inSlot(o.slot)
	if err == nil && ok && sameVersion(got, o.id) {
		return nil
	}
	return errors.Join(err, w.disk.exchange(slots, slot, d.FD(), name),
		w.stuck(o, true, "it was written to at this moment"))
}

// untouched makes sure that the new object at name in dir is as it was staged,
// with nothing added, so that taking it back destroys nothing of others.
func (w *work) untouched(dir int, name string, o *op) error {
	st, err := stampAt(dir, name)
	if err != nil {
		return err
	}
	if !sameVersion(st, o.id) {
		return w.stuck(o, false, "it was written to since")
	}
	if st.Kind() != changeset.Dir {
		return nil
	}
	known := make(map[string]changeset.Stamp, len(o.made))
	for _, m := range o.made {
		known[m.rel] = m.id
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return w.disk.walk(fd, "", func(rel string, st changeset.Stamp) error {
		want, ok := known[rel]
		if !ok {
			return w.stuck(o, false, "%s was added to it since", rel)
		}
		if !sameVersion(st, want) {
			return w.stuck(o, false, "%s in it was changed since", rel)
		}
		return nil
	})
}

// walk calls f for everything below the directory fd, directories before what
// is in them. It follows no link.
func (d *disk) walk(fd int, rel string, f func(rel string, st changeset.Stamp) error) error {
	names, err := namesIn(fd)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		var st unix.Stat_t
		if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		stamp, sub := fsroot.StampOf(&st), rel+name
		if err := f(sub, stamp); err != nil {
			return err
		}
		if stamp.Kind() != changeset.Dir {
			continue
		}
		d.between("looked at and entered", fd, name)
		next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		err = d.walk(next, sub+"/", f)
		unix.Close(next)
		if err != nil {
			return err
		}
	}
	return nil
}

// attr sets those attributes in to that the object still has as in from. Where
// it has neither, somebody else set them since, and they stay. An object that
// is not the journal's is left alone; found tells.
func (w *work) attr(o *op, from, to attrs) (found bool, err error) {
	dir, name, err := attrTarget(w.set, o.path)
	if err == nil {
		var obj int
		var st changeset.Stamp
		if obj, st, err = openObject(dir, name); err == nil {
			defer unix.Close(obj)
			if !st.SameObject(o.id) {
				return false, nil
			}
			err = w.setAttrs(obj, dir, name, due(st, from, to))
		}
	}
	if fsroot.IsMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, &fs.PathError{Op: "change", Path: o.path, Err: err}
	}
	return true, nil
}

// due is what is left to do of to, for an object that was as from.
func due(st changeset.Stamp, from, to attrs) attrs {
	do := to
	do.set = 0
	if to.set&hasOwner != 0 && int(st.UID) == from.uid && int(st.GID) == from.gid {
		do.set |= hasOwner
	}
	// Setting the owner may have cost the set-id bits.
	const lost = changeset.SetUID | changeset.SetGID
	if to.set&hasMode != 0 && (st.Perm()&^lost == from.mode&^lost || st.Perm()&^lost == to.mode&^lost) &&
		(st.Perm() != to.mode || do.set&hasOwner != 0) {
		do.set |= hasMode
	}
	// A directory's time changes with its entries, so it need not be the old one.
	if to.set&hasTime != 0 && (st.MTime == from.mtime || st.Kind() == changeset.Dir) {
		do.set |= hasTime
	}
	return do
}

// attrTarget is where the object whose attributes are set is. A root may be the
// object itself.
func attrTarget(set *fsroot.Set, path string) (int, string, error) {
	for _, r := range set.Roots() {
		if r.Path == path {
			d, err := set.OpenDir(path)
			if err != nil {
				return -1, "", err
			}
			return d.FD(), ".", nil
		}
	}
	d, name, err := set.OpenParent(path)
	if err != nil {
		return -1, "", err
	}
	return d.FD(), name, nil
}
