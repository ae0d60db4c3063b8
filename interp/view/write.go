package view

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

// A view holds at most so many new entries, and so many bytes of new contents,
// over all steps of a job: a short document may ask for a tree that doubles with
// every step.
const (
	maxEntries = 300_000
	maxBytes   = 1 << 30
)

var errBudget = errors.New("the steps make more files, or larger ones, than may be made at once")

// spend takes a new entry off the budget.
func (v *View) spend(c *changeset.Content) error {
	v.entriesLeft--
	if c != nil {
		v.bytesLeft -= int64(len(c.Bytes))
	}
	if v.entriesLeft < 0 || v.bytesLeft < 0 {
		return errBudget
	}
	return nil
}

// maxName is how long, in bytes, a name may be on the file systems that matter.
const maxName = 255

var errNoRoot = errors.New("the directory above it does not exist; create it first or choose another root")

// entry is resolve for somebody who will create, replace or remove the entry.
func (v *View) entry(op, path string, follow bool) (place, error) {
	at, err := v.resolve(op, path, follow)
	if err != nil {
		return at, err
	}
	if len(at.name) > maxName {
		return at, fail(op, path, unix.ENAMETOOLONG)
	}
	if at.parent.synthetic {
		if at.node == nil {
			return at, fail(op, path, errNoRoot)
		}
		return at, fail(op, path, errors.New("is one of the package's root directories itself"))
	}
	return at, fail(op, path, v.mayChange(at.parent))
}

// mayChange refuses early what commit would be refused: changing the entries
// of a real directory that the process may not write.
func (v *View) mayChange(dir *node) error {
	b := dir.base
	if b == nil || dir.state.Mode != b.stamp.Perm() {
		return nil
	}
	if b.write == unknown {
		d, err := v.openBase(b)
		if err != nil {
			return err
		}
		err = unix.Faccessat(d.FD(), ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS)
		if err == unix.EROFS {
			return fmt.Errorf("change the directory %s: %w", b.path, err)
		}
		b.write = yes
		if err != nil {
			b.write = no
		}
	}
	if b.write == no && (v.opt.Denied == nil || !v.opt.Denied(b.path)) {
		return fmt.Errorf("no permission to change the directory %s", b.path)
	}
	return nil
}

// put makes n the entry at the place.
func (v *View) put(at place, n *node) {
	if at.node != nil {
		v.drop(at)
	}
	n.parent, n.name = at.parent, at.name
	n.mark(v.step)
	at.parent.kids[at.name] = n
}

// drop takes the entry away.
func (v *View) drop(at place) {
	v.recent = directory{}
	if b := at.node.base; b != nil {
		b.node, b.gone = nil, true
	}
	at.parent.kids[at.name] = nil
	at.parent.mark(v.step)
}

// inherit gives a new object the group of a set-group-id directory, as the
// kernel does on creation.
func inherit(dir *node, st *changeset.State) {
	if dir.state.Mode&changeset.SetGID != 0 {
		st.GID = dir.state.GID
		if st.Kind == changeset.Dir {
			st.Mode |= changeset.SetGID
		}
	}
}

func fresh(kind changeset.Kind, mode uint32) changeset.State {
	return changeset.State{Kind: kind, Mode: mode, UID: changeset.KeepOwner, GID: changeset.KeepOwner}
}

// Mkdir makes the directory path with mode perm less the umask. Something
// being there already, a link included, is EEXIST.
func (v *View) Mkdir(path string, perm uint32) error {
	at, err := v.resolve("create directory", path, false)
	if err != nil {
		return err
	}
	if at.node != nil {
		return fail("create directory", path, unix.EEXIST)
	}
	if at, err = v.entry("create directory", path, false); err != nil {
		return err
	}
	if err := v.spend(nil); err != nil {
		return fail("create directory", path, err)
	}
	n := &node{state: fresh(changeset.Dir, perm&^v.opt.Umask), kids: map[string]*node{}}
	inherit(at.parent, &n.state)
	v.put(at, n)
	return nil
}

// Symlink makes path a link with the text target. Something being there
// already is EEXIST. Where the link leads is for the judge.
func (v *View) Symlink(target, path string) error {
	at, err := v.entry("create symlink", path, false)
	if err != nil {
		return err
	}
	if at.node != nil {
		return fail("create symlink", path, unix.EEXIST)
	}
	if target == "" {
		return fail("create symlink", path, unix.ENOENT)
	}
	if err := v.spend(nil); err != nil {
		return fail("create symlink", path, err)
	}
	n := &node{state: fresh(changeset.Symlink, 0)}
	n.state.Target = target
	inherit(at.parent, &n.state)
	v.put(at, n)
	return nil
}

