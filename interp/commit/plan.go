package commit

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

// node is a change with what it means for the objects involved. "Comes" and
// "gone" are about objects: a path may lose one and get another.
type node struct {
	c    *changeset.Change
	up   int   // the change at the directory that holds the path, or -1
	kids []int // changes directly below
	to   int   // where the object that is gone goes, or -1: it is kept for undo
	from int   // where the object that comes is from, or -1: it is new

	gone, comes bool
	// takes and puts: the object does not travel with the directory it is in.
	takes, puts bool
	swaps       bool
	takeSlot    slot
	putSlot     slot
	stage       string          // path of a new object below its slot directory
	id          changeset.Stamp // of a new object, once staged
}

func (n *node) stays() bool { return n.c.Before != nil && !n.gone }

// plan is a changeset in tree order: every path right before what is below it.
type plan struct {
	nodes []node
}

var errChangeset = errors.New("impossible changeset")

func impossible(path, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", errChangeset, path, fmt.Sprintf(format, args...))
}

// treeOrder compares paths so that what is below a path follows it directly.
func treeOrder(a, b string) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if x, y := a[i], b[i]; x != y {
			if x == '/' {
				return -1
			}
			if y == '/' {
				return 1
			}
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}

// newPlan works out what a changeset does to objects. It does no I/O.
//
// A change whose From is its own path is of an object that stays where it is by
// name, though the directory that held it goes away and another comes.
func newPlan(cs *changeset.Changeset) (*plan, error) {
	p := &plan{nodes: make([]node, len(cs.Changes))}
	for i := range cs.Changes {
		p.nodes[i] = node{c: &cs.Changes[i], up: -1, to: -1, from: -1}
	}
	byPath := func(a, b node) int { return treeOrder(a.c.Path, b.c.Path) }
	if !slices.IsSortedFunc(p.nodes, byPath) {
		slices.SortFunc(p.nodes, byPath)
	}
	moves := false
	for i := range p.nodes {
		c := p.nodes[i].c
		if err := checkChange(c); err != nil {
			return nil, err
		}
		if i > 0 && p.nodes[i-1].c.Path == c.Path {
			return nil, impossible(c.Path, "occurs twice")
		}
		moves = moves || c.From != ""
	}
	if moves {
		if err := p.link(); err != nil {
			return nil, err
		}
	}
	return p, p.resolve()
}

func checkChange(c *changeset.Change) error {
	switch {
	case !cleanAbs(c.Path):
		return impossible(c.Path, "is not a clean absolute path")
	case c.Before == nil && c.After == nil:
		return impossible(c.Path, "nothing before and nothing after")
	case (c.Before == nil) != (c.Stamp == nil):
		return impossible(c.Path, "a stamp goes with what was there before")
	case c.Stamp != nil && c.Stamp.Kind() != c.Before.Kind:
		return impossible(c.Path, "the stamp is of a %s, not of a %s", c.Stamp.Kind(), c.Before.Kind)
	case c.From != "" && c.After == nil:
		return impossible(c.Path, "moved from %s and yet not there", c.From)
	case c.After == nil:
		return nil
	case c.After.Mode&^changeset.PermMask != 0:
		return impossible(c.Path, "mode %o", c.After.Mode)
	case c.From == "" && c.After.Kind == changeset.Symlink && c.After.Target == "":
		return impossible(c.Path, "a symlink to nothing")
	}
	return nil
}

// link ties both ends of every move.
func (p *plan) link() error {
	index := make(map[string]int, len(p.nodes))
	for i := range p.nodes {
		index[p.nodes[i].c.Path] = i
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.c.From == "" {
			continue
		}
		f, ok := index[n.c.From]
		switch {
		case !ok || p.nodes[f].c.Before == nil:
			return impossible(n.c.Path, "moved from %s, where nothing was", n.c.From)
		case p.nodes[f].to >= 0:
			return impossible(n.c.From, "moved to both %s and %s", p.nodes[p.nodes[f].to].c.Path, n.c.Path)
		case p.nodes[f].c.Before.Kind != n.c.After.Kind:
			return impossible(n.c.Path, "a %s moved from a %s", n.c.After.Kind, p.nodes[f].c.Before.Kind)
		}
		p.nodes[f].to, n.from = i, f
	}
	p.joinHardLinks(index)
	return nil
}

