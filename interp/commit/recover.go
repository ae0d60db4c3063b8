package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"

	"steps.example/interp/internal/fsroot"
)

// Pending is a transaction that was interrupted, or is going on.
type Pending struct {
	ID string
	// Committed: recovery will complete it. Otherwise it will be taken back.
	Committed bool
	// Damaged says why its journal cannot be used, or is empty.
	Damaged string
}

// Pending lists the transactions that are not at their end, oldest first. It
// takes no lock, so one that another process works on is among them.
func (s *Store) Pending() ([]Pending, error) {
	ids, err := s.ids(openDir)
	if err != nil {
		return nil, err
	}
	var list []Pending
	for _, id := range ids {
		p := Pending{ID: id}
		w, err := s.open(openDir, id)
		switch {
		case errors.Is(err, unix.ENOENT): // its process has just ended it, or had just begun
			p.Damaged = "incomplete"
		case err != nil:
			p.Damaged = err.Error()
		default:
			if p.Committed, err = w.committed(); err != nil {
				p.Damaged = err.Error()
			}
			w.close()
		}
		list = append(list, p)
	}
	return list, nil
}

// RecoverOptions say what to do where recovery cannot decide.
type RecoverOptions struct {
	// Keep gives up on transactions that are blocked or whose journal is
	// damaged: the tree stays as it is, and the transaction's directory, with
	// every object that it holds, moves to kept/<id> in the store. So does that
	// of a receipt that is damaged, which counts for nothing then.
	Keep bool
}

// Recovered is a transaction that recovery brought to its end, or put aside.
type Recovered struct {
	ID string
	// Committed: it was completed and has a receipt. Otherwise it was taken
	// back, or given up if Kept is set.
	Committed bool
	// Kept is the directory that has what a given-up transaction held.
	Kept      string
	Conflicts []Conflict
	// Damaged says what is wrong with the receipt that was put aside, or is empty.
	Damaged string
}

// Recover brings interrupted transactions to their end. It may itself be
// interrupted at any time and repeated. Where it cannot decide without
// destroying something it leaves the tree at that path and what it holds as
// they are, does all the rest, and returns a [*BlockedError]; the transaction
// then stays pending. A receipt that cannot be used is a [*ReceiptError]. It opens the roots that the journal names and touches
// nothing outside.
func (s *Store) Recover(o RecoverOptions) ([]Recovered, error) {
	if err := s.acquire("recover"); err != nil {
		return nil, err
	}
	defer s.unlock()
	ids, err := s.ids(openDir)
	if err != nil {
		return nil, err
	}
	var list []Recovered
	var errs []error
	// The newest first: it was made on top of the others, should there be several.
	for i := len(ids) - 1; i >= 0; i-- {
		r, err := s.recoverOne(ids[i], o)
		if err != nil {
			errs = append(errs, err)
		} else {
			list = append(list, r)
		}
	}
	aside, err := s.recoverReceipts(o)
	list, errs = append(list, aside...), append(errs, err, s.emptyTrash())
	return list, errors.Join(errs...)
}

// recoverReceipts puts aside the receipts that are damaged. The error names those that
// stay although they cannot be used.
func (s *Store) recoverReceipts(o RecoverOptions) ([]Recovered, error) {
	_, err := s.Receipts()
	bad, err := Unreadable(err)
	if err != nil {
		return nil, err
	}
	var list []Recovered
	var errs []error
	for _, e := range bad {
		if !o.Keep || e.Fault != Damaged {
			errs = append(errs, e)
		} else if err := s.shift(e.ID, receiptsDir, keptDir); err != nil {
			errs = append(errs, err)
		} else {
			list = append(list, Recovered{ID: e.ID, Kept: filepath.Join(s.path, keptDir, e.ID), Damaged: e.Err.Error()})
		}
	}
	return list, errors.Join(errs...)
}