// Replace puts a new regular file with this content at path, as a rename onto
// it would: a link there is replaced, not followed; a directory is EISDIR. An
// existing regular file's mode (and owner, where the process can keep it) goes
// on; a new file gets perm less the umask.
func (v *View) Replace(path string, data []byte, perm uint32) error {
	return v.replace("write", path, false, &changeset.Content{Bytes: data}, int64(len(data)), perm)
}

// Write is Replace for a path whose links are followed, a dangling one too, as
// opening it for writing would.
func (v *View) Write(path string, data []byte, perm uint32) error {
	return v.replace("write", path, true, &changeset.Content{Bytes: data}, int64(len(data)), perm)
}

func (v *View) replace(op, path string, follow bool, c *changeset.Content, size int64, perm uint32) error {
	at, err := v.entry(op, path, follow)
	if err != nil {
		return err
	}
	if err := v.spend(c); err != nil {
		return fail(op, path, err)
	}
	n := &node{state: fresh(changeset.File, perm&^v.opt.Umask), content: c}
	n.state.Size = size
	inherit(at.parent, &n.state)
	if old := at.node; old != nil {
		switch old.state.Kind {
		case changeset.Dir:
			return fail(op, path, unix.EISDIR)
		case changeset.Other:
			return fail(op, path, errors.New("is neither a file, a directory nor a symlink"))
		case changeset.File:
			n.state.Mode = old.state.Mode
			if v.opt.KeepOwner {
				n.state.UID, n.state.GID = old.state.UID, old.state.GID
			}
		}
	}
	v.put(at, n)
	return nil
}

// CopyFile makes the file at dst have the bytes of the file at src, links in
// both followed. A new file gets src's mode less the umask, an existing one
// keeps its own.
func (v *View) CopyFile(src, dst string) error {
	at, err := v.resolve("copy", src, true)
	switch {
	case err != nil:
		return err
	case at.node == nil:
		return fail("copy", src, unix.ENOENT)
	case at.node.isDir():
		return fail("copy", src, unix.EISDIR)
	case !at.node.isFile():
		return fail("copy", src, errors.New("not a regular file"))
	}
	if err := v.mayRead(at.node); err != nil {
		return fail("copy", src, err)
	}
	return v.replace("copy to", dst, true, v.contentOf(at.node), at.node.state.Size, at.node.state.Mode&0o777)
}

// contentOf is what a second file with n's bytes has as its content.
func (v *View) contentOf(n *node) *changeset.Content {
	if n.content != nil {
		return n.content
	}
	return &changeset.Content{Origin: &changeset.Origin{Path: n.base.path, Stamp: n.base.stamp}}
}

