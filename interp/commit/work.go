package commit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// mount identifies what renames cannot cross.
type mount struct{ dev, id uint64 }

// slotDir is an open directory of slots, on one mount.
type slotDir struct {
	fd    int
	path  string
	mount mount
	swaps int // 0: not known, 1: can exchange, -1: cannot
}

// work is a transaction directory opened for work on it: what the journal says,
// and the means to add to it and to move objects between slots and tree.
type work struct {
	*logical
	store *Store
	disk  *disk
	set   *fsroot.Set
	// setLock is for the one place where several goroutines need the set.
	setLock sync.Mutex
	owned   bool   // set is closed with the work
	home    string // the directory of the store that it is in
	dir     int
	log     journalWriter
	slots   []slotDir
	next    uint64 // the next free slot
	sync    bool
	done    <-chan struct{}
	// atPath and atSlots are the last answer of slotDirAt.
	atPath  string
	atSlots int
	layers  []layer
	// layersMade: there may be some on disk. layersOpen: they wait for a capture.
	layersMade, layersOpen bool
	// held are the slot directories, for reading what a command left there.
	held *fsroot.Set
	// kept are those of receipts; see [Tx.Keep].
	kept *fsroot.Set
}

// create starts a transaction directory and its journal.
func (s *Store) create(set *fsroot.Set, id string, sync bool) (*work, error) {
	w := &work{
		logical: &logical{id: id, slotDirs: []string{""}, copies: map[string]saved{}},
		store:   s, disk: &s.disk, set: set, home: openDir, dir: -1, next: 1, sync: sync && !s.disk.noSync,
	}
	for _, r := range set.Roots() {
		w.roots = append(w.roots, r.Path)
	}
	if err := s.disk.mkdir(int(s.dir.Fd()), openDir+"/"+id, 0o700); err != nil {
		return nil, fmt.Errorf("store %s: begin transaction: %w", s.path, err)
	}
	err := w.openDirs(true)
	if err == nil {
		err = w.log.add(func(e enc) enc {
			e = append(e, recHeader).u(journalVersion).s(id).u(uint64(len(w.roots)))
			for _, r := range w.roots {
				e = e.s(r)
			}
			return e
		})
	}
	if err != nil {
		w.close()
		return nil, fmt.Errorf("store %s: begin transaction: %w", s.path, err)
	}
	return w, nil
}

// openDirs opens the transaction's directory, its journal and its own slots, or
// makes the latter two.
func (w *work) openDirs(make bool) (err error) {
	w.store.live = append(w.store.live, w)
	if w.dir, err = openPrivate(int(w.store.dir.Fd()), w.home+"/"+w.id); err != nil {
		return err
	}
	if make {
		if err := w.disk.mkdir(w.dir, slotsName, 0o700); err != nil {
			return err
		}
	}
	fd, err := w.openJournal(make)
	if err != nil {
		return err
	}
	w.log = journalWriter{disk: w.disk, file: os.NewFile(uintptr(fd), w.path(journalName))}
	if _, err := checkPrivate(fd, maxJournal); err != nil {
		return fmt.Errorf("%s: %w", journalName, errors.Join(ErrDamaged, err))
	}
	slots, err := openPrivate(w.dir, slotsName)
	if err != nil {
		return err
	}
	return w.addSlotDir(slots, filepath.Join(fsroot.Physical(w.store.path), w.home, w.id, slotsName))
}

