package changeset

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// Changeset is a list of changes, sorted by path, at most one per path.
type Changeset struct {
	Changes []Change `json:"changes"`
}

// Change is what happens at one path.
//
// An object that stays itself and only changes mode, owner or time has the same
// kind before and after, no Content, no From and (a symlink) the same target.
// Two directories are always one object that stays, unless From is set.
type Change struct {
	Path string `json:"path"`
	// Before is nil where nothing was there, After where nothing will be.
	Before *State `json:"before,omitempty"`
	After  *State `json:"after,omitempty"`
	// From is the path whose object, as it was before, becomes the one at Path:
	// a move, which keeps the inode. The change at From is part of the same
	// changeset, and no object is moved to two places. Where a whole directory
	// moves, each path below it has its own pair of changes.
	From string `json:"from,omitempty"`
	// Stamp is the object that Before speaks of. Commit refuses where the disk
	// no longer has it.
	Stamp *Stamp `json:"stamp,omitempty"`
	// Content is where the bytes of a new regular file come from.
	Content *Content `json:"-"`
	// Origin mirrors Content.Origin's path in plans and receipts.
	Origin string `json:"origin,omitempty"`
	// Steps are the numbers, from 1, of the steps that had a part in it.
	Steps []int `json:"steps,omitempty"`
}

// Content is the bytes of a file to be made: either in memory, or those of a
// real regular file that must still be the stamped one when it is copied.
type Content struct {
	Bytes  []byte
	Origin *Origin
}

// Origin is a real file to copy from, by physical path.
type Origin struct {
	Path  string
	Stamp Stamp
}

// Verb is what a change does, in one word.
type Verb string

const (
	Create  Verb = "create"
	Replace Verb = "replace"
	Delete  Verb = "delete"
	Modify  Verb = "modify" // mode, owner or time of an object that stays
	Move    Verb = "move"
)

// Verb tells what c does.
func (c *Change) Verb() Verb {
	switch {
	case c.After == nil:
		return Delete
	case c.From != "":
		return Move
	case c.Before == nil:
		return Create
	case c.KeepsObject():
		return Modify
	}
	return Replace
}

// KeepsObject reports whether the object at the path stays the same inode.
func (c *Change) KeepsObject() bool {
	return c.Before != nil && c.After != nil && c.From == "" && c.Content == nil &&
		c.Origin == "" && c.Before.Kind == c.After.Kind &&
		c.Before.Target == c.After.Target &&
		(c.After.Kind != File || c.Before.SHA256 == c.After.SHA256)
}

// Sort brings the changes into path order, parents before children.
func (cs *Changeset) Sort() {
	slices.SortFunc(cs.Changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
}

// before is what was at path, by binary search: the changes are sorted.
func (cs *Changeset) before(path string) *State {
	i, ok := slices.BinarySearchFunc(cs.Changes, path, func(c Change, p string) int { return cmp.Compare(c.Path, p) })
	if !ok {
		return nil
	}
	return cs.Changes[i].Before
}

// Empty reports whether nothing changes.
func (cs *Changeset) Empty() bool { return cs == nil || len(cs.Changes) == 0 }

// Inverse is the changeset that takes the tree back: what was after is before
// and the other way round, and moves run backwards. It carries no contents;
// they are wherever the commit of cs kept what it replaced.
func (cs *Changeset) Inverse() *Changeset {
	out := &Changeset{Changes: make([]Change, len(cs.Changes))}
	index := make(map[string]int, len(cs.Changes))
	for i, c := range cs.Changes {
		index[c.Path] = i
		out.Changes[i] = Change{Path: c.Path, Before: c.After, After: c.Before, Steps: c.Steps}
	}
	for _, c := range cs.Changes {
		if c.From == "" {
			continue
		}
		if i, ok := index[c.From]; ok {
			out.Changes[i].From = c.Path
		}
	}
	return out
}

// Digest identifies the changeset, stamps of what was there and of what is copied
// included: SHA-256 of its JSON form, in hex. The time that a touch sets is left out, since it is
// another one each time.
func (cs *Changeset) Digest() string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, c := range cs.Changes {
		if c.After != nil && c.After.MTime != 0 {
			after := *c.After
			after.MTime = 1
			c.After = &after
		}
		// JSON cannot tell apart texts that are not UTF-8.
		for _, text := range []string{c.Path, c.From, c.Origin, target(c.Before), target(c.After)} {
			fmt.Fprintf(h, "%d:%s", len(text), text)
		}
		// Encoding plain fields cannot fail.
		_ = enc.Encode(&c)
		if c.Content != nil && c.Content.Origin != nil {
			_ = enc.Encode(&c.Content.Origin.Stamp)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func target(s *State) string {
	if s == nil {
		return ""
	}
	return s.Target
}
