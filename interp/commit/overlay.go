package commit

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// CaptureLayers returns what the commands changed since [Tx.Layers]: how the
// layers differ from what is below them. All of their processes must be gone and
// all mounts with them. The tree was never touched; the caller judges and calls
// [Tx.Apply]. Contents are read from the layers then, and copied to new files
// that keep their time.
//
// An object that was moved counts as deleted at one path and created at the
// other. One that came to the layer and did not really change is no change. What
// cannot be told for certain is an error: attributes whose meaning is not known,
// a file with several names that was changed at one of them, a file below that
// somebody else wrote to. On an error the transaction is taken back.
func (tx *Tx) CaptureLayers() (*changeset.Captured, error) {
	if tx.done {
		return nil, errDone
	}
	c, err := tx.w.captureLayers()
	if err != nil {
		return nil, tx.fail(fmt.Errorf("capture: %w", err))
	}
	return c, nil
}

func (w *work) captureLayers() (*changeset.Captured, error) {
	if !w.layersOpen {
		return nil, errors.New("no layers were made")
	}
	w.set.Forget("/")
	if err := w.openHeld(); err != nil {
		return nil, err
	}
	c := &layerReader{work: w, found: newFound(), left: w.store.budget(), perms: map[inode]uint32{}}
	for i := range w.layers {
		l := &w.layers[i]
		up, err := w.held.Lstat(l.Upper)
		if err != nil || !up.SameObject(l.upper) {
			return nil, moved(l.Upper, "it is not the directory that was made")
		}
		low, err := w.set.Lstat(l.Dir)
		if err != nil || !low.SameObject(l.lower) {
			return nil, moved(l.Dir, "it is another directory")
		}
		c.layer = l
		if err := c.entry(l.Dir, l.Upper, up, &low, false); err != nil {
			return nil, err
		}
	}
	w.layersOpen = false
	return c.captured(), nil
}

// layerReader compares layers with what is below them.
type layerReader struct {
	*work
	*found
	layer *layer
	left  budget
	perms map[inode]uint32 // modes that the command gave to files and that were opened up
}

// entry compares what the layer has at upper, and the command saw at path, with
// what is there: low, nil for nothing. Hidden: of what is below the command saw
// nothing, because a directory above is opaque.
func (c *layerReader) entry(path, upper string, st changeset.Stamp, low *changeset.Stamp, hidden bool) error {
	if err := errors.Join(c.stopped(), c.left.spend(path)); err != nil {
		return err
	}
	c.name(path, st)
	if st.Kind() == changeset.Dir {
		return c.dir(path, upper, st, low, hidden)
	}
	after, content, err := c.state(path, upper, st)
	if err != nil {
		return err
	}
	if low == nil {
		c.change(changeset.Change{Path: path, After: after, Content: content})
		return nil
	}
	before, err := c.lowState(path, *low)
	if err != nil {
		return err
	}
	if after.Kind == changeset.Other && before.Kind == changeset.Other && st.Mode&^changeset.PermMask != low.Mode&^changeset.PermMask {
		return fmt.Errorf("%s: a socket, FIFO or device was replaced by another", path)
	}
	if *before == *after {
		return nil
	}
	if before.Kind == changeset.File && after.Kind == changeset.File && low.Nlink > 1 {
		return fmt.Errorf("%s has another name, a hard link, and in a layer the command changed one only; "+
			"with a snapshot instead of layers it would change both", path)
	}
	if before.Kind == changeset.File && before.SHA256 == after.SHA256 {
		content = nil
	}
	c.change(changeset.Change{Path: path, Before: before, After: after, Stamp: low, Content: content})
	if low.Kind() == changeset.Dir {
		return c.deletedBelow(path)
	}
	return nil
}

func (c *layerReader) dir(path, upper string, st changeset.Stamp, low *changeset.Stamp, hidden bool) error {
	after := st.State()
	st, err := c.loosen(c.held, upper, st, 0o700)
	if err != nil {
		return err
	}
	opaque, err := c.marks(path, upper, st)
	if err != nil {
		return err
	}
	merged := low != nil && low.Kind() == changeset.Dir
	if low == nil {
		c.change(changeset.Change{Path: path, After: after})
	} else {
		before, err := c.lowState(path, *low)
		if err != nil {
			return err
		}
		if *before != *after {
			c.change(changeset.Change{Path: path, Before: before, After: after, Stamp: low})
		}
	}
	return c.children(path, upper, merged, hidden || opaque)
}

// children compares the entries of a directory. Merged: there is one below.
func (c *layerReader) children(path, upper string, merged, hidden bool) error {
	d, err := c.held.OpenDir(upper)
	if err != nil {
		return err
	}
	names, err := c.left.names(d, 0)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := c.child(filepath.Join(path, name), filepath.Join(upper, name), merged, hidden); err != nil {
			return err
		}
	}
	if !merged || !hidden {
		return nil
	}
	return c.eachBelow(path, func(sub string, low changeset.Stamp) error {
		if _, ok := slices.BinarySearch(names, filepath.Base(sub)); ok {
			return nil
		}
		return c.deleted(sub, low)
	})
}

