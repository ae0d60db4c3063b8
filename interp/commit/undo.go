package commit

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

func isLink(err error) bool { return errors.Is(err, unix.ELOOP) }

// Undo takes back a committed transaction exactly, and removes its receipt.
// First everything that the receipt names is checked to be as it was left, that
// nothing was added to directories that it made, and that no other package has come
// to use what it made; else a [*DriftError]
// lists all differences and nothing is changed. A crash leaves the undo to
// [Store.Recover], which completes it.
func (s *Store) Undo(id string) error {
	if err := s.acquire("undo"); err != nil {
		return err
	}
	defer s.unlock()
	pending, err := s.Pending()
	if err != nil {
		return err
	}
	if len(pending) > 0 {
		return &InterruptedError{Pending: pending}
	}
	r, err := s.Receipt(id)
	if err != nil {
		return err
	}
	w, err := s.open(receiptsDir, id)
	if err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	defer w.close()
	if err := w.reach(); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	if w.state == stateOpen {
		return fmt.Errorf("undo: transaction %s: journal has no commit record: %w", id, ErrDamaged)
	}
	drifts, err := verify(w.set, r.Changeset)
	if err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	extra, err := w.adoptPresent()
	if err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	used, err := s.usedSince(r)
	if err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	if drifts = slices.Concat(drifts, extra, used); len(drifts) > 0 {
		return &DriftError{ID: id, Drifts: drifts}
	}
	return w.undo()
}

// usedSince lists what the receipt made and another package found there later and
// uses.
func (s *Store) usedSince(r *Receipt) ([]Drift, error) {
	owners, _, err := s.owners()
	if err != nil {
		return nil, fmt.Errorf("whose the files are: %w", err)
	}
	var list []Drift
	for i := range r.Changeset.Changes {
		c := &r.Changeset.Changes[i]
		if c.After == nil || c.KeepsObject() {
			continue
		}
		if by := owners.UsedBy(c.Path, r.Identity(), r.ID); len(by) > 0 {
			list = append(list, Drift{Path: c.Path, Kind: DriftUsed, Have: Names(by)})
		}
	}
	return list, nil
}

// undo takes the transaction back. If it meets something that changed since it
// was checked, it does again what it took back, and the receipt stays.
func (w *work) undo() error {
	if err := w.log.add(func(e enc) enc { return append(e, recUndo) }); err != nil {
		return err
	}
	w.takeHeirs()
	// The record must be there before the directory counts as unfinished:
	// without it, recovery would do the transaction once more.
	if err := w.durable(); err != nil {
		return err
	}
	if err := w.store.shift(w.id, w.home, openDir); err != nil {
		return err
	}
	w.home, w.state = openDir, stateUndoing
	// Where it counts as such precedes the first rename in the log of the store's own
	// file system. Others know nothing of that.
	if len(w.slots) > 1 {
		if err := w.syncSlots(0, 1); err != nil {
			return err
		}
	}
	undoErr := w.takeBack()
	if undoErr == nil {
		return w.unended("everything was taken back", w.discard())
	}
	from := 0
	for from < len(w.segments) && !w.segments[from].back {
		from++
	}
	from = max(0, from-1)
	for i := range w.segments {
		w.segments[i].back = false
	}
	err := w.log.add(func(e enc) enc { return append(e, recRedo).u(uint64(from)) })
	if err == nil {
		err = w.durable()
	}
	if err == nil {
		w.redoFrom, w.state = from, stateCommitted
		err = w.rollForward()
	}
	if err == nil {
		err = w.settle()
	}
	var blocked *BlockedError
	if errors.As(undoErr, &blocked) {
		undoErr = blocked.first()
	}
	if err != nil {
		return w.stranded(fmt.Errorf("undo: %w", undoErr), err, "what was taken back could not be done again")
	}
	if errors.Is(undoErr, ErrMoved) {
		return fmt.Errorf("undo %s: %w", w.id, undoErr)
	}
	return fmt.Errorf("undo %s: nothing was changed: %w", w.id, undoErr)
}

// placement is an object that the transaction put somewhere and left there.
type placement struct {
	id changeset.Stamp
	// ours: it was made by the transaction, not moved.
	ours bool
}

// adoptPresent looks at every object that the transaction left in the tree. One
// that was replaced by an equal one since, say by an editor, is written down,
// so that it is known as the transaction's. Something added to a directory that
// the transaction made is drift.
func (w *work) adoptPresent() ([]Drift, error) {
	here := w.placed()
	var drifts []Drift
	for _, path := range slices.Sorted(maps.Keys(here)) {
		id := here[path].id
		st, err := w.set.Lstat(path)
		if err != nil || st.Kind() != id.Kind() {
			continue // verify has found that
		}
		if !sameVersion(st, id) {
			h := heirOf(id, st)
			if err := w.log.add(func(e enc) enc { return append(e, recHeir).heir(h) }); err != nil {
				return nil, err
			}
			w.heirs = append(w.heirs, h)
		}
		if id.Kind() != changeset.Dir || !here[path].ours {
			continue
		}
		d, err := w.set.OpenDir(path)
		if err != nil {
			return nil, err
		}
		names, err := d.Names()
		if err != nil {
			return nil, err
		}
		slices.Sort(names)
		for _, name := range names {
			sub := filepath.Join(path, name)
			if _, ok := here[sub]; !ok && !w.isSlotDir(sub) {
				drifts = append(drifts, Drift{Path: sub, Kind: DriftExtra})
			}
		}
	}
	return drifts, nil
}

// placed maps paths to what the transaction put there and left there. Of a
// directory that moved whole only the top is known; what is below it goes back
// with it.
func (w *work) placed() map[string]placement {
	here := map[string]placement{}
	for _, seg := range w.segments {
		carried := map[slot]map[string]placement{}
		for i := range seg.ops {
			o := &seg.ops[i]
			switch o.kind {
			case opTake:
				gone := map[string]placement{}
				for path, at := range here {
					if path == o.path || strings.HasPrefix(path, o.path+"/") {
						gone[path[len(o.path):]] = at
						delete(here, path)
					}
				}
				carried[o.slot] = gone
			case opPut:
				here[o.path] = placement{id: o.id, ours: o.moves == ""}
				for _, m := range o.made {
					here[o.path+"/"+m.rel] = placement{id: m.id, ours: true}
				}
				if o.moves != "" {
					for rel, at := range carried[o.slot] {
						here[o.path+rel] = at
					}
				}
			case opSwap:
				here[o.path] = placement{id: o.id, ours: true}
			case opAttr:
				// What a later segment set is part of what it is known by.
				if at, ok := here[o.path]; ok && o.new.set&hasTime != 0 && at.id.SameObject(o.id) {
					at.id.MTime = o.new.mtime
					here[o.path] = at
				}
			}
		}
	}
	return here
}
