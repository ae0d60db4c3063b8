package commit

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

// program is a plan's operations in the order they are carried out:
//
//  1. modes of directories that must be writable, parents first
//  2. what goes away or moves is taken, deepest first
//  3. what is new or moved is put to its place, parents first
//  4. all other attributes, deepest first
//
// node has, for each operation, the change it is for.
type program struct {
	ops  []op
	node []int
}

func (g *program) add(i int, o op) {
	g.ops = append(g.ops, o)
	g.node = append(g.node, i)
}

// inspect compares the tree with what the changeset says was there, and finds a
// slot for every object that goes or comes. It changes nothing in the tree.
func (w *work) inspect(p *plan) error {
	for i := range p.nodes {
		n := &p.nodes[i]
		if err := w.expect(p, n); err != nil {
			return err
		}
		if n.takes || !n.gone {
			dir, err := w.slotDirFor(p, n)
			if err != nil {
				return err
			}
			n.takeSlot.dir, n.putSlot.dir = dir, dir
		} else {
			n.takeSlot.dir = p.nodes[n.up].takeSlot.dir
		}
		if n.takes {
			n.takeSlot = w.newSlot(n.takeSlot.dir)
		}
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		if !n.comes {
			continue
		}
		if n.up >= 0 && p.nodes[n.up].comes {
			n.putSlot.dir = p.nodes[n.up].putSlot.dir
		}
		if err := w.givePutSlot(p, n); err != nil {
			return err
		}
	}
	return nil
}

// slotDirFor is the slot directory on the mount that holds a path.
func (w *work) slotDirFor(p *plan, n *node) (int, error) {
	if n.c.Before == nil && n.up >= 0 && !p.nodes[n.up].stays() {
		return 0, nil // its directory is yet to come
	}
	at := filepath.Dir(n.c.Path)
	for _, r := range w.set.Roots() {
		if r.Path == n.c.Path {
			at = n.c.Path
		}
	}
	dir, err := w.slotDirAt(at)
	if err != nil {
		return 0, w.lookup(n.c.Path, err)
	}
	return dir, nil
}

func (w *work) givePutSlot(p *plan, n *node) error {
	switch {
	case n.from >= 0:
		f := &p.nodes[n.from]
		if f.takeSlot.dir != n.putSlot.dir {
			return fmt.Errorf("move %s to %s: they are on different file systems, and moves are never copies: %w",
				f.c.Path, n.c.Path, unix.EXDEV)
		}
		n.putSlot = f.takeSlot
	case n.puts:
		if n.gone && n.takes && n.to < 0 && n.c.Before.Kind != changeset.Dir && n.c.After.Kind != changeset.Dir &&
			(n.up < 0 || p.nodes[n.up].stays()) {
			var err error
			if n.swaps, err = w.canSwap(n.putSlot.dir); err != nil {
				return err
			}
		}
		if n.swaps {
			n.putSlot = n.takeSlot
		} else {
			n.putSlot = w.newSlot(n.putSlot.dir)
		}
	}
	return nil
}

// expect makes sure that the tree has at n's path what it should.
func (w *work) expect(p *plan, n *node) error {
	if n.c.Before == nil && n.up >= 0 && !p.nodes[n.up].stays() {
		return nil
	}
	st, err := w.set.Lstat(n.c.Path)
	if n.c.Before == nil {
		if err == nil {
			return moved(n.c.Path, "something is there now")
		}
		if errors.Is(err, unix.ENOENT) {
			return nil // its directory, if missing, shows when a slot is looked for
		}
		return w.lookup(n.c.Path, err)
	}
	if err != nil {
		return w.lookup(n.c.Path, err)
	}
	if !st.Unchanged(*n.c.Stamp) {
		return moved(n.c.Path, "it is another object, or was written to")
	}
	return nil
}

// build makes the operations of a plan whose new objects are staged.
func (p *plan) build() *program {
	g := &program{}
	for i := range p.nodes {
		if mode, ok := p.early(i); ok {
			n := &p.nodes[i]
			to := attrs{set: hasMode, mode: mode}
			g.add(i, op{kind: opAttr, path: n.c.Path, id: *n.c.Stamp, old: attrsOf(*n.c.Stamp, hasMode), new: to})
		}
	}
	for i := len(p.nodes) - 1; i >= 0; i-- {
		n := &p.nodes[i]
		if !n.takes || n.swaps {
			continue
		}
		o := op{kind: opTake, path: n.c.Path, slot: n.takeSlot, id: *n.c.Stamp}
		if n.to >= 0 {
			o.moves = p.nodes[n.to].c.Path
		}
		g.add(i, o)
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		switch {
		case !n.puts:
		case n.swaps:
			g.add(i, op{kind: opSwap, path: n.c.Path, slot: n.putSlot, id: n.id, was: *n.c.Stamp})
		case n.from >= 0:
			f := p.nodes[n.from].c
			g.add(i, op{kind: opPut, path: n.c.Path, slot: n.putSlot, id: *f.Stamp, moves: f.Path})
		default:
			g.add(i, op{kind: opPut, path: n.c.Path, slot: n.putSlot, id: n.id, made: p.made(i)})
		}
	}
	for i := len(p.nodes) - 1; i >= 0; i-- {
		n := &p.nodes[i]
		if n.c.After == nil {
			continue
		}
		st := n.id
		switch {
		case n.stays():
			st = *n.c.Stamp
		case n.from >= 0:
			st = *p.nodes[n.from].c.Stamp
		}
		if o, ok := p.late(i, st); ok {
			g.add(i, o)
		}
	}
	return g
}