func (w *work) openJournal(make bool) (int, error) {
	if make {
		return w.disk.create(w.dir, journalName, 0o600)
	}
	return unix.Openat(w.dir, journalName, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// path is where a file of the transaction is.
func (w *work) path(name string) string { return filepath.Join(w.store.path, w.home, w.id, name) }

func (w *work) addSlotDir(fd int, path string) error {
	m, err := mountOf(fd)
	if err != nil {
		unix.Close(fd)
		return err
	}
	w.slots = append(w.slots, slotDir{fd: fd, path: path, mount: m})
	return nil
}

// open opens an existing transaction directory and reads its journal. The
// result has no roots open; see [work.reach]. An error that matches
// [ErrDamaged] says that the journal makes no sense.
func (s *Store) open(home, id string) (*work, error) {
	w := &work{logical: &logical{id: id}, store: s, disk: &s.disk, home: home, dir: -1, sync: !s.disk.noSync}
	err := w.openDirs(false)
	if err == nil {
		err = w.read()
	}
	if err != nil {
		w.close()
		return nil, fmt.Errorf("transaction %s: %w", id, err)
	}
	return w, nil
}

func (w *work) read() error {
	info, err := w.log.file.Stat()
	if err != nil {
		return err
	}
	l, good, sum, err := readJournal(w.log.file, info.Size())
	if err != nil {
		return err
	}
	if l.id != w.id && l.id != "" {
		return fmt.Errorf("journal is of transaction %q: %w", l.id, ErrDamaged)
	}
	// Without a header the crash was early: nothing is in it, and nothing begun.
	l.id = w.id
	w.logical, w.log.size, w.log.sum, w.log.goodSum = l, good, sum, sum
	if _, err := w.log.file.Seek(good, 0); err != nil {
		return err
	}
	begun, err := w.begun()
	if err != nil {
		return err
	}
	if begun > w.begins() {
		return fmt.Errorf("journal tells of %d of %d segments: %w", w.begins(), begun, ErrDamaged)
	}
	return nil
}

// begins counts the durable intents that the journal knows.
func (w *work) begins() int {
	if w.snapshot != nil {
		return len(w.segments) + 1
	}
	return len(w.segments)
}

// begun counts the segments whose operations may have been carried out, by the
// files that say so. They guard against taking a damaged journal for a torn one.
func (w *work) begun() (int, error) {
	names, err := namesIn(w.dir)
	if err != nil {
		return 0, err
	}
	most := 0
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, begunPrefix); ok {
			n, err := strconv.Atoi(rest)
			if err != nil {
				return 0, fmt.Errorf("file %q: %w", name, ErrDamaged)
			}
			most = max(most, n)
		}
	}
	return most, nil
}

