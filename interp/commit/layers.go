package commit

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// Layer is where what a command writes below Dir is to go, in the format of
// Linux' overlayfs, mounted with Dir as lower directory and the option userxattr.
type Layer struct {
	Dir, Upper, Work string
}

// layersName is what the layers of a transaction are in, in a slot directory.
// Nothing tells the journal of them: whatever becomes of the transaction, they
// go away.
const layersName = "layers"

// layer is a Layer that was made.
type layer struct {
	Layer
	// upper and lower are the directories as they were then.
	upper, lower changeset.Stamp
}

// Layers makes, for each of dirs, an empty directory Upper and one Work in the
// transaction's private place. The dirs are existing directories by physical
// path, none within another. Upper has mode and owner of its Dir, since it
// becomes the top of what the command sees; what it lies in has mode 0700. None at
// all are fine, and nothing is captured then.
//
// An error that matches [ErrNoLayers] says why layers do not go here, and leaves
// the transaction as it was; whether the kernel lets this process mount them is
// for the caller to find out, who gives them up with [Tx.DropLayers] if not.
// After any other error the transaction is taken back.
func (tx *Tx) Layers(dirs []string) ([]Layer, error) {
	if tx.done {
		return nil, errDone
	}
	list, err := tx.w.makeLayers(dirs)
	if err == nil {
		return list, nil
	}
	err = fmt.Errorf("layers: %w", err)
	if errors.Is(err, ErrNoLayers) {
		return nil, err
	}
	return nil, tx.fail(err)
}

// DropLayers removes the layers and what is in them. What was captured from
// them can then not be applied any more.
func (tx *Tx) DropLayers() error {
	if tx.done {
		return errDone
	}
	return tx.w.dropLayers()
}

func noLayers(path, format string, args ...any) error {
	return fmt.Errorf("%w: %s %s", ErrNoLayers, path, fmt.Sprintf(format, args...))
}

// idle makes sure that no command is being watched.
func (w *work) idle() error {
	switch {
	case w.snapshot != nil:
		return errors.New("a snapshot is open: capture it first")
	case w.layersOpen:
		return errors.New("layers are open: capture or drop them first")
	}
	return nil
}

func (w *work) makeLayers(dirs []string) ([]Layer, error) {
	if err := w.idle(); err != nil {
		return nil, err
	}
	if err := w.dropLayers(); err != nil {
		return nil, err
	}
	w.set.Forget("/")
	lowers := make([]changeset.Stamp, len(dirs))
	for i, dir := range dirs {
		for _, other := range dirs[:i] {
			if changeset.Within(dir, other) || changeset.Within(other, dir) {
				return nil, noLayers(dir, "and %s are one within the other", other)
			}
		}
		var err error
		if lowers[i], err = w.lowerDir(dir); err != nil {
			return nil, err
		}
	}
	home, err := w.layerHome(dirs)
	if err != nil {
		return nil, err
	}
	at := w.slots[home]
	if err := w.disk.mkdir(at.fd, layersName, 0o700); err != nil {
		return nil, fmt.Errorf("make %s: %w", filepath.Join(at.path, layersName), err)
	}
	w.layersMade, w.layersOpen = true, true
	var list []Layer
	for i, dir := range dirs {
		place := layersName + "/" + strconv.Itoa(i)
		l := layer{lower: lowers[i], Layer: Layer{
			Dir: dir, Upper: filepath.Join(at.path, place, "upper"), Work: filepath.Join(at.path, place, "work"),
		}}
		if l.upper, err = w.makeLayer(at.fd, place, l.lower); err != nil {
			return nil, fmt.Errorf("make %s: %w", filepath.Dir(l.Upper), err)
		}
		w.layers = append(w.layers, l)
		list = append(list, l.Layer)
	}
	return list, nil
}

// lowerDir looks whether a directory can be below a layer.
func (w *work) lowerDir(dir string) (changeset.Stamp, error) {
	if !cleanAbs(dir) {
		return changeset.Stamp{}, fmt.Errorf("%q is not a clean absolute path", dir)
	}
	if err := w.storeApart(dir); err != nil {
		return changeset.Stamp{}, noLayers(dir, "%v", err)
	}
	d, err := w.set.OpenDir(dir)
	if fsroot.IsMissing(err) || isLink(err) {
		return changeset.Stamp{}, noLayers(dir, "is no directory")
	}
	if err != nil {
		return changeset.Stamp{}, err
	}
	st, err := d.Stamp()
	if err != nil {
		return st, err
	}
	return st, lowerFault(d.FD(), dir, st)
}

// storeApart makes sure that neither of the store and dir holds the other.
func (w *work) storeApart(dir string) error {
	store := fsroot.Physical(w.store.path)
	if changeset.Within(store, dir) || changeset.Within(dir, store) {
		return fmt.Errorf("and the state directory %s are one within the other; keep the state elsewhere", store)
	}
	return nil
}

// layerHome finds a slot directory that is out of the reach of dirs and on a
// file system where layers can be: the store's own if it is.
func (w *work) layerHome(dirs []string) (int, error) {
	fault := w.upperFault(&w.slots[0])
	if fault == nil {
		return 0, nil
	}
	for _, dir := range dirs {
		i, err := w.slotDirAt(filepath.Dir(dir))
		if errors.Is(err, fsroot.ErrOutside) || errors.Is(err, unix.EXDEV) {
			continue
		}
		if err != nil {
			return 0, err
		}
		reach := slices.ContainsFunc(dirs, func(d string) bool { return changeset.Within(w.slots[i].path, d) })
		if !reach && w.upperFault(&w.slots[i]) == nil {
			return i, nil
		}
	}
	return 0, noLayers(w.slots[0].path, "%v", fault)
}

func (w *work) makeLayer(fd int, place string, like changeset.Stamp) (changeset.Stamp, error) {
	for _, name := range []string{place, place + "/work", place + "/upper"} {
		if err := w.disk.mkdir(fd, name, 0o700); err != nil {
			return changeset.Stamp{}, err
		}
	}
	want := &changeset.State{UID: int(like.UID), GID: int(like.GID)}
	return w.finish(fd, place+"/upper", want, like.Perm(), 0)
}

// dropLayers removes all layers of the transaction.
func (w *work) dropLayers() error {
	if !w.layersMade {
		return nil
	}
	w.closeHeld()
	for _, sd := range w.slots {
		if sd.fd < 0 {
			continue
		}
		if err := w.disk.removeAll(sd.fd, layersName); err != nil {
			return fmt.Errorf("remove %s: %w", filepath.Join(sd.path, layersName), err)
		}
	}
	w.layers, w.layersMade, w.layersOpen = nil, false, false
	return nil
}