func (s *Store) recoverOne(id string, o RecoverOptions) (Recovered, error) {
	r := Recovered{ID: id}
	w, err := s.open(openDir, id)
	if errors.Is(err, unix.ENOENT) {
		if empty, err2 := s.neverBegun(id); err2 == nil && empty {
			return r, s.shift(id, openDir, trashDir)
		}
	}
	if err == nil {
		defer w.close()
		err = w.finishUp()
		r.Committed = w.home == receiptsDir
	}
	if err == nil {
		return r, nil
	}
	var blocked *BlockedError
	if !errors.As(err, &blocked) {
		blocked = &BlockedError{ID: id, Conflicts: []Conflict{{
			Path: filepath.Join(s.path, openDir, id), Reason: err.Error(),
			Held: filepath.Join(s.path, openDir, id, slotsName),
		}}}
	}
	if !o.Keep {
		return r, blocked
	}
	r.Committed, r.Conflicts, r.Kept = false, blocked.Conflicts, filepath.Join(s.path, keptDir, id)
	return r, s.shift(id, openDir, keptDir)
}

// neverBegun reports whether a transaction directory lacks its journal and any
// sign that there ever was one.
func (s *Store) neverBegun(id string) (bool, error) {
	fd, err := openPrivate(int(s.dir.Fd()), openDir+"/"+id)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	names, err := namesIn(fd)
	return err == nil && (len(names) == 0 || len(names) == 1 && names[0] == slotsName), err
}

// finishUp brings an interrupted transaction to its end.
func (w *work) finishUp() error {
	if len(w.slotDirs) == 0 { // no header: nothing was ever done
		return w.discard()
	}
	if err := w.reach(); err != nil {
		return err
	}
	if w.state == stateBack {
		// Who wrote that may have died before it was durable.
		if err := w.durable(); err != nil {
			return err
		}
		return w.discard()
	}
	forward, err := w.committed() // each recovery will find the same, up to the end
	switch {
	case err != nil:
		return err
	case !forward:
		return w.rollBack()
	}
	if err := w.rollForward(); err != nil {
		return err
	}
	return w.settle()
}

// rollBack takes back every segment, the last first, and removes the
// transaction.
func (w *work) rollBack() error {
	var lost []Conflict
	if w.snapshot != nil {
		c, err := w.capture(true)
		if err != nil {
			return err
		}
		for _, path := range c.lost {
			lost = append(lost, Conflict{Path: path, Reason: "the command removed it, and a socket, FIFO or device cannot be made again; all else is as before"})
		}
	}
	if len(w.segments) > 0 {
		if err := w.takeBack(); err != nil {
			return err
		}
	}
	if err := w.discard(); err != nil || len(lost) == 0 {
		return err
	}
	return &LostError{Lost: lost}
}

func (w *work) takeBack() error {
	w.set.Forget("/")
	if err := w.log.add(func(e enc) enc { return append(e, recReset) }); err != nil {
		return err
	}
	for n := len(w.segments) - 1; n >= 0; n-- {
		if w.segments[n].back {
			continue
		}
		if err := w.each(n, -1, w.backward); err != nil {
			return err
		}
		// Two segments half taken back could not be told from each other.
		last := n == 0
		err := w.log.add(func(e enc) enc {
			if last {
				return append(e, recEnd)
			}
			return append(e, recBack).u(uint64(n))
		})
		if err != nil {
			return err
		}
		if err := w.durable(); err != nil {
			return err
		}
		w.segments[n].back = true
	}
	w.state = stateBack
	return nil
}

// rollForward completes a committed transaction.
func (w *work) rollForward() error {
	w.set.Forget("/")
	if w.redoFrom == len(w.segments) {
		// Who wrote that may have died before it was durable.
		return w.durable()
	}
	for n := w.redoFrom; n < len(w.segments); n++ {
		if err := w.each(n, 1, w.redo); err != nil {
			return err
		}
		if err := w.log.add(func(e enc) enc { return append(e, recRedo).u(uint64(n + 1)) }); err != nil {
			return err
		}
		if err := w.durable(); err != nil {
			return err
		}
		w.redoFrom = n + 1
	}
	return nil
}

