package commit

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// Capture compares the tree with the last snapshot, puts it back to that, and
// returns what the commands had changed, with hashes of the contents. All of
// their processes must be gone. The caller judges and calls [Tx.Apply]. The
// files that the commands made are out of the tree by then; Apply copies their
// contents to new files that keep their time. On an error the transaction is
// taken back.
//
// An object that was moved counts as deleted at one path and created at the
// other. Sockets, FIFOs and devices that a command removed cannot be made again:
// that is an error. Names of one file that a command wrote to come back as files
// of their own.
func (tx *Tx) Capture() (*changeset.Captured, error) {
	if tx.done {
		return nil, errDone
	}
	if tx.w.snapshot == nil {
		return nil, errors.Join(errors.New("capture: no snapshot was made"), tx.Rollback())
	}
	got, err := tx.w.captureAndRestore()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("capture: %w", err), tx.Rollback())
	}
	return got, nil
}

func (w *work) captureAndRestore() (*changeset.Captured, error) {
	c, err := w.capture(false)
	if err != nil {
		return nil, err
	}
	if len(c.lost) > 0 {
		return nil, fmt.Errorf("%s was removed or replaced, and is nothing that could be made again", c.lost[0])
	}
	if err := w.restore(); err != nil {
		return nil, err
	}
	if err := c.settle(); err != nil {
		return nil, err
	}
	return c.captured(), nil
}

// restore takes the last segment, which is a captured one, back for good.
func (w *work) restore() error {
	n := len(w.segments) - 1
	if len(w.segments[n].ops) == 0 {
		return nil
	}
	w.set.Forget("/")
	if err := w.each(n, -1, w.backward); err != nil {
		return err
	}
	if err := w.log.add(func(e enc) enc { return append(e, recRestored) }); err != nil {
		return err
	}
	// Two segments half taken back could not be told from each other.
	if err := w.durable(); err != nil {
		return err
	}
	w.restored()
	return nil
}

// comparison is what became of a snapshot.
type comparison struct {
	w *work
	*found
	left budget
	// force: nothing will be kept of what the command did.
	force bool
	now   map[string]changeset.Stamp
	perms map[string]uint32 // modes that the command gave and that were opened up
	order []string          // the paths of now, parents first
	lost  []string
	// held says where a file with new content is once the tree is restored.
	held map[string]string
	// The operations, as if they had been carried out in this order.
	early, takes, puts, late []op
	heirs                    []heir
}

