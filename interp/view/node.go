package view

import (
	"slices"
	"strings"

	"steps.example/interp/changeset"
)

// base is a real object as it was first seen. Bases form a lazily loaded mirror
// of the real tree that never changes; nodes say where they are now.
type base struct {
	parent *base
	name   string
	path   string // physical
	stamp  changeset.Stamp
	target string // of a symlink
	kids   map[string]*base
	names  []string // of a directory, once listed
	listed bool
	write  writable
	node   *node // who stands for it now; nil when it was removed or not touched
	gone   bool  // removed
}

type writable byte

const (
	unknown writable = iota
	yes
	no
)

// node is an entry of the picture: a real object (base set), wherever it is
// now, or a new one (base nil).
type node struct {
	parent *node
	name   string
	base   *base
	state  changeset.State
	// content is set when the bytes are not those of base.
	content *changeset.Content
	// kids holds the children that were looked at; a nil value means that there
	// is none of that name. Real children not in it are as they were.
	kids map[string]*node
	// synthetic marks the directories above the roots, which are not real here.
	synthetic bool
	steps     []int
}

func (n *node) isDir() bool     { return n.state.Kind == changeset.Dir }
func (n *node) isFile() bool    { return n.state.Kind == changeset.File }
func (n *node) isSymlink() bool { return n.state.Kind == changeset.Symlink }

// path is where the node is now.
func (n *node) path() string {
	if n.parent == nil || n.parent == n {
		return "/"
	}
	var parts []string
	for ; n.parent != nil && n.parent != n; n = n.parent {
		parts = append(parts, n.name)
	}
	slices.Reverse(parts)
	return "/" + strings.Join(parts, "/")
}

// within reports whether n is o or below it.
func (n *node) within(o *node) bool {
	for ; ; n = n.parent {
		if n == o {
			return true
		}
		if n.parent == nil || n.parent == n {
			return false
		}
	}
}

// mark notes that step had a part in what n is.
func (n *node) mark(step int) {
	if step > 0 && (len(n.steps) == 0 || n.steps[len(n.steps)-1] != step) {
		n.steps = append(n.steps, step)
	}
}

// relocated reports whether the real object is still part of the picture but
// at another path, itself or by a directory above it.
func (b *base) relocated() bool {
	for x := b; x != nil; x = x.parent {
		if x.node != nil {
			return x.node.path() != x.path
		}
		if x.gone {
			return false
		}
	}
	return false
}