// each calls f for every operation of a segment, from its start or its end. It
// goes on after an error and returns all of them as a [*BlockedError].
func (w *work) each(n, dir int, f func(*op) error) error {
	ops := w.segments[n].ops
	if dir < 0 {
		ops = ops[:w.segments[n].ran]
	}
	var conflicts []Conflict
	var causes []error
	for k := range ops {
		o := &ops[k]
		if dir < 0 {
			o = &ops[len(ops)-1-k]
		}
		err := f(o)
		if stuck := (errStuck{}); errors.As(err, &stuck) {
			conflicts = append(conflicts, stuck.Conflict)
		} else if err != nil {
			at, ok := errors.AsType[*fs.PathError](err)
			if !ok || at.Path != o.path {
				at = &fs.PathError{Op: "change", Path: o.path, Err: err}
			}
			conflicts = append(conflicts, Conflict{Path: o.path, Reason: at.Err.Error()})
			causes = append(causes, at)
		}
	}
	if len(conflicts) == 0 {
		return nil
	}
	return &BlockedError{ID: w.id, Conflicts: conflicts, causes: causes}
}

// settle turns a committed transaction into a receipt. Its slots keep what undo
// needs.
func (w *work) settle() error {
	if err := w.dropLayers(); err != nil {
		return err
	}
	if len(w.scraps) > 0 {
		if err := w.dropScraps(); err != nil {
			return err
		}
	}
	if err := w.dropEmptySlotDirs(); err != nil {
		return err
	}
	if err := w.store.shift(w.id, w.home, receiptsDir); err != nil {
		return err
	}
	w.home = receiptsDir
	return nil
}

// discard removes the transaction with everything in its slots. Only for one
// whose every operation was taken back, durably, or never begun.
func (w *work) discard() error {
	for i := range w.slots[min(1, len(w.slots)):] {
		sd := &w.slots[i+1]
		if sd.fd < 0 {
			continue
		}
		d, name, err := w.set.OpenParent(sd.path)
		if err != nil {
			return fmt.Errorf("remove %s: %w", sd.path, err)
		}
		if err := w.disk.removeAll(d.FD(), name); err != nil {
			return fmt.Errorf("remove %s: %w", sd.path, err)
		}
	}
	// Once the store has forgotten them, nothing would ever remove them.
	if err := w.syncOthers(); err != nil {
		return err
	}
	if err := w.store.shift(w.id, w.home, trashDir); err != nil {
		return err
	}
	w.home = trashDir
	return w.store.emptyTrash()
}

// dropScraps removes snapshot copies and what commands left. By now all of it was
// copied or put back, but for what a segment says it needs for undo.
func (w *work) dropScraps() error {
	w.closeHeld()
	used := map[slot]bool{}
	for i := range w.segments {
		for k := range w.segments[i].ops {
			used[w.segments[i].ops[k].slot] = true
		}
	}
	for _, s := range w.scraps {
		if fd, name := w.at(s); fd >= 0 && !used[s] {
			if err := w.disk.removeAll(fd, name); err != nil {
				return fmt.Errorf("remove %s: %w", w.slotPath(s), err)
			}
		}
	}
	return nil
}

func (w *work) dropEmptySlotDirs() error {
	for i := 1; i < len(w.slots); i++ {
		sd := &w.slots[i]
		if sd.fd < 0 {
			continue
		}
		d, name, err := w.set.OpenParent(sd.path)
		if err == nil {
			err = w.disk.rmdir(d.FD(), name)
		}
		if err != nil && !errors.Is(err, unix.ENOTEMPTY) && !fsroot.IsMissing(err) {
			return fmt.Errorf("remove %s: %w", sd.path, err)
		}
	}
	return nil
}
