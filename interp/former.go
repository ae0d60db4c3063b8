package interp

import (
	"errors"
	"slices"
	"strings"

	"steps.example/interp/changeset"
	"steps.example/interp/commit"
)

// former works out what uninstalling a package takes back: what its receipts changed,
// and what came to it from packages that are gone and that it uses. What comes back
// for it is the user's or another installed package's, never what a package had made
// that is gone: that would belong to nobody.
type former struct {
	x    *executor
	self commit.Identity
	// force passes over what is damaged in the store.
	force bool
	// receipts are the installation's, and of packages that are gone those that may
	// keep what comes back.
	receipts []*commit.Receipt
	kept     *commit.Kept
}

// net is what the installation's receipts changed, see [former].
func (f *former) net(i *Installation) (*changeset.Changeset, error) {
	f.receipts, f.kept = slices.Clone(i.Receipts), &commit.Kept{}
	if err := f.keep(); err != nil {
		return nil, err
	}
	out := &changeset.Changeset{}
	first := map[string]string{} // the receipt that first had to do with the path
	for _, r := range i.Receipts {
		for _, c := range r.Changeset.Changes {
			if first[c.Path] == "" {
				first[c.Path] = r.ID
			}
		}
	}
	for _, c := range i.net().Changes {
		if c.Before != nil && !c.KeepsObject() {
			if _, err := f.before(&c, first[c.Path]); err != nil {
				return nil, err
			}
		}
		if c.Before != nil || c.After != nil {
			out.Changes = append(out.Changes, c)
		}
	}
	for _, r := range i.Receipts {
		for _, u := range r.Uses {
			owner, owned := f.x.known.owners.Of(u.Path)
			if first[u.Path] != "" || !owned || owner.Identity() != f.self {
				continue
			}
			first[u.Path] = r.ID
			c := changeset.Change{Path: u.Path, Before: u.State, After: u.State}
			inherited, err := f.before(&c, r.ID)
			if err != nil {
				return nil, err
			}
			if inherited {
				out.Changes = append(out.Changes, c)
			}
		}
	}
	out.Sort()
	return out, nil
}

// before makes what was at c's path before, when the receipt since came, what is to be
// there again. It reports whether that is something else.
func (f *former) before(c *changeset.Change, since string) (bool, error) {
	other := false
	for c.Before != nil {
		id, ok := f.x.known.owners.Former(c.Path, since, f.self, func(st *changeset.State) bool { return f.same(st, c) })
		if !ok {
			return other, nil
		}
		was, ok, err := f.change(id, c.Path)
		if err != nil || !ok {
			return other, err
		}
		c.Before, c.Stamp, since, other = was.Before, was.Stamp, id, true
	}
	return other, nil
}

// same reports whether st is certain to be what was at c's path before, or as good,
// whatever its mode and owner.
func (f *former) same(st *changeset.State, c *changeset.Change) bool {
	was := c.Before
	switch {
	case st.Kind != was.Kind:
	case st.Kind == changeset.Dir:
		return true
	case st.Kind == changeset.Symlink:
		return st.Target == was.Target
	case st.Kind == changeset.File && st.SHA256 != "" && st.Size == was.Size:
		return st.SHA256 == f.hash(c)
	}
	return false
}

// hash is that of the file that was at c's path before, "" where it is not known.
func (f *former) hash(c *changeset.Change) string {
	if c.Before.SHA256 != "" || c.Stamp == nil {
		return c.Before.SHA256
	}
	content, ok := f.kept.Content(c.Path, *c.Stamp)
	if !ok {
		return ""
	}
	sum, err := f.x.tx.Hash(content)
	if err != nil {
		return ""
	}
	return sum
}

// change is what a receipt of a package that is gone changed at a path. It reports
// false where that was the user's all the same: it was adopted, or moved there.
func (f *former) change(id, path string) (changeset.Change, bool, error) {
	i := slices.IndexFunc(f.receipts, func(r *commit.Receipt) bool { return r.ID == id })
	if i < 0 {
		r, err := f.x.known.store.Receipt(id)
		if err != nil {
			return changeset.Change{}, false, err
		}
		i = len(f.receipts)
		f.receipts = append(f.receipts, r)
		if err := f.keep(); err != nil {
			return changeset.Change{}, false, err
		}
	}
	list := f.receipts[i].Changeset.Changes
	k, ok := slices.BinarySearchFunc(list, path, func(c changeset.Change, p string) int { return strings.Compare(c.Path, p) })
	if !ok || list[k].From != "" {
		return changeset.Change{}, false, nil
	}
	return list[k], true, nil
}

// keep opens what the receipts keep. With force, what is damaged keeps nothing.
func (f *former) keep() error {
	kept, err := f.x.tx.Keep(f.receipts)
	switch {
	case err == nil:
		f.kept = kept
	case !f.force || !errors.Is(err, commit.ErrDamaged):
		return err
	}
	return nil
}