// made lists what was staged below the new directory i.
func (p *plan) made(i int) []made {
	var list []made
	for k := range p.below(i)[1:] {
		n := &p.nodes[i+1+k]
		if n.comes && n.from < 0 && !n.puts && n.putSlot == p.nodes[i].putSlot {
			list = append(list, made{rel: n.c.Path[len(p.nodes[i].c.Path)+1:], id: n.id})
		}
	}
	return list
}

const writable = 0o300 // for its owner, a directory's entries

// early gives the mode that directory i must have before anything is moved: an
// owner needs write permission to move a directory itself and what is in it.
func (p *plan) early(i int) (uint32, bool) {
	n := &p.nodes[i]
	if n.c.Before == nil || n.c.Before.Kind != changeset.Dir || n.c.Stamp.Perm()&writable == writable {
		return 0, false
	}
	if n.stays() {
		return n.c.After.Mode, n.c.After.Mode&writable == writable
	}
	need := n.takes
	for _, k := range n.kids {
		need = need || p.nodes[k].takes || p.nodes[k].puts
	}
	return n.c.Stamp.Perm() | 0o700, need
}

// late makes the operation that gives the object st at node i's path what it
// still lacks of its state.
func (p *plan) late(i int, st changeset.Stamp) (op, bool) {
	n := &p.nodes[i]
	have := st
	switch {
	case n.stays():
		if mode, ok := p.early(i); ok {
			have.Mode = have.Mode&^changeset.PermMask | mode
		}
	case n.from >= 0:
		if mode, ok := p.early(n.from); ok {
			have.Mode = have.Mode&^changeset.PermMask | mode
		}
	}
	a := wanted(have, n.c.After, n.c.After.Mode, n.c.After.MTime)
	if a.set == 0 {
		return op{}, false
	}
	old := attrsOf(have, a.set)
	if a.set&hasOwner != 0 {
		// "As it is" has to be told from a change when it is taken back.
		if a.uid < 0 {
			a.uid = old.uid
		}
		if a.gid < 0 {
			a.gid = old.gid
		}
	}
	return op{kind: opAttr, path: n.c.Path, id: st, old: old, new: a}, true
}

// verifyTaken compares a directory that was taken whole with the changeset:
// everything in it must be known, and as it was looked at.
func (w *work) verifyTaken(p *plan, i int) error {
	root := &p.nodes[i]
	known := map[string]*node{}
	for k := range p.below(i) {
		n := &p.nodes[i+k]
		if k > 0 && n.gone && !n.takes && p.travelsIn(i+k, i) {
			known[n.c.Path[len(root.c.Path)+1:]] = n
		}
	}
	slots, name := w.at(root.takeSlot)
	w.disk.between("taken and checked", slots, name)
	fd, err := unix.Openat(slots, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	found := 0
	err = w.disk.walk(fd, "", func(rel string, st changeset.Stamp) error {
		n, ok := known[rel]
		if !ok {
			return moved(root.c.Path+"/"+rel, "it appeared in a directory that goes away")
		}
		if !sameVersion(st, *n.c.Stamp) {
			return moved(n.c.Path, "it is another object, or was written to")
		}
		found++
		return nil
	})
	if err == nil && found != len(known) {
		err = moved(root.c.Path, "something in it went away")
	}
	return err
}

// travelsIn reports whether the object of node k leaves inside the one of i.
func (p *plan) travelsIn(k, i int) bool {
	for ; k >= 0 && !p.nodes[k].takes; k = p.nodes[k].up {
	}
	return k == i
}

// carryOut runs the program, which is the last segment, and counts in the
// segment what it ran.
func (w *work) carryOut(p *plan, g *program) error {
	seg := &w.segments[len(w.segments)-1]
	for k := range g.ops {
		o := &g.ops[k]
		if err := w.stopped(); err != nil {
			return err
		}
		seg.ran = k + 1
		if err := w.forward(o); err != nil {
			if _, full, slotErr := w.inSlot(o.slot); o.kind == opTake && slotErr == nil && !full {
				seg.ran = k
			}
			return err
		}
		if o.kind == opTake && o.id.Kind() == changeset.Dir {
			if err := w.verifyTaken(p, g.node[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// logProgram writes the operations to the journal.
func (w *work) logProgram(g *program) error {
	for k := range g.ops {
		o := &g.ops[k]
		if err := w.log.add(func(e enc) enc { return e.op(o) }); err != nil {
			return err
		}
		for m := range o.made {
			err := w.log.add(func(e enc) enc { return append(e, recMade).s(o.made[m].rel).stamp(o.made[m].id) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}
