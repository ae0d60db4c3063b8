package commit

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

// Capture compares the tree with the last snapshot and returns what the command
// changed, with hashes of the contents. From then on the transaction knows
// these changes as its own. It is durable, the command's writes included,
// before Capture returns. On an error the transaction is taken back.
//
// An object that was moved counts as deleted at one path and created at the
// other. Sockets, FIFOs and devices that the command removed cannot be made
// again: that is an error.
func (tx *Tx) Capture() (*changeset.Changeset, error) {
	if tx.done {
		return nil, errDone
	}
	if tx.w.snapshot == nil {
		return nil, errors.Join(errors.New("capture: no snapshot was made"), tx.Rollback())
	}
	c, err := tx.w.capture(false)
	if err == nil && len(c.lost) > 0 {
		err = fmt.Errorf("%s was removed or replaced, and is nothing that could be made again", c.lost[0])
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("capture: %w", err), tx.Rollback())
	}
	tx.nets = append(tx.nets, c.changes)
	return c.changes, nil
}

// comparison is what became of a snapshot.
type comparison struct {
	w       *work
	force   bool
	now     map[string]changeset.Stamp
	order   []string // the paths of now, parents first
	changes *changeset.Changeset
	lost    []string
	// The operations, as if they had been carried out in this order.
	early, takes, puts, late []op
	heirs                    []heir
}

// capture turns what changed since the snapshot into a segment of operations
// that are already done. With force it gets past modes that keep the owner from
// reading: it is all going to be taken back.
func (w *work) capture(force bool) (*comparison, error) {
	w.set.Forget("/")
	c := &comparison{w: w, force: force, now: map[string]changeset.Stamp{}, changes: &changeset.Changeset{}}
	err := w.survey(w.snapshot.roots, force, func(path string, st changeset.Stamp) error {
		c.now[path] = st
		c.order = append(c.order, path)
		return nil
	})
	if err != nil {
		return nil, err
	}
	replaced := map[string]bool{}
	before := make(map[string]bool, len(w.snapshot.entries))
	// Deepest first, as things are taken.
	for i := len(w.snapshot.entries) - 1; i >= 0; i-- {
		s := &w.snapshot.entries[i]
		before[s.path] = true
		st, ok := c.now[s.path]
		if ok && st.Kind() == s.id.Kind() {
			err = c.stayed(s, st)
		} else {
			replaced[s.path] = true
			err = c.removed(s)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.path, err)
		}
	}
	if err := c.created(before, replaced); err != nil {
		return nil, err
	}
	c.changes.Sort()
	g := &program{}
	for _, ops := range [][]op{c.early, c.takes, c.puts, c.late} {
		for _, o := range ops {
			g.add(-1, o)
		}
	}
	if err := w.logProgram(g); err != nil {
		return nil, err
	}
	for _, h := range c.heirs {
		if err := w.log.add(func(e enc) enc { return append(e, recHeir).heir(h) }); err != nil {
			return nil, err
		}
	}
	w.heirs = c.heirs
	return c, w.begin(captured, g.ops)
}

// state is a stamp as a State, with a file's hash and a link's target.
func (c *comparison) state(path string, st changeset.Stamp) (*changeset.State, error) {
	s := st.State()
	var err error
	switch s.Kind {
	case changeset.File:
		s.SHA256, _, err = hashFile(c.w.set, path)
		if c.force && errors.Is(err, unix.EACCES) {
			err = nil // no hash is like another hash
		}
	case changeset.Symlink:
		s.Target, err = readlink(c.w.set, path)
	}
	return s, err
}

// was is the state that a snapshot saved.
func (c *comparison) was(s *saved) (*changeset.State, error) {
	st := s.id.State()
	st.Target = s.target
	if st.Kind != changeset.File {
		return st, nil
	}
	dir, name := c.w.at(s.copy)
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open its copy: %w", err)
	}
	defer unix.Close(fd)
	st.SHA256, err = hashFD(fd, s.id.Size)
	return st, err
}

// stayed handles a path with an object of the same kind as before.
func (c *comparison) stayed(s *saved, st changeset.Stamp) error {
	if s.id.Unchanged(st) {
		return nil
	}
	before, err := c.was(s)
	if err != nil {
		return err
	}
	after, err := c.state(s.path, st)
	if err != nil {
		return err
	}
	if before.SHA256 != after.SHA256 || before.Target != after.Target {
		held, was, err := c.rebuild(s)
		if err != nil {
			return err
		}
		c.puts = append(c.puts, op{kind: opSwap, path: s.path, slot: held, id: st, was: was})
	} else if err := c.attrs(s, st); err != nil {
		return err
	} else if !s.id.SameObject(st) {
		// Another object with the same content: once its attributes are back it
		// is as good as the one before.
		now := st
		if st.Kind() == changeset.File {
			now.MTime = s.id.MTime
		}
		c.heirs = append(c.heirs, heirOf(s.id, now))
	}
	if *before != *after {
		c.change(changeset.Change{Path: s.path, Before: before, After: after, Stamp: &s.id})
	}
	return nil
}