func (v *View) mayRead(n *node) error {
	if n.content != nil && n.content.Origin == nil {
		return nil
	}
	path, _ := v.source(n)
	d, name, err := v.set.OpenParent(path)
	if err != nil {
		return moved(path, err)
	}
	if err := unix.Faccessat(d.FD(), name, unix.R_OK, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	return nil
}

// Remove takes away the file, link or empty directory at path.
func (v *View) Remove(path string) error {
	at, err := v.entry("remove", path, false)
	if err != nil {
		return err
	}
	if at.node == nil {
		return fail("remove", path, unix.ENOENT)
	}
	if at.node.isDir() {
		names, err := v.names(at.node)
		if err != nil {
			return fail("remove", path, err)
		}
		if len(names) > 0 {
			return fail("remove", path, unix.ENOTEMPTY)
		}
	}
	v.drop(at)
	return nil
}

// RemoveAll takes away whatever is at path with all that is below it; a link is
// removed, not followed. Nothing being there is no error.
func (v *View) RemoveAll(path string) error {
	at, err := v.resolve("remove", path, false)
	if IsAbsent(err) || err == nil && at.node == nil {
		return nil
	}
	if err == nil { // what was found stays found, what could not be looked at may be gone by now
		at, err = v.entry("remove", path, false)
	}
	if err != nil {
		return err
	}
	v.drop(at)
	return nil
}

// Rename moves the entry at from to to, as rename(2) does.
func (v *View) Rename(from, to string) error {
	src, err := v.entry("move", from, false)
	if err != nil {
		return err
	}
	if src.node == nil {
		return fail("move", from, unix.ENOENT)
	}
	dst, err := v.entry("move to", to, false)
	if err != nil {
		return err
	}
	if dst.node == src.node {
		return nil
	}
	n := src.node
	switch {
	case n.isDir() && dst.parent.within(n):
		return fail("move to", to, unix.EINVAL)
	case dst.node == nil:
	case n.isDir() && !dst.node.isDir():
		return fail("move to", to, unix.ENOTDIR)
	case !n.isDir() && dst.node.isDir():
		return fail("move to", to, unix.EISDIR)
	case n.isDir():
		names, err := v.names(dst.node)
		if err != nil {
			return fail("move to", to, err)
		}
		if len(names) > 0 {
			return fail("move to", to, unix.ENOTEMPTY)
		}
	}
	if !n.allOn(device(dst.parent)) {
		// No rename between file systems: a copy, and the original removed.
		if n, err = v.duplicate(n); err != nil {
			return fail("move", from, err)
		}
		v.drop(src)
		v.put(dst, n)
		return nil
	}
	v.recent = directory{}
	src.parent.kids[src.name] = nil
	src.parent.mark(v.step)
	v.put(dst, n)
	return nil
}

// allOn reports whether every real object in n is on the file system dev. What
// was not looked at is where the directory that it is in is.
func (n *node) allOn(dev uint64) bool {
	if n.base != nil && n.base.stamp.Dev != dev {
		return false
	}
	for _, kid := range n.kids {
		if kid != nil && !kid.allOn(dev) {
			return false
		}
	}
	return true
}

// device is the file system that new entries of the directory n will be on.
func device(n *node) uint64 {
	for n.base == nil {
		n = n.parent
	}
	return n.base.stamp.Dev
}

// duplicate copies n and everything below it, in the picture.
func (v *View) duplicate(n *node) (*node, error) {
	if err := v.spend(nil); err != nil {
		return nil, err
	}
	c := &node{name: n.name, state: n.state}
	switch n.state.Kind {
	case changeset.File:
		c.content = v.contentOf(n)
		c.state.SHA256 = ""
	case changeset.Dir:
		c.kids = map[string]*node{}
		names, err := v.names(n)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			kid, err := v.child(n, name)
			if err != nil {
				return nil, err
			}
			if kid, err = v.duplicate(kid); err != nil {
				return nil, err
			}
			kid.parent = c
			kid.mark(v.step)
			c.kids[name] = kid
		}
	case changeset.Other:
		return nil, fmt.Errorf("%s: is neither a file, a directory nor a symlink", filepath.Join(n.path()))
	}
	if !v.opt.KeepOwner {
		c.state.UID, c.state.GID = changeset.KeepOwner, changeset.KeepOwner
	}
	return c, nil
}

// Chmod sets the mode of what is at path, links followed.
func (v *View) Chmod(path string, mode uint32) error {
	return v.modify("set the mode of", path, true, func(st *changeset.State) { st.Mode = mode & changeset.PermMask })
}

// Chown sets owner and group of what is at path, not following a link there
// unless follow is set. An id of [changeset.KeepOwner] stays.
func (v *View) Chown(path string, uid, gid int, follow bool) error {
	return v.modify("set the owner of", path, follow, func(st *changeset.State) {
		if uid != changeset.KeepOwner {
			st.UID = uid
		}
		if gid != changeset.KeepOwner {
			st.GID = gid
		}
	})
}

// Touch sets the modification time of what is at path, links followed, to now.
func (v *View) Touch(path string) error {
	return v.modify("touch", path, true, func(st *changeset.State) { st.MTime = v.opt.Now })
}

func (v *View) modify(op, path string, follow bool, f func(*changeset.State)) error {
	at, err := v.resolve(op, path, follow)
	if err != nil {
		return err
	}
	if at.node == nil {
		return fail(op, path, unix.ENOENT)
	}
	if at.node.synthetic {
		return fail(op, path, ErrOutside)
	}
	n := at.node
	if n.base != nil && n.isFile() && n.base.stamp.Nlink > 1 && n.content == nil {
		// A file with other names: those are not to change with this one, so it
		// becomes a file of its own.
		if err := v.mayRead(n); err != nil {
			return fail(op, path, err)
		}
		if at, err = v.entry(op, at.node.path(), false); err != nil {
			return err
		}
		n = &node{state: n.state, content: v.contentOf(n)}
		if !v.opt.KeepOwner {
			n.state.UID, n.state.GID = changeset.KeepOwner, changeset.KeepOwner
		}
		v.put(at, n)
	}
	f(&n.state)
	n.mark(v.step)
	return nil
}
