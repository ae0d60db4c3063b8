package crash

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"steps.example/conformance/scene"
	"steps.example/interp/changeset"
	"steps.example/interp/commit"
)

// check holds what there is after the last recovery to the promise: all or nothing,
// and nothing left behind.
func (t *trial) check() error {
	store, err := commit.OpenStore(t.w.State)
	if err != nil {
		return err
	}
	defer store.Close()
	done, err := t.done(store)
	if err != nil {
		return err
	}
	if err := t.leftNothing(store); err != nil {
		return err
	}
	if t.after == nil { // this is the undisturbed run that shows what is to come out
		now, err := t.take()
		if err != nil {
			return err
		}
		t.after, t.applied = t.since(now), done
	}
	if done && !t.applied {
		return errors.New("there is a receipt, though the undisturbed operation makes none")
	}
	if !t.reached && done != t.applied {
		return errors.New("the operation had returned without an error, and is not done")
	}
	if err := t.is(done); err != nil {
		return err
	}
	return errors.Join(t.takeBack(store, done), t.outside())
}

// is tells whether the tree is as after the operation, or as before.
func (t *trial) is(done bool) error {
	now, err := t.take()
	if err != nil {
		return err
	}
	var diff []string
	when := "before"
	if done {
		when = "after"
		diff = t.since(now).Diff(t.after)
	} else {
		diff = t.w.Promised(now).Diff(t.w.Promised(t.plain(t.w.Before)))
	}
	if len(diff) > 0 {
		return fmt.Errorf("by its receipts the store is as %s the operation, but the tree differs from that:\n  %s", when, strings.Join(diff, "\n  "))
	}
	return nil
}

// take looks at the tree, without what transactions keep in it.
func (t *trial) take() (scene.Snapshot, error) {
	s, err := t.w.Take()
	return t.plain(s), err
}

// since is a tree in terms of what was before, whatever its transactions are called.
func (t *trial) since(now scene.Snapshot) scene.Snapshot {
	s := now.Since(t.w.Before)
	for p, o := range s {
		if id, ok := slotDirOf(o.Was); ok {
			o.Was = strings.Replace(o.Was, id, "", 1)
			s[p] = o
		}
	}
	return t.w.Promised(s)
}

func (t *trial) plain(s scene.Snapshot) scene.Snapshot {
	out := scene.Snapshot{}
	for p, o := range s {
		if _, ok := slotDirOf(p); ok {
			continue
		}
		if names := strings.Fields(o.Names); len(names) > 0 {
			names = slices.DeleteFunc(names, func(n string) bool { _, ok := slotDirOf(n); return ok })
			o.Names = strings.Join(names, " ")
		}
		out[p] = o
	}
	return out
}

// slotDirOf is the id of the transaction whose directory in the tree p is, or is in.
func slotDirOf(p string) (id string, ok bool) {
	for name := range strings.SplitSeq(p, "/") {
		if id, ok := strings.CutPrefix(name, changeset.Reserved); ok {
			return id, true
		}
	}
	return "", false
}

// takeBack verifies and undoes what was done; then all is as before.
func (t *trial) takeBack(store *commit.Store, done bool) error {
	if t.scene.Verb == scene.VerbUndo {
		if done {
			return nil
		}
		if err := store.Undo(t.w.Had[len(t.w.Had)-1]); err != nil {
			return fmt.Errorf("undo once more: %w", err)
		}
		return errors.Join(t.is(true), t.leftNothing(store))
	}
	if !done {
		return nil
	}
	made, err := t.w.Made(store)
	if err != nil {
		return err
	}
	for _, r := range made {
		drift, err := store.Verify(r)
		if err != nil || len(drift) > 0 {
			return fmt.Errorf("verify: %v, %w", drift, err)
		}
		if r.Stored != "" {
			if _, err := store.Document(r); err != nil {
				return err
			}
		}
		for _, b := range r.Bases {
			if !b.Held {
				continue
			}
			if _, err := store.BaseContent(r.ID, b.SHA256); err != nil {
				return err
			}
		}
		if err := t.w.Undo(store, r); err != nil {
			return fmt.Errorf("undo: %w", err)
		}
	}
	if err := t.is(false); err != nil {
		return fmt.Errorf("after undo: %w", err)
	}
	return t.leftNothing(store)
}

// known are what a store has beside its directories.
var known = []string{"lock", "owners", "receipts", "tx", "kept", "trash", "partners"}

// leftNothing looks for what is in the store beside receipts, and for directories
// of transactions in the tree that no receipt needs.
func (t *trial) leftNothing(store *commit.Store) error {
	entries, err := os.ReadDir(t.w.State)
	if err != nil {
		return err
	}
	var extra []string
	for _, e := range entries {
		if !slices.Contains(known, e.Name()) && e.Name() != "owners.new" { // a torn cache is written anew
			extra = append(extra, e.Name())
		}
	}
	for _, dir := range []string{"tx", "kept", "trash", "partners"} {
		names, err := filepath.Glob(filepath.Join(t.w.State, dir, "*"))
		if err != nil {
			return err
		}
		extra = append(extra, names...)
	}
	all, err := store.Receipts()
	if err != nil {
		return err
	}
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.ID
	}
	have, err := os.ReadDir(filepath.Join(t.w.State, "receipts"))
	if err != nil {
		return err
	}
	for _, e := range have {
		if !slices.Contains(ids, e.Name()) {
			extra = append(extra, "receipts/"+e.Name())
		}
	}
	tree, err := t.w.Take()
	if err != nil {
		return err
	}
	for p := range tree {
		if id, ok := slotDirOf(p); ok && !slices.Contains(ids, strings.TrimPrefix(id, "tx-")) {
			extra = append(extra, p)
		}
	}
	if len(extra) > 0 {
		return fmt.Errorf("left behind: %s", strings.Join(extra, ", "))
	}
	return nil
}

func (t *trial) outside() error {
	if diff := t.w.OutsideDiff(); len(diff) > 0 {
		return fmt.Errorf("changed outside of the tree: %s", strings.Join(diff, "; "))
	}
	return nil
}
