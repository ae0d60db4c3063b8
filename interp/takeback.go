package interp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"steps.example/interp/changeset"
	"steps.example/interp/commit"
	"steps.example/interp/internal/fsroot"
)

// takeBack works out the inverse of what receipts changed, path by path, as far
// as the tree is still as they left it. The result is as coherent as a changeset of
// steps: a directory goes only where all in it goes.
type takeBack struct {
	x    *executor
	kept *commit.Kept
	self commit.Identity
	// env is nil where the document is not known.
	env   *environment
	purge bool
	// since leaves to others what they came to use after this receipt; "" is all.
	since string
	// force passes over what is damaged in the store.
	force bool

	cs   *changeset.Changeset
	left []Left
	// aside maps where steps with preserve moved what the user had made of a file to
	// where that was.
	aside map[string]string
	gone  map[string]bool // what will not be where it is
	back  map[string]bool // directories that will be there again
}

// plan takes back net. What was there before is with the receipts.
func (t *takeBack) plan(net *changeset.Changeset, receipts []*commit.Receipt) (err error) {
	t.cs, t.gone, t.back = &changeset.Changeset{}, map[string]bool{}, map[string]bool{}
	if t.kept, err = t.x.tx.Keep(receipts); err != nil && !(t.force && errors.Is(err, commit.ErrDamaged)) {
		return err
	}
	t.aside = movedAside(receipts)
	// A root that is not there any more has nothing below it.
	reach := &changeset.Changeset{}
	for _, c := range net.Changes {
		if _, _, ok := t.x.set.Locate(c.Path); ok {
			reach.Changes = append(reach.Changes, c)
		}
	}
	drift, err := t.x.compare(reach)
	if err != nil {
		return err
	}
	// What was moved goes back by a move; the place where it is now is then taken
	// care of.
	movedTo := map[string]*changeset.Change{}
	for i := range reach.Changes {
		if c := &reach.Changes[i]; c.From != "" && c.After.Kind != changeset.Dir {
			movedTo[c.From] = c
		}
	}
	// Children first: a directory can go once they do.
	for i := len(reach.Changes) - 1; i >= 0; i-- {
		c := &reach.Changes[i]
		if c.After == nil || c.Before != nil && c.KeepsObject() {
			continue
		}
		if err := t.leaves(c, drift[c.Path]); err != nil {
			return err
		}
	}
	for i := range reach.Changes {
		c := &reach.Changes[i]
		if c.Before == nil {
			continue
		}
		if err := t.returns(c, drift[c.Path], movedTo[c.Path], drift); err != nil {
			return err
		}
	}
	t.finish(reach)
	slices.SortFunc(t.left, func(a, b Left) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

func movedAside(receipts []*commit.Receipt) map[string]string {
	aside := map[string]string{}
	for _, r := range receipts {
		for i := range r.Changeset.Changes {
			switch c := &r.Changeset.Changes[i]; {
			case c.From != "" && slices.Contains(r.Yours, c.Path):
				aside[c.Path] = c.From
			case !c.KeepsObject():
				delete(aside, c.Path)
			}
		}
	}
	return aside
}

func (t *takeBack) leave(path, format string, args ...any) {
	t.left = append(t.left, Left{Path: path, Reason: fmt.Sprintf(format, args...)})
}

// spared reports whether the user wants the path left alone.
func (t *takeBack) spared(path string) bool { return t.env != nil && t.env.claims.spare.cover(path) }

// shared reports whether the path is a directory of the layout's, which the judge lets
// nobody take away.
func (t *takeBack) shared(path string) bool {
	return t.env != nil && slices.ContainsFunc(t.env.grants, func(g changeset.Grant) bool { return g.Dir == path })
}

// leaves decides whether what the package put at c's path can go.
func (t *takeBack) leaves(c *changeset.Change, drifts []commit.Drift) error {
	if t.spared(c.Path) {
		t.leave(c.Path, "is kept, as you said")
		return nil
	}
	if owner, ok := t.x.known.owners.Of(c.Path); ok && owner.Identity() != t.self {
		t.leave(c.Path, "belongs to %s %s by now", owner.Package.Name, owner.Package.Version)
		return nil
	}
	users := t.x.known.owners.UsedBy(c.Path, t.self, t.since)
	for _, d := range drifts {
		switch {
		case d.Kind == commit.DriftMissing:
			return nil
		case len(users) > 0:
		case d.Kind == commit.DriftKindOf, !t.purge, c.Before != nil, c.From != "":
			t.leave(c.Path, "%s", changedSince(drifts))
			return nil
		}
	}
	if len(users) > 0 {
		t.leave(c.Path, "is used by %s", commit.Names(users))
		return nil
	}
	if t.shared(c.Path) {
		t.leave(c.Path, "is a directory that packages share")
		return nil
	}
	if from := t.aside[c.Path]; from != "" && c.From == "" && !t.purge {
		t.leave(c.Path, "is what you had made of %s", changeset.Printable(from))
		return nil
	}
	if c.After.Kind == changeset.Dir {
		d, err := t.x.set.OpenDir(c.Path)
		if err != nil {
			return err
		}
		names, err := d.Names()
		if err != nil {
			return err
		}
		slices.Sort(names)
		for _, name := range names {
			if !t.gone[filepath.Join(c.Path, name)] {
				t.leave(c.Path, "holds %s", changeset.Printable(name))
				return nil
			}
		}
	}
	t.gone[c.Path] = true
	return nil
}

func changedSince(drifts []commit.Drift) string {
	var words []string
	for _, d := range drifts {
		switch d.Kind {
		case commit.DriftMissing:
			words = append(words, "is missing")
		case commit.DriftAppeared:
			words = append(words, "is there again")
		case commit.DriftKindOf:
			words = append(words, "is a "+d.Have+" now")
		default:
			words = append(words, "has another "+string(d.Kind))
		}
	}
	return "was changed since: " + strings.Join(words, ", ")
}

// returns decides whether what was at c's path before can come back, and says how.
func (t *takeBack) returns(c *changeset.Change, drifts []commit.Drift, moved *changeset.Change, all map[string][]commit.Drift) error {
	replaced := c.After != nil && !c.KeepsObject()
	if t.spared(c.Path) {
		if !replaced {
			t.leave(c.Path, "is kept, as you said")
		}
		return nil
	}
	switch {
	case replaced && !t.gone[c.Path]: // said already, or the user has removed it
		if len(drifts) > 0 && drifts[0].Kind == commit.DriftMissing {
			t.leave(c.Path, "was removed since; what was there before is not put back")
		}
		return nil
	}
	stay := func(format string, args ...any) error {
		t.keep(c.Path)
		if moved != nil {
			// What was moved away must not get lost where it is now.
			t.keep(moved.Path)
		}
		t.leave(c.Path, format, args...)
		return nil
	}
	if !replaced && len(drifts) > 0 {
		return stay("%s", changedSince(drifts))
	}
	if !t.mayOwn(c.Before) {
		return stay("belonged to %d:%d before, and only root can give it back", c.Before.UID, c.Before.GID)
	}
	parent := filepath.Dir(c.Path)
	if there, err := t.directory(parent); err != nil {
		return err
	} else if !there {
		return stay("cannot be put back: %s is gone", changeset.Printable(parent))
	}
	change := changeset.Change{Path: c.Path, After: stateBefore(c)}
	switch {
	case c.After != nil && c.KeepsObject():
		change.After.SHA256 = ""
		if c.After.MTime == 0 {
			change.After.MTime = 0 // was not changed
		}
	case c.Before.Kind == changeset.Dir:
		change.After.MTime = 0
		t.back[c.Path] = true
	case moved != nil:
		if len(all[moved.Path]) > 0 || !t.gone[moved.Path] {
			return stay("was moved to %s, which was changed since", changeset.Printable(moved.Path))
		}
		change.From = moved.Path
		change.After.MTime = 0
	case c.Before.Kind == changeset.Symlink:
	case c.Before.Kind == changeset.File:
		content, ok := (*changeset.Content)(nil), false
		if t.kept != nil && c.Stamp != nil {
			content, ok = t.kept.Content(c.Path, *c.Stamp)
		}
		if !ok {
			return stay("what was there before is no longer kept")
		}
		change.Content, change.Origin = content, content.Origin.Path
	default:
		return stay("was a socket, FIFO or device, which cannot be made again")
	}
	t.cs.Changes = append(t.cs.Changes, change)
	return nil
}

// keep lets path, and what is above it, stay after all. With purge, what the
// package put there goes all the same.
func (t *takeBack) keep(path string) {
	for ; t.gone[path] && !t.purge; path = filepath.Dir(path) {
		delete(t.gone, path)
	}
}

// stateBefore is what was at the path of c, with its time.
func stateBefore(c *changeset.Change) *changeset.State {
	st := *c.Before
	if c.Stamp != nil && st.Kind != changeset.Dir {
		st.MTime = c.Stamp.MTime
	}
	return &st
}

// mayOwn reports whether this process can give an object its former owner.
func (t *takeBack) mayOwn(st *changeset.State) bool {
	return t.x.root() || (st.UID == os.Geteuid() || st.UID == changeset.KeepOwner) && (st.GID == changeset.KeepOwner || t.x.inGroup(st.GID))
}

// directory reports whether path will be a directory.
func (t *takeBack) directory(path string) (bool, error) {
	if t.back[path] {
		return true, nil
	}
	if t.gone[path] {
		return false, nil
	}
	st, err := t.x.set.Lstat(path)
	if fsroot.IsMissing(err) {
		return false, nil
	}
	return err == nil && st.Kind() == changeset.Dir, err
}

// finish adds what only goes to the changes.
func (t *takeBack) finish(net *changeset.Changeset) {
	returning := map[string]bool{}
	for _, c := range t.cs.Changes {
		returning[c.Path] = true
	}
	for _, c := range net.Changes {
		if t.gone[c.Path] && !returning[c.Path] {
			t.cs.Changes = append(t.cs.Changes, changeset.Change{Path: c.Path})
		}
	}
}