func namesIn(dir int) ([]string, error) {
	f, err := reopenDir(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// reopenDir opens the directory that a descriptor, which may be for its path
// only, is open on.
func reopenDir(dir int) (*os.File, error) {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "."), nil
}

// reach opens the roots and the slot directories of an old transaction, cuts
// the torn end off its journal, and makes it ready for more records.
func (w *work) reach() error {
	set, err := fsroot.New(w.roots)
	if err != nil {
		return fmt.Errorf("transaction %s: %w", w.id, err)
	}
	w.set, w.owned, w.layersMade = set, true, true
	for _, path := range w.slotDirs[1:] {
		fd, err := w.openSlotDir(path)
		// Its directory itself is gone.
		if err != nil && !fsroot.IsMissing(err) {
			return fmt.Errorf("transaction %s: %s: %w", w.id, path, err)
		}
		if err != nil {
			w.slots = append(w.slots, slotDir{fd: -1, path: path})
		} else if err := w.addSlotDir(fd, path); err != nil {
			return fmt.Errorf("transaction %s: %s: %w", w.id, path, err)
		}
	}
	for _, sd := range w.slots {
		if sd.fd < 0 {
			continue
		}
		names, err := namesIn(sd.fd)
		if err != nil {
			return fmt.Errorf("transaction %s: %s: %w", w.id, sd.path, err)
		}
		for _, name := range names {
			if n, err := strconv.ParseUint(name, 10, 63); err == nil {
				w.next = max(w.next, n)
			}
		}
	}
	w.next++
	if err := w.cutTail(); err != nil {
		return fmt.Errorf("cut %s: %w", w.path(journalName), err)
	}
	w.heirs = nil
	return w.log.add(func(e enc) enc { return append(e, recReset) })
}

// cutTail cuts the torn end off the journal, durably: what is written in its place
// could otherwise reach the disk before the cut does, and thereby before the renames
// that it tells of. Records that make a file longer do not.
func (w *work) cutTail() error {
	at, err := w.log.file.Seek(0, 1)
	if err != nil {
		return err
	}
	info, err := w.log.file.Stat()
	if err != nil || info.Size() == at {
		return err
	}
	if err := w.disk.truncate(int(w.log.file.Fd()), journalName, at); err != nil || !w.sync {
		return err
	}
	return w.disk.fsync(int(w.log.file.Fd()), journalName)
}

// openSlotDir opens a slot directory outside the store, and makes it where it
// was never made, or was removed because it was empty.
func (w *work) openSlotDir(path string) (int, error) {
	d, name, err := w.set.OpenParent(path)
	if err != nil {
		return -1, err
	}
	if err := w.disk.mkdir(d.FD(), name, 0o700); err != nil && err != unix.EEXIST {
		return -1, err
	}
	return openPrivate(d.FD(), name)
}

// close closes descriptors; the transaction stays as it is on disk.
func (w *work) close() {
	w.closeHeld()
	if w.kept != nil {
		w.kept.Close()
		w.kept = nil
	}
	for _, sd := range w.slots {
		if sd.fd >= 0 {
			unix.Close(sd.fd)
		}
	}
	w.slots = nil
	if w.owned {
		w.set.Close()
	}
	if w.log.file != nil {
		w.log.file.Close()
	}
	if w.dir >= 0 {
		unix.Close(w.dir)
		w.dir = -1
	}
	w.store.live = slices.DeleteFunc(w.store.live, func(l *work) bool { return l == w })
}

func slotName(n uint64) string { return strconv.FormatUint(n, 10) }

// at is the directory and name of a slot. A slot directory that is gone gives
// a descriptor that every call refuses.
func (w *work) at(s slot) (int, string) { return w.slots[s.dir].fd, slotName(s.n) }

func (w *work) slotPath(s slot) string {
	return filepath.Join(w.slots[s.dir].path, slotName(s.n))
}

// inSlot stamps the object in a slot; ok is false where it is empty.
func (w *work) inSlot(s slot) (st changeset.Stamp, ok bool, err error) {
	fd, name := w.at(s)
	if fd < 0 {
		return st, false, nil
	}
	st, err = stampAt(fd, name)
	if errors.Is(err, unix.ENOENT) {
		return st, false, nil
	}
	return st, err == nil, err
}

func stampAt(dir int, name string) (changeset.Stamp, error) {
	fd, st, err := openObject(dir, name)
	if err == nil {
		unix.Close(fd)
	}
	return st, err
}

func (w *work) newSlot(dir int) slot {
	s := slot{dir, w.next}
	w.next++
	return s
}

// slotDirAt finds the slot directory for objects that are directly in the
// directory path, and makes one if its mount has none yet.
func (w *work) slotDirAt(path string) (int, error) {
	if path == w.atPath {
		return w.atSlots, nil
	}
	d, err := w.set.OpenDir(path)
	if err != nil {
		return 0, err
	}
	m, err := mountOf(d.FD())
	if err != nil {
		return 0, fmt.Errorf("%s: find its mount: %w", path, err)
	}
	i := 0
	for i < len(w.slots) && (w.slots[i].mount != m || w.slots[i].fd < 0) {
		i++
	}
	if i == len(w.slots) {
		if err := w.makeSlotDir(path, m); err != nil {
			return 0, err
		}
	}
	w.atPath, w.atSlots = path, i
	return i, nil
}

// makeSlotDir makes a slot directory as high up above path as the mount and
// the permissions allow. The journal knows of it, durably, before it is there.
func (w *work) makeSlotDir(path string, m mount) error {
	root, rel, _ := w.set.Locate(path)
	at := root.Path
	for _, part := range append([]string{""}, strings.Split(rel, "/")...) {
		at = filepath.Join(at, part)
		d, err := w.set.OpenDir(at)
		if err != nil {
			return err
		}
		if got, err := mountOf(d.FD()); err != nil || got != m {
			continue
		}
		if unix.Faccessat(d.FD(), ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS) != nil {
			continue
		}
		name := slotDirStart + w.id
		full := filepath.Join(at, name)
		if err := w.log.add(func(e enc) enc { return append(e, recSlotDir).s(full) }); err != nil {
			return err
		}
		if err := w.log.flush(); err != nil {
			return err
		}
		if err := w.disk.fsync(int(w.log.file.Fd()), journalName); err != nil {
			return fmt.Errorf("sync %s: %w", w.path(journalName), err)
		}
		if err := w.disk.mkdir(d.FD(), name, 0o700); err != nil {
			return fmt.Errorf("make %s: %w", full, err)
		}
		fd, err := openPrivate(d.FD(), name)
		if err != nil {
			return fmt.Errorf("open %s: %w", full, err)
		}
		w.slotDirs = append(w.slotDirs, full)
		return w.addSlotDir(fd, full)
	}
	return fmt.Errorf("%s is on another file system than the store, and no directory there may be written to: %w",
		path, unix.EXDEV)
}

// canSwap reports whether the mount of a slot directory can exchange.
func (w *work) canSwap(dir int) (bool, error) {
	sd := &w.slots[dir]
	if sd.swaps == 0 {
		ok, err := w.disk.canExchange(sd.fd)
		if err != nil {
			return false, fmt.Errorf("%s: try to exchange: %w", sd.path, err)
		}
		sd.swaps = -1
		if ok {
			sd.swaps = 1
		}
	}
	return sd.swaps > 0, nil
}
