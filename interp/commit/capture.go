package commit

import (
	"errors"
	"fmt"
	"path/filepath"

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
		return nil, tx.fail(errors.New("capture: no snapshot was made"))
	}
	got, err := tx.w.captureAndRestore()
	if err != nil {
		return nil, tx.fail(fmt.Errorf("capture: %w", err))
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
		if blocked, ok := errors.AsType[*BlockedError](err); ok {
			err = blocked.first() // rolling back tries once more
		}
		return err
	}
	if err := w.log.add(func(e enc) enc { return append(e, recRestored) }); err != nil {
		return err
	}
	// The next segment's intent makes that durable, or what ends the transaction. Until
	// then it would be taken back once more, which changes nothing.
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
	// The journal is about to tell of files in the version that the command left,
	// and nothing else has made that durable.
	if err := w.syncSlots(0, 1); err != nil {
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
			c.w.disk.between("taken back and stamped", unix.AT_FDCWD, ch.Path)
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
			c.w.disk.between("set aside and stamped", unix.AT_FDCWD, at)
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