// joinHardLinks takes out moves of an object onto another name of the same
// object: nothing changes at that name, and where each of the two is could not
// be told apart later. What leaves that name leaves the first one instead.
func (p *plan) joinHardLinks(index map[string]int) {
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.from < 0 || n.from == i || n.c.Stamp == nil || !n.c.Stamp.SameObject(*p.nodes[n.from].c.Stamp) {
			continue
		}
		// The name itself goes away where its directory does.
		if k, ok := index[filepath.Dir(n.c.Path)]; ok && !p.nodes[k].c.KeepsObject() {
			continue
		}
		f, to := n.from, n.to
		n.from, n.to = -1, -1
		p.nodes[f].to = -1
		if to >= 0 && to != f {
			p.nodes[f].to, p.nodes[to].from = to, f
		}
		if to == f {
			p.nodes[f].from = -1
		}
	}
}

// resolve finds, parents first, which objects go and come, and which of them
// travel with their directory.
func (p *plan) resolve() error {
	var above []int // the changes at directories above the present path
	for i := range p.nodes {
		n := &p.nodes[i]
		path := n.c.Path
		for len(above) > 0 && !strings.HasPrefix(path, p.nodes[above[len(above)-1]].c.Path+"/") {
			above = above[:len(above)-1]
		}
		n.gone = n.c.Before != nil && (n.c.After == nil || n.to >= 0 || n.from >= 0 || !p.keepsObject(n))
		if len(above) > 0 {
			k := above[len(above)-1]
			a := &p.nodes[k]
			if len(a.c.Path) == strings.LastIndexByte(path, '/') {
				n.up = k
				a.kids = append(a.kids, i)
			} else if a.gone || a.comes {
				return impossible(path, "%s changes, but nothing in between", a.c.Path)
			}
			if n.up >= 0 && a.gone {
				n.gone = n.c.Before != nil
			}
			if n.c.Before != nil && (a.c.Before == nil || a.c.Before.Kind != changeset.Dir) {
				return impossible(path, "was below %s, which was no directory", a.c.Path)
			}
			if n.c.After != nil && (a.c.After == nil || a.c.After.Kind != changeset.Dir) {
				return impossible(path, "will be below %s, which will be no directory", a.c.Path)
			}
		}
		n.comes = n.c.After != nil && !n.stays()
		if n.comes && n.from < 0 {
			if err := checkNew(n.c); err != nil {
				return err
			}
		}
		above = append(above, i)
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		n.takes = n.gone && !(n.up >= 0 && p.nodes[n.up].gone && p.together(n.to, p.nodes[n.up].to, n))
		n.puts = n.comes && !(n.up >= 0 && p.nodes[n.up].comes && p.together(n.from, p.nodes[n.up].from, n))
		if n.gone && !n.takes && n.c.Stamp.Dev != p.nodes[n.up].c.Stamp.Dev {
			return fmt.Errorf("%s is on another file system than the directory that goes away: %w", n.c.Path, unix.EXDEV)
		}
	}
	return nil
}

// keepsObject is [changeset.Change.KeepsObject] for a change whose move may
// have been taken out.
func (p *plan) keepsObject(n *node) bool {
	return n.c.KeepsObject() || n.c.From != "" && n.from < 0
}

// together reports whether n, whose object has its other end at node other (-1:
// none), travels with its directory, whose other end is at dir.
func (p *plan) together(other, dir int, n *node) bool {
	if other < 0 || dir < 0 {
		return other < 0 && dir < 0
	}
	return p.nodes[other].up == dir && filepath.Base(p.nodes[other].c.Path) == filepath.Base(n.c.Path)
}

// checkNew makes sure that a new object can be made.
func checkNew(c *changeset.Change) error {
	switch c.After.Kind {
	case changeset.Dir, changeset.Symlink:
		return nil
	case changeset.File:
		if c.Content == nil && c.After.Size != 0 {
			return impossible(c.Path, "a new file without content")
		}
		return nil
	}
	return impossible(c.Path, "a new object of kind %q", c.After.Kind)
}

// below yields node i and all below it.
func (p *plan) below(i int) []node {
	path := p.nodes[i].c.Path + "/"
	end := i + 1
	for end < len(p.nodes) && strings.HasPrefix(p.nodes[end].c.Path, path) {
		end++
	}
	return p.nodes[i:end]
}