// attrs handles an object that has the same content as before.
func (c *comparison) attrs(s *saved, st changeset.Stamp) error {
	var set uint8
	if st.Kind() == changeset.Other && !s.id.SameObject(st) {
		c.lost = append(c.lost, s.path)
	}
	if st.Kind() != changeset.Symlink && st.Perm() != s.id.Perm() {
		set |= hasMode
	}
	if st.UID != s.id.UID || st.GID != s.id.GID {
		set |= hasOwner
	}
	if st.Kind() == changeset.File && st.MTime != s.id.MTime {
		set |= hasTime
	}
	if set == 0 {
		return nil
	}
	o := op{kind: opAttr, path: s.path, id: st, old: attrsOf(s.id, set), new: attrsOf(st, set)}
	if st.Kind() == changeset.Dir && s.id.Perm()&writable != writable {
		c.early = append([]op{o}, c.early...) // parents first
	} else {
		c.late = append(c.late, o)
	}
	return nil
}

// removed handles an object that is gone, or is of another kind now.
func (c *comparison) removed(s *saved) error {
	before, err := c.was(s)
	if err != nil {
		return err
	}
	after := c.now[s.path]
	if _, ok := c.now[s.path]; !ok {
		c.change(changeset.Change{Path: s.path, Before: before, Stamp: &s.id})
	} else {
		now, err := c.state(s.path, after)
		if err != nil {
			return err
		}
		c.change(changeset.Change{Path: s.path, Before: before, After: now, Stamp: &s.id})
	}
	if s.id.Kind() == changeset.Other {
		c.lost = append(c.lost, s.path)
		return nil
	}
	held, id, err := c.rebuild(s)
	if err != nil {
		return err
	}
	if s.id.Kind() == changeset.Dir && id.Perm() != s.id.Perm() {
		// It must be writable until what was in it is back.
		o := op{kind: opAttr, path: s.path, id: id, old: attrsOf(s.id, hasMode), new: attrsOf(id, hasMode)}
		c.early = append([]op{o}, c.early...)
	}
	c.takes = append(c.takes, op{kind: opTake, path: s.path, slot: held, id: id})
	return nil
}

// rebuild makes sure that a slot has an object equal to the saved one, which
// stands for it from now on.
func (c *comparison) rebuild(s *saved) (slot, changeset.Stamp, error) {
	held, id, err := c.equal(s)
	c.heirs = append(c.heirs, heirOf(s.id, id))
	return held, id, err
}

func (c *comparison) equal(s *saved) (slot, changeset.Stamp, error) {
	w := c.w
	if s.copy.n != 0 {
		id, ok, err := w.inSlot(s.copy)
		if err == nil && !ok {
			err = fmt.Errorf("its copy %s is missing: %w", w.slotPath(s.copy), ErrDamaged)
		}
		return s.copy, id, err
	}
	dir, err := c.slotDir(s.path)
	if err != nil {
		return slot{}, changeset.Stamp{}, err
	}
	held := w.newSlot(dir)
	fd, name := w.at(held)
	want := &changeset.State{UID: int(s.id.UID), GID: int(s.id.GID)}
	var id changeset.Stamp
	if s.id.Kind() == changeset.Symlink {
		if err = w.disk.symlink(s.target, fd, name); err == nil {
			id, err = w.finish(fd, name, want, 0, s.id.MTime)
		}
	} else {
		mode := s.id.Perm() | 0o700
		if err = w.disk.mkdir(fd, name, mode); err == nil {
			id, err = w.finish(fd, name, want, mode, 0)
		}
	}
	return held, id, err
}

// slotDir is the slot directory of the mount that has, or had, the path.
func (c *comparison) slotDir(path string) (int, error) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		i, err := c.w.slotDirAt(dir)
		if err == nil || dir == "/" || !(errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || isLink(err)) {
			return i, err
		}
	}
}

// created handles what is there now and was not, or was of another kind.
func (c *comparison) created(before, replaced map[string]bool) error {
	for i := 0; i < len(c.order); i++ {
		path := c.order[i]
		if before[path] && !replaced[path] {
			continue
		}
		dir, err := c.w.slotDirAt(filepath.Dir(path))
		if err != nil {
			return err
		}
		o := op{kind: opPut, path: path, slot: c.w.newSlot(dir), id: c.now[path]}
		if err := c.new(path, replaced); err != nil {
			return err
		}
		// What is below a new directory is new.
		for i+1 < len(c.order) && strings.HasPrefix(c.order[i+1], path+"/") {
			i++
			sub := c.order[i]
			o.made = append(o.made, made{rel: sub[len(path)+1:], id: c.now[sub]})
			if err := c.new(sub, replaced); err != nil {
				return err
			}
		}
		c.puts = append(c.puts, o)
		if st := c.now[path]; st.Kind() == changeset.Dir && st.Perm()&writable != writable {
			// It must be writable to be taken back.
			now := attrsOf(st, hasMode)
			loose := now
			loose.mode |= 0o700
			c.late = append(c.late, op{kind: opAttr, path: path, id: st, old: loose, new: now})
		}
	}
	return nil
}

func (c *comparison) new(path string, replaced map[string]bool) error {
	if replaced[path] {
		return nil // its change has both sides already
	}
	after, err := c.state(path, c.now[path])
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	c.change(changeset.Change{Path: path, After: after})
	return nil
}

func (c *comparison) change(ch changeset.Change) { c.changes.Changes = append(c.changes.Changes, ch) }
