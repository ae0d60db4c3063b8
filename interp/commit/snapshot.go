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

// Snapshot saves the present state of what a command may write to: every path
// given, by physical path, and all below it. A path that is not there counts as
// such. It is durable before Snapshot returns, so that whatever the command
// does can be taken back, also after a crash. A file that an earlier snapshot
// of the transaction saved, and that did not change since, is not copied again.
//
// It refuses what it could not make again: files that cannot be read, or whose
// owner cannot be given to a copy. On an error the transaction is taken back.
func (tx *Tx) Snapshot(paths []string) error {
	if tx.done {
		return errDone
	}
	if err := tx.w.snap(paths); err != nil {
		return tx.fail(fmt.Errorf("snapshot: %w", err))
	}
	return nil
}

func (w *work) snap(paths []string) error {
	if err := w.idle(); err != nil {
		return err
	}
	if err := w.dropLayers(); err != nil {
		return err
	}
	w.set.Forget("/")
	roots, err := outermost(paths)
	if err != nil {
		return err
	}
	for _, root := range roots {
		if err := w.storeApart(root); err != nil {
			return fmt.Errorf("%s %w", root, err)
		}
	}
	snap := &snapshot{roots: roots}
	for _, root := range roots {
		if err := w.log.add(func(e enc) enc { return append(e, recSnapRoot).s(root) }); err != nil {
			return err
		}
	}
	err = w.survey(roots, &survey{visit: func(path string, _, st changeset.Stamp) (bool, error) {
		if err := w.stopped(); err != nil {
			return false, err
		}
		s, err := w.save(path, st)
		if err != nil {
			return false, fmt.Errorf("save %s: %w", path, err)
		}
		snap.entries = append(snap.entries, s)
		return false, w.log.add(func(e enc) enc {
			return append(e, recSaved).s(s.path).stamp(s.id).s(s.target).slot(s.copy)
		})
	}})
	if err != nil {
		return err
	}
	if err := w.outOfReach(snap); err != nil {
		return err
	}
	if err := w.log.add(func(e enc) enc { return append(e, recSnapBegin) }); err != nil {
		return err
	}
	if err := w.record(); err != nil {
		return err
	}
	// The journal may say so from here on, so whatever ends the transaction has to
	// reckon with the snapshot.
	w.pendingSnap = snap
	w.openSnapshot()
	if err := w.durable(); err != nil {
		return err
	}
	return w.markBegun(len(w.segments) + 1)
}

// outOfReach insists that the command can neither reach what was saved, nor
// change anything that was not: by a name of a file that lies elsewhere.
func (w *work) outOfReach(snap *snapshot) error {
	for _, sd := range w.slotDirs[1:] {
		for _, root := range snap.roots {
			if sd == root || strings.HasPrefix(sd, root+"/") {
				return fmt.Errorf("what is saved of %s would be within the command's reach, at %s; keep the state on the file system of %s, so that it is saved there", root, sd, root)
			}
		}
	}
	names := map[inode]uint64{}
	for _, s := range snap.entries {
		names[inode{s.id.Dev, s.id.Ino}]++
	}
	for _, s := range snap.entries {
		if s.id.Kind() == changeset.File && s.id.Nlink > names[inode{s.id.Dev, s.id.Ino}] {
			return fmt.Errorf("%s has another name, a hard link, outside of what the command may write to; it would be changed there as well", s.path)
		}
	}
	return nil
}

// outermost drops paths that lie below others, and sorts the rest.
func outermost(paths []string) ([]string, error) {
	sorted := slices.Clone(paths)
	slices.SortFunc(sorted, treeOrder)
	var list []string
	for _, p := range sorted {
		if !cleanAbs(p) {
			return nil, fmt.Errorf("%q is not a clean absolute path", p)
		}
		if n := len(list); n > 0 && (p == list[n-1] || strings.HasPrefix(p, list[n-1]+"/")) {
			continue
		}
		list = append(list, p)
	}
	return list, nil
}

// isSlotDir reports whether path is a slot directory of this transaction, or of
// one with a receipt. The name alone says nothing: a command can take it too.
func (w *work) isSlotDir(path string) bool {
	if slices.Contains(w.slotDirs, path) {
		return true
	}
	id := strings.TrimPrefix(filepath.Base(path), slotDirStart)
	if !validID(id) {
		return false
	}
	other, err := w.store.open(receiptsDir, id)
	if err != nil {
		return false
	}
	defer other.close()
	return slices.Contains(other.slotDirs, path)
}

// save records one object, and copies a file's content to a slot.
func (w *work) save(path string, st changeset.Stamp) (saved, error) {
	s := saved{path: path, id: st}
	switch st.Kind() {
	case changeset.Symlink:
		var err error
		s.target, err = readlink(w.set, path)
		return s, err
	case changeset.File:
	default:
		return s, nil
	}
	if old, ok := w.copies[path]; ok && old.id.Unchanged(st) {
		s.copy = old.copy
		return s, nil
	}
	dir, err := w.slotDirAt(filepath.Dir(path))
	if err != nil {
		return s, err
	}
	s.copy = w.newSlot(dir)
	d, name, err := w.set.OpenParent(path)
	if err != nil {
		return s, err
	}
	w.disk.between("looked at and copied", d.FD(), name)
	f, opened, err := d.Open(name)
	if err != nil {
		return s, err
	}
	defer f.Close()
	if !opened.Unchanged(st) {
		return s, moved(path, "it is another file")
	}
	slots, slot := w.at(s.copy)
	fd, err := w.disk.create(slots, slot, 0o600)
	if err != nil {
		return s, err
	}
	defer unix.Close(fd)
	if err := w.copyFile(fd, slot, f, st.Size); err != nil {
		return s, err
	}
	if err := w.likeStamp(slots, slot, st); err != nil {
		return s, err
	}
	if fsyncEach && w.sync {
		if err := w.disk.fsync(fd, slot); err != nil {
			return s, err
		}
	}
	w.disk.between("copied and looked at", int(f.Fd()), "")
	after, err := fsroot.StampFD(int(f.Fd()))
	if err == nil && !after.Unchanged(st) {
		err = moved(path, "it was written to while it was copied")
	}
	return s, err
}

// likeStamp gives an object in a slot the owner, mode and time of st.
func (w *work) likeStamp(dir int, name string, st changeset.Stamp) error {
	want := &changeset.State{UID: int(st.UID), GID: int(st.GID)}
	_, err := w.finish(dir, name, want, st.Perm(), st.MTime)
	return err
}
