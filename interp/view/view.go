package view

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// View is the picture. It keeps descriptors open in the Set it was made with,
// which stays the caller's.
type View struct {
	set  *fsroot.Set
	top  *node
	step int
	opt  Options
	// entriesLeft and bytesLeft are what is left of the budget.
	entriesLeft int
	bytesLeft   int64
	// recent is valid until an entry is taken away.
	recent directory
	// roots are the nodes of the real roots, in path order.
	roots []*node
	// remade is what the last [View.Changes] found equal.
	remade []string
}

// Options are facts about the process that will commit.
type Options struct {
	// Umask applies to whatever is created, as the kernel would.
	Umask uint32
	// KeepOwner: a file that is replaced keeps its owner and group (the
	// committing process has the privilege to do so).
	KeepOwner bool
	// Missing lists roots that do not exist: nothing is there, and nothing can
	// be made there.
	Missing []string
	// Now is the time, in nanoseconds since 1970, that touch sets.
	Now int64
	// Denied is asked about a real directory whose entries the process may not change,
	// by its physical path: true lets them be changed in the view all the same, since
	// somebody else will do it. Nil is false.
	Denied func(dir string) bool
}

// New pictures the tree below the roots of set.
func New(set *fsroot.Set, opt Options) (*View, error) {
	v := &View{set: set, opt: opt, entriesLeft: maxEntries, bytesLeft: maxBytes}
	v.top = &node{synthetic: true, state: changeset.State{Kind: changeset.Dir, Mode: 0o755}, kids: map[string]*node{}}
	v.top.parent = v.top
	roots := slices.Clone(set.Roots())
	slices.SortFunc(roots, func(a, b *fsroot.Root) int { return cmp.Compare(a.Path, b.Path) })
	for _, r := range roots {
		if !v.inRoot(r.Path) {
			stamp, err := set.Lstat(r.Path)
			if err != nil {
				return nil, err
			}
			parent := v.synthesize(filepath.Dir(r.Path))
			b := &base{name: filepath.Base(r.Path), path: r.Path, stamp: stamp, kids: map[string]*base{}}
			n := v.nodeOf(b, parent)
			parent.kids[n.name] = n
			v.roots = append(v.roots, n)
		}
	}
	for _, r := range roots {
		if r.Spelled != r.Path && !v.inRoot(r.Spelled) {
			// The way to a root that the caller spelled through links.
			parent := v.synthesize(filepath.Dir(r.Spelled))
			if parent != nil && parent.kids[filepath.Base(r.Spelled)] == nil {
				v.synthetic(parent, filepath.Base(r.Spelled), changeset.State{Kind: changeset.Symlink, Target: r.Path})
			}
		}
	}
	for _, m := range opt.Missing {
		if m = filepath.Clean(m); !v.inRoot(m) {
			if parent := v.synthesize(filepath.Dir(m)); parent != nil {
				if _, ok := parent.kids[filepath.Base(m)]; !ok {
					parent.kids[filepath.Base(m)] = nil
				}
			}
		}
	}
	return v, nil
}

// SetStep tells which step, from 1, the following writes belong to.
func (v *View) SetStep(n int) { v.step = n }

func (v *View) inRoot(p string) bool {
	return slices.ContainsFunc(v.roots, func(n *node) bool {
		return p == n.base.path || strings.HasPrefix(p, n.base.path+"/")
	})
}

// synthesize makes the directories above a root, down to p. It gives nil where
// a component is taken by something that is no such directory.
func (v *View) synthesize(p string) *node {
	n := v.top
	for name := range strings.SplitSeq(strings.Trim(p, "/"), "/") {
		if name == "" {
			continue
		}
		kid := n.kids[name]
		if kid == nil {
			kid = v.synthetic(n, name, changeset.State{Kind: changeset.Dir, Mode: 0o755})
		}
		if !kid.synthetic || !kid.isDir() {
			return nil
		}
		n = kid
	}
	return n
}

func (v *View) synthetic(parent *node, name string, st changeset.State) *node {
	n := &node{parent: parent, name: name, synthetic: true, state: st, kids: map[string]*node{}}
	parent.kids[name] = n
	return n
}

func (v *View) nodeOf(b *base, parent *node) *node {
	n := &node{parent: parent, name: b.name, base: b, state: *b.stamp.State()}
	n.state.Target = b.target
	if n.isDir() {
		n.kids = map[string]*node{}
	}
	b.node = n
	return n
}

// openBase opens the real directory b and makes sure that it is still the one
// that was seen.
func (v *View) openBase(b *base) (*fsroot.Dir, error) {
	d, err := v.set.OpenDir(b.path)
	if err != nil {
		return nil, moved(b.path, err)
	}
	now, err := d.Stamp()
	if err != nil {
		return nil, err
	}
	if !now.SameObject(b.stamp) {
		return nil, moved(b.path, nil)
	}
	return d, nil
}

// kid gives the real child of b called name, nil if there is none.
func (v *View) baseKid(b *base, name string) (*base, error) {
	if kid, ok := b.kids[name]; ok {
		return kid, nil
	}
	if b.listed && !slices.Contains(b.names, name) {
		return nil, nil
	}
	d, err := v.openBase(b)
	if err != nil {
		return nil, err
	}
	stamp, err := d.Lstat(name)
	if errors.Is(err, unix.ENOENT) {
		if b.listed {
			return nil, moved(filepath.Join(b.path, name), nil)
		}
		b.kids[name] = nil
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	kid := &base{parent: b, name: name, path: filepath.Join(b.path, name), stamp: stamp}
	switch stamp.Kind() {
	case changeset.Symlink:
		if kid.target, err = d.Readlink(name); err != nil {
			return nil, moved(kid.path, err)
		}
	case changeset.Dir:
		kid.kids = map[string]*base{}
	}
	b.kids[name] = kid
	return kid, nil
}

// baseNames lists the real children of b.
func (v *View) baseNames(b *base) ([]string, error) {
	if !b.listed {
		d, err := v.openBase(b)
		if err != nil {
			return nil, err
		}
		names, err := d.Names()
		if err != nil {
			return nil, err
		}
		slices.Sort(names)
		for name, kid := range b.kids {
			if _, found := slices.BinarySearch(names, name); found != (kid != nil) {
				return nil, moved(filepath.Join(b.path, name), nil)
			}
		}
		b.names, b.listed = names, true
	}
	return b.names, nil
}

// child gives the entry name of the directory n, nil if there is none.
func (v *View) child(n *node, name string) (*node, error) {
	if kid, ok := n.kids[name]; ok {
		return kid, nil
	}
	if n.synthetic {
		return nil, fsroot.ErrOutside
	}
	if n.base == nil {
		return nil, nil
	}
	b, err := v.baseKid(n.base, name)
	if err != nil {
		return nil, err
	}
	if b == nil {
		n.kids[name] = nil
		return nil, nil
	}
	kid := v.nodeOf(b, n)
	n.kids[name] = kid
	return kid, nil
}

// names lists the directory n, sorted.
func (v *View) names(n *node) ([]string, error) {
	var out []string
	if n.base != nil {
		real, err := v.baseNames(n.base)
		if err != nil {
			return nil, err
		}
		for _, name := range real {
			if kid, ok := n.kids[name]; !ok || kid != nil {
				out = append(out, name)
			}
		}
	}
	for name, kid := range n.kids {
		if kid == nil {
			continue
		}
		if n.base != nil {
			if _, real := slices.BinarySearch(n.base.names, name); real {
				continue
			}
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out, nil
}
