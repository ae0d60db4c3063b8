package view

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"steps.example/interp/changeset"
)

// Changes is the net difference between the real tree as it was seen and the
// picture. What ended as it began is not in it, even if a step rewrote it.
func (v *View) Changes() (*changeset.Changeset, error) {
	v.remade = nil
	d := differ{v: v, cs: &changeset.Changeset{}}
	for _, root := range v.roots {
		if err := d.diff(root.base.path, root.base, root); err != nil {
			return nil, err
		}
	}
	d.cs.Sort()
	return d.cs, nil
}

// Remade are the physical paths of the files and links that steps made anew and
// that were there, equal, before. It is valid after [View.Changes].
func (v *View) Remade() []string { return v.remade }

type differ struct {
	v  *View
	cs *changeset.Changeset
	// orphan holds the steps that emptied a directory, for the deletions in it.
	orphan []int
}

// diff compares the real object b and the node n, either of which may be nil,
// that are at path before and after.
func (d *differ) diff(path string, b *base, n *node) error {
	switch {
	case b == nil && n == nil:
		return nil
	case n == nil:
		return d.deleted(path, b)
	case b == nil:
		return d.created(path, nil, n)
	case n.base == b:
		return d.kept(path, b, n)
	case n.base == nil && n.isDir() && b.stamp.Kind() == changeset.Dir && !b.relocated():
		// Removed and made again: in the net, the directory stayed.
		d.modified(path, b, n)
		return d.merge(path, b, n)
	}
	if n.base == nil && n.state.Kind == b.stamp.Kind() && !b.relocated() {
		same, err := d.equal(b, n)
		if err != nil {
			return err
		}
		// A file with other names stays if nothing changes; its attributes are
		// those of the other names too, and are not set through this one.
		if same && (b.stamp.Nlink <= 1 || n.state.Mode == b.stamp.Perm() && n.state.SameOwner(b.state()) || !n.isFile()) {
			d.modified(path, b, n)
			d.v.remade = append(d.v.remade, path)
			return nil
		}
	}
	return d.created(path, b, n)
}

func (d *differ) equal(b *base, n *node) (bool, error) {
	switch n.state.Kind {
	case changeset.Symlink:
		return b.target == n.state.Target, nil
	case changeset.File:
		return d.v.sameContent(n, b)
	}
	return false, nil
}

// kept handles an object that is where it was.
func (d *differ) kept(path string, b *base, n *node) error {
	d.modified(path, b, n)
	old := d.orphan
	d.orphan = n.steps
	defer func() { d.orphan = old }()
	for name, kid := range n.kids {
		if err := d.diff(filepath.Join(path, name), b.kids[name], kid); err != nil {
			return err
		}
	}
	return nil
}

// modified records a change of attributes, if there is one.
func (d *differ) modified(path string, b *base, n *node) {
	before := b.state()
	after := n.state
	after.Size = before.Size
	if after.UID == changeset.KeepOwner {
		after.UID = before.UID
	}
	if after.GID == changeset.KeepOwner {
		after.GID = before.GID
	}
	if after.MTime != 0 {
		before.MTime = b.stamp.MTime
	}
	if after == *before {
		return
	}
	d.add(changeset.Change{Path: path, Before: before, After: &after, Stamp: &b.stamp, Steps: n.steps})
}

// merge compares a real directory and a new one in its place.
func (d *differ) merge(path string, b *base, n *node) error {
	names, err := d.v.baseNames(b)
	if err != nil {
		return err
	}
	old := d.orphan
	d.orphan = n.steps
	defer func() { d.orphan = old }()
	for _, name := range names {
		kid, err := d.v.baseKid(b, name)
		if err != nil {
			return err
		}
		if err := d.diff(filepath.Join(path, name), kid, n.kids[name]); err != nil {
			return err
		}
	}
	for name, kid := range n.kids {
		if b.kids[name] == nil && kid != nil {
			if err := d.created(filepath.Join(path, name), nil, kid); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *differ) deleted(path string, b *base) error {
	d.add(changeset.Change{Path: path, Before: b.state(), Stamp: &b.stamp, Steps: d.orphan})
	if b.stamp.Kind() != changeset.Dir {
		return nil
	}
	names, err := d.v.baseNames(b)
	if err != nil {
		return err
	}
	for _, name := range names {
		kid, err := d.v.baseKid(b, name)
		if err != nil {
			return err
		}
		if err := d.deleted(filepath.Join(path, name), kid); err != nil {
			return err
		}
	}
	return nil
}

// created records n at path, in the place of b if that is not nil.
func (d *differ) created(path string, b *base, n *node) error {
	c := changeset.Change{Path: path, After: d.after(n), Content: n.content, Steps: n.steps}
	if n.base != nil {
		c.From = n.base.path
		if n.content == nil {
			c.After.Size = n.base.stamp.Size
		}
	}
	if n.content != nil && n.content.Origin != nil {
		c.Origin = n.content.Origin.Path
	}
	if b != nil {
		c.Before, c.Stamp = b.state(), &b.stamp
	}
	d.add(c)

	old := d.orphan
	d.orphan = n.steps
	defer func() { d.orphan = old }()
	var kids map[string]*node
	if n.isDir() {
		names, err := d.v.names(n)
		if err != nil {
			return err
		}
		kids = make(map[string]*node, len(names))
		for _, name := range names {
			if kids[name], err = d.v.child(n, name); err != nil {
				return err
			}
			if len(kids[name].steps) == 0 {
				kids[name].steps = n.steps
			}
		}
	}
	if b != nil && b.stamp.Kind() == changeset.Dir {
		names, err := d.v.baseNames(b)
		if err != nil {
			return err
		}
		for _, name := range names {
			kid, err := d.v.baseKid(b, name)
			if err != nil {
				return err
			}
			if n := kids[name]; n != nil {
				delete(kids, name)
				if err := d.created(filepath.Join(path, name), kid, n); err != nil {
					return err
				}
			} else if err := d.deleted(filepath.Join(path, name), kid); err != nil {
				return err
			}
		}
	}
	for name, kid := range kids {
		if err := d.created(filepath.Join(path, name), nil, kid); err != nil {
			return err
		}
	}
	return nil
}

func (d *differ) after(n *node) *changeset.State {
	st := n.state
	if n.isFile() && n.content != nil && n.content.Origin == nil {
		sum := sha256.Sum256(n.content.Bytes)
		st.SHA256 = hex.EncodeToString(sum[:])
	}
	return &st
}

func (d *differ) add(c changeset.Change) {
	d.cs.Changes = append(d.cs.Changes, c)
}

// state is what b was before anything happened.
func (b *base) state() *changeset.State {
	st := b.stamp.State()
	st.Target = b.target
	return st
}