func (c *layerReader) child(path, upper string, merged, hidden bool) error {
	var low *changeset.Stamp
	if merged {
		st, err := c.set.Lstat(path)
		if err != nil && !fsroot.IsMissing(err) {
			return err
		}
		if err == nil {
			low = &st
		}
	}
	d, name, err := c.held.OpenParent(upper)
	if err != nil {
		return err
	}
	st, err := d.Lstat(name)
	if err != nil {
		return err
	}
	gone := false
	if st.Kind() == changeset.Other {
		if gone, err = isWhiteout(d.FD(), name); err != nil {
			return err
		}
	}
	switch {
	case gone && low == nil:
		return moved(path, "it was removed by the command, and is not there")
	case gone:
		return c.deleted(path, *low)
	}
	return c.entry(path, upper, st, low, hidden)
}

// marks reads what overlayfs notes about an object in the layer.
func (c *layerReader) marks(path, upper string, st changeset.Stamp) (opaque bool, err error) {
	c.disk.between("looked at and asked for marks", unix.AT_FDCWD, upper)
	d, err := c.held.OpenDir(upper)
	if err != nil {
		return false, err
	}
	f, err := reopenDir(d.FD())
	if err != nil {
		return false, err
	}
	defer f.Close()
	now, err := fsroot.StampFD(int(f.Fd()))
	if err != nil {
		return false, err
	}
	if !now.Unchanged(st) {
		return false, moved(upper, "it is another directory")
	}
	if opaque, err = marksOf(int(f.Fd())); err != nil {
		err = fmt.Errorf("%s: its directory in the layer %w", path, err)
	}
	return opaque, err
}

// state is what the command left at a path, no directory. A file is hashed, and
// content says where it can be copied from.
func (c *layerReader) state(path, upper string, st changeset.Stamp) (*changeset.State, *changeset.Content, error) {
	after := st.State()
	switch after.Kind {
	case changeset.Symlink:
		var err error
		after.Target, err = readlink(c.held, upper)
		return after, nil, err
	case changeset.Other:
		return after, nil, nil
	}
	f, err := c.openFile(c.held, upper, &st, true)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	id := inode{st.Dev, st.Ino}
	if st.Perm() != after.Mode {
		c.perms[id] = after.Mode
	}
	if perm, ok := c.perms[id]; ok { // by this name or another
		after.Mode = perm
	}
	if opaque, err := marksOf(int(f.Fd())); err != nil {
		return nil, nil, fmt.Errorf("%s: its file in the layer %w", path, err)
	} else if opaque {
		return nil, nil, fmt.Errorf("%s: its file in the layer is marked as an opaque directory", path)
	}
	if after.SHA256, err = c.hashOpen(f, upper, st); err != nil {
		return nil, nil, err
	}
	return after, &changeset.Content{Origin: &changeset.Origin{Path: upper, Stamp: st}}, nil
}

// lowState is what is below the layer at a path. It must have been there when
// the layer was made: what somebody wrote meanwhile the command has not seen.
func (c *layerReader) lowState(path string, st changeset.Stamp) (*changeset.State, error) {
	if st.Dev != c.layer.lower.Dev {
		return nil, fmt.Errorf("%s is on another file system than %s", path, c.layer.Dir)
	}
	// Clocks of two file systems may differ.
	if st.Kind() != changeset.Dir && st.Dev == c.layer.upper.Dev && st.CTime > c.layer.upper.CTime {
		return nil, moved(path, "somebody else changed it while the command ran")
	}
	before := st.State()
	var err error
	switch before.Kind {
	case changeset.Symlink:
		before.Target, err = readlink(c.set, path)
	case changeset.File:
		f, err := c.openFile(c.set, path, &st, false)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if before.SHA256, err = c.hashOpen(f, path, st); err != nil {
			return nil, err
		}
	}
	return before, err
}

// deleted handles something that is below the layer and gone in it.
func (c *layerReader) deleted(path string, low changeset.Stamp) error {
	if err := errors.Join(c.stopped(), c.left.spend(path)); err != nil {
		return err
	}
	before, err := c.lowState(path, low)
	if err != nil {
		return err
	}
	c.change(changeset.Change{Path: path, Before: before, Stamp: &low})
	if low.Kind() != changeset.Dir {
		return nil
	}
	return c.deletedBelow(path)
}

func (c *layerReader) deletedBelow(path string) error { return c.eachBelow(path, c.deleted) }

// eachBelow calls f for what is in a directory below the layer.
func (c *layerReader) eachBelow(path string, f func(path string, low changeset.Stamp) error) error {
	d, err := c.set.OpenDir(path)
	if err != nil {
		return err
	}
	names, err := c.left.names(d, 0)
	if err != nil {
		return err
	}
	for _, name := range names {
		sub := filepath.Join(path, name)
		low, err := c.set.Lstat(sub)
		if err != nil {
			return err
		}
		if err := f(sub, low); err != nil {
			return err
		}
	}
	return nil
}
