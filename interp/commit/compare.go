package commit

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

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
	// Another name of it may have been set aside, or opened up, since.
	c.w.disk.between("surveyed and hashed", unix.AT_FDCWD, path)
	now, err := c.w.set.Lstat(path)
	if err != nil {
		return "", err
	}
	if !sameVersion(now, *st) {
		return "", moved(path, "it was written to after the command had ended")
	}
	*st = now
	f, err := c.w.openFile(c.w.set, path, st, true)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return c.w.hashOpen(f, path, *st)
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
	// An equal file or link that the command made, or has another name of, is
	// not left in the tree either.
	named := st.Kind() == changeset.File || st.Kind() == changeset.Symlink
	theirs := named && (!s.id.SameObject(st) || st.Nlink > s.id.Nlink)
	if !same || theirs {
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