// capture turns what changed since the snapshot into a segment of operations
// that are already done. With force, what is new is not looked at, only set
// aside, and files that nobody may read count as changed.
func (w *work) capture(force bool) (*comparison, error) {
	w.set.Forget("/")
	c := &comparison{w: w, found: newFound(), left: w.store.budget(), force: force,
		now: map[string]changeset.Stamp{}, perms: map[string]uint32{}, held: map[string]string{}}
	before := make(map[string]changeset.Kind, len(w.snapshot.entries))
	for i := range w.snapshot.entries {
		s := &w.snapshot.entries[i]
		before[s.path] = s.id.Kind()
	}
	if err := c.look(before); err != nil {
		return nil, err
	}
	replaced := map[string]bool{}
	// Deepest first, as things are taken.
	for i := len(w.snapshot.entries) - 1; i >= 0; i-- {
		s := &w.snapshot.entries[i]
		st, ok := c.now[s.path]
		var err error
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

// look finds out what is there now. before are the kinds of what was.
func (c *comparison) look(before map[string]changeset.Kind) error {
	s := &survey{force: true}
	if !c.force {
		s.names = func(d *fsroot.Dir) ([]string, error) { return c.left.names(d, len(before)) }
	}
	s.visit = func(path string, was, st changeset.Stamp) (skip bool, err error) {
		if kind, ok := before[path]; !ok || kind != st.Kind() {
			if c.force {
				return true, c.w.setAside(path, st)
			}
			if err := errors.Join(c.w.stopped(), c.left.spend(path)); err != nil {
				return false, err
			}
		}
		c.now[path] = st
		c.order = append(c.order, path)
		if was.Perm() != st.Perm() {
			c.perms[path] = was.Perm()
		}
		c.name(path, st)
		return false, nil
	}
	return c.w.survey(c.w.snapshot.roots, s)
}

// setAside moves something that a command made, however much it is, out of the
// tree. Nothing needs to know where it is: it goes away with the transaction.
func (w *work) setAside(path string, st changeset.Stamp) error {
	dir, err := w.slotDirAt(filepath.Dir(path))
	if err != nil {
		return err
	}
	d, name, err := w.set.OpenParent(path)
	if err != nil {
		return err
	}
	slots, slot := w.at(w.newSlot(dir))
	if err := w.disk.move(d.FD(), name, slots, slot); err != nil {
		return fmt.Errorf("set aside %s: %w", path, err)
	}
	if st.Kind() == changeset.Dir {
		w.set.Forget(path)
	}
	return nil
}

// settle completes the changes once the tree is as it was before: with the
// objects that are there, and with where contents are.
func (c *comparison) settle() error {
	if err := c.w.openHeld(); err != nil {
		return err
	}
	for i := range c.changes.Changes {
		ch := &c.changes.Changes[i]
		if ch.Before != nil {
			st, err := c.w.set.Lstat(ch.Path)
			if err != nil {
				return err
			}
			want, have := *ch.Before, *st.State()
			if want.SHA256, want.Target = "", ""; want != have {
				return moved(ch.Path, "somebody else changed it")
			}
			ch.Stamp = &st
		}
		if at, ok := c.held[ch.Path]; ok && ch.After.Kind == changeset.File {
			st, err := c.w.held.Lstat(at)
			if err != nil {
				return err
			}
			if !sameVersion(st, c.now[ch.Path]) {
				return moved(ch.Path, "it was written to after the command had ended")
			}
			ch.Content = &changeset.Content{Origin: &changeset.Origin{Path: at, Stamp: st}}
		}
	}
	return nil
}

// state is what is at a path now, with a file's hash and a link's target.
func (c *comparison) state(path string) (*changeset.State, error) {
	st := c.now[path]
	s := st.State()
	var err error
	switch s.Kind {
	case changeset.File:
		s.SHA256, err = c.hash(path, &st)
		if c.force && errors.Is(err, unix.EACCES) {
			err = nil // no hash is like another hash
		}
	case changeset.Symlink:
		s.Target, err = readlink(c.w.set, path)
	}
	if now := c.now[path]; now != st {
		c.now[path], c.perms[path] = st, now.Perm()
	}
	if perm, ok := c.perms[path]; ok {
		s.Mode = perm
	}
	return s, err
}

func (c *comparison) hash(path string, st *changeset.Stamp) (string, error) {
	f, err := c.w.openFile(c.w.set, path, st, true)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return hashOpen(f, path, *st)
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
	if _, opened := c.perms[s.path]; !opened && s.id.Unchanged(st) {
		return nil
	}
	before, err := c.was(s)
	if err != nil {
		return err
	}
	after, err := c.state(s.path)
	if err != nil {
		return err
	}
	st = c.now[s.path]
	same := before.SHA256 == after.SHA256 && before.Target == after.Target
	// An equal file that the command made is not left in the tree either.
	if !same || st.Kind() == changeset.File && !s.id.SameObject(st) {
		held, err := c.rewritten(s, st)
		if err != nil {
			return err
		}
		if !same {
			c.held[s.path] = c.w.slotPath(held)
		}
	} else if err := c.attrs(s, st); err != nil {
		return err
	} else if !s.id.SameObject(st) {
		// Once its attributes are back it is as good as the one before.
		c.heirs = append(c.heirs, heirOf(s.id, st))
	}
	if *before != *after {
		c.change(changeset.Change{Path: s.path, Before: before, After: after})
	}
	return nil
}

// rewritten handles a file or link with another content. The result is the slot
// that the new one is in once this is taken back.
func (c *comparison) rewritten(s *saved, st changeset.Stamp) (slot, error) {
	held, was, err := c.rebuild(s)
	if err != nil {
		return slot{}, err
	}
	swaps, err := c.w.canSwap(held.dir)
	if err != nil {
		return slot{}, err
	}
	if swaps {
		c.puts = append(c.puts, op{kind: opSwap, path: s.path, slot: held, id: st, was: was})
		return held, nil
	}
	c.takes = append(c.takes, op{kind: opTake, path: s.path, slot: held, id: was})
	held = c.w.newSlot(held.dir)
	c.puts = append(c.puts, op{kind: opPut, path: s.path, slot: held, id: st})
	return held, nil
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
	ch := changeset.Change{Path: s.path}
	var err error
	if ch.Before, err = c.was(s); err != nil {
		return err
	}
	if _, ok := c.now[s.path]; ok {
		if ch.After, err = c.state(s.path); err != nil {
			return err
		}
	}
	c.change(ch)
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
func (c *comparison) created(before map[string]changeset.Kind, replaced map[string]bool) error {
	for i := 0; i < len(c.order); i++ {
		path := c.order[i]
		if _, ok := before[path]; ok && !replaced[path] {
			continue
		}
		dir, err := c.w.slotDirAt(filepath.Dir(path))
		if err != nil {
			return err
		}
		held := c.w.newSlot(dir)
		c.held[path] = c.w.slotPath(held)
		if err := c.new(path, replaced); err != nil {
			return err
		}
		o := op{kind: opPut, path: path, slot: held, id: c.now[path]}
		// What is below a new directory is new.
		for i+1 < len(c.order) && strings.HasPrefix(c.order[i+1], path+"/") {
			i++
			sub := c.order[i]
			c.held[sub] = c.held[path] + sub[len(path):]
			if err := c.new(sub, replaced); err != nil {
				return err
			}
			o.made = append(o.made, made{rel: sub[len(path)+1:], id: c.now[sub]})
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
	after, err := c.state(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	c.change(changeset.Change{Path: path, After: after})
	return nil
}
