package commit

import (
	"cmp"
	"slices"
	"strings"

	"steps.example/interp/changeset"
)

// Identity is a package, whatever its version.
type Identity struct {
	Layout string `json:"layout,omitempty"`
	Name   string `json:"name"`
}

// Identity is the package that the receipt is of.
func (r *Receipt) Identity() Identity { return Identity{r.Layout, r.Package.Name} }

// Owner is who has the last word on a path.
type Owner struct {
	Package Package
	Layout  string
	// Receipt is the newest one of the package that changed the path.
	Receipt string
	// State is what the receipt left there. A moved file's has no hash.
	State *changeset.State
	// Made says that the package made the object, or adopted it. One that it only
	// changed the mode, owner or time of was there before.
	Made bool
}

// Identity is the owning package, whatever its version.
func (o Owner) Identity() Identity { return Identity{o.Layout, o.Package.Name} }

// Owners tells whose the paths of a prefix are: the receipts of what is installed,
// one after the other, reduced to the last word on every path. It is what a [Store]
// had when it was made, and safe for concurrent use. The zero value is that of one
// without receipts.
//
// The receipts of what was uninstalled say nothing: what they changed and the
// uninstallation did not take back is the user's, or whose it was before.
type Owners struct {
	file ownerFile
	// gone marks the receipts of the file that are no longer there.
	gone []bool
	// late has the records of receipts that are not in the file.
	late map[string][]ownerRecord
	// fresh are those receipts.
	fresh []*ownerReceipt
	// installed are the receipts of each version that is installed.
	installed [][]*ownerReceipt
	// until, if not empty, is the receipt that, like all after it, does not count.
	until string
	// undone maps what was taken back, path by path, to what did it.
	undone map[string]string
}

// ownerRecord is what one receipt says of one path.
type ownerRecord struct {
	by   *ownerReceipt
	what recordKind
	// state is set for recordPut and recordUse.
	state *changeset.State
	// base is set for recordBase.
	base Base
}

// recordKind is a set of bits.
type recordKind byte

const (
	recordPut   recordKind = 1 << iota // something is there
	recordGone                         // nothing is there
	recordStays                        // with recordPut: the object was there before
	recordBase                         // a step with preserve had this content for it
	recordUse                          // another package's is there, and is counted on
)

// ownerReceipt is what is known of a receipt without reading it.
type ownerReceipt struct {
	act
	stamp   changeset.Stamp
	records int
	// live: it is of something that is installed.
	live bool
}

func (r *ownerReceipt) identity() Identity { return Identity{r.layout, r.pkg.Name} }

// recordsOf gives what a receipt says of paths, in path order.
func recordsOf(r *Receipt, by *ownerReceipt) (paths []string, records []ownerRecord) {
	add := func(path string, rec ownerRecord) {
		rec.by = by
		paths, records = append(paths, path), append(records, rec)
	}
	for i := range r.Changeset.Changes {
		c := &r.Changeset.Changes[i]
		switch {
		case c.After == nil:
			add(c.Path, ownerRecord{what: recordGone})
		case c.KeepsObject():
			add(c.Path, ownerRecord{what: recordPut | recordStays, state: c.After})
		default:
			add(c.Path, ownerRecord{what: recordPut, state: c.After})
		}
	}
	for _, a := range r.Adopted {
		add(a.Path, ownerRecord{what: recordPut, state: a.State})
	}
	for _, u := range r.Uses {
		if k, changed := slices.BinarySearchFunc(r.Changeset.Changes, u.Path, byPath); !changed || r.Changeset.Changes[k].KeepsObject() {
			add(u.Path, ownerRecord{what: recordUse, state: u.State})
		}
	}
	for _, b := range r.Bases {
		add(b.Path, ownerRecord{what: recordBase, base: b})
	}
	return paths, records
}

func byPath(c changeset.Change, path string) int { return strings.Compare(c.Path, path) }

// records are what the receipts of what is installed say of a path, the oldest first.
func (o *Owners) records(path string) []ownerRecord {
	return slices.DeleteFunc(o.all(path), func(rec ownerRecord) bool { return !rec.by.live })
}

// all are what the receipts say of a path, also those of what is gone, the oldest
// first.
func (o *Owners) all(path string) []ownerRecord {
	var list []ownerRecord
	for i := o.file.search(path); i < o.file.count; i++ {
		if string(o.file.path(i)) != path {
			break
		}
		if _, receipt, rec, ok := o.file.record(i); ok && !o.gone[receipt] {
			list = append(list, rec)
		}
	}
	list = append(list, o.late[path]...)
	if o.until != "" {
		list = slices.DeleteFunc(list, func(rec ownerRecord) bool { return rec.by.id >= o.until })
	}
	// A receipt that was being taken back and came again may be older than others.
	slices.SortStableFunc(list, func(a, b ownerRecord) int { return cmp.Compare(a.by.id, b.by.id) })
	return list
}

// Of gives the owner of a physical path. What no receipt made is the user's, and
// so is what the package that made it moved away or deleted. What a package made that
// is gone belongs to the first one that uses it.
func (o *Owners) Of(path string) (Owner, bool) {
	var now, heir Owner
	there, made, used := false, false, false
	for _, rec := range o.records(path) {
		switch {
		case rec.what&recordGone != 0:
			now, there, made, used = Owner{}, false, false, false
		case rec.what&recordUse != 0:
			if !used {
				heir, used = Owner{Package: rec.by.pkg, Layout: rec.by.layout, Receipt: rec.by.id, State: rec.state, Made: true}, true
			}
		case rec.what&recordPut != 0:
			next := Owner{Package: rec.by.pkg, Layout: rec.by.layout, Receipt: rec.by.id, State: rec.state, Made: true}
			if rec.what&recordStays != 0 {
				next.Made = there && now.Made && now.Identity() == next.Identity()
				next.State = withHash(rec.state, now.State)
			}
			made = made || rec.what&recordStays == 0
			now, there = next, true
		}
	}
	if used && !made {
		return heir, true
	}
	return now, there
}

// UsedBy are the packages, the named one left out, that found at a path what another
// one had made, and count on it; only those of receipts after since.
func (o *Owners) UsedBy(path string, but Identity, since string) []Package {
	var list []Package
	for _, rec := range o.records(path) {
		if rec.what&recordUse != 0 && rec.by.identity() != but && rec.by.id > since && !slices.Contains(list, rec.by.pkg) {
			list = append(list, rec.by.pkg)
		}
	}
	return list
}

// Uses reports whether a package counts on what another one made at a path.
func (o *Owners) Uses(path string, id Identity) bool {
	return slices.ContainsFunc(o.records(path), func(rec ownerRecord) bool { return rec.what&recordUse != 0 && rec.by.identity() == id })
}

// Last is the newest receipt of what is installed that says anything of a path, also
// that it is gone, and its package. Where all only use it, it is its owner's.
func (o *Owners) Last(path string) (receipt string, id Identity, ok bool) {
	for _, rec := range o.records(path) {
		if rec.what&(recordPut|recordGone) != 0 {
			receipt, id, ok = rec.by.id, rec.by.identity(), true
		}
	}
	if !ok {
		var owner Owner
		owner, ok = o.Of(path)
		receipt, id = owner.Receipt, owner.Identity()
	}
	return receipt, id, ok
}

// Before is whose the paths were before a receipt, as far as it is still installed.
func (o *Owners) Before(receipt string) *Owners {
	before := *o
	before.until = receipt
	return &before
}

// Undone is the receipt, of [ActionUndo], that took back another one.
func (o *Owners) Undone(id string) (by string, ok bool) {
	by, ok = o.undone[id]
	return by, ok
}

// withHash fills in the hash of a file that only got other attributes.
func withHash(st, before *changeset.State) *changeset.State {
	if st.Kind != changeset.File || st.SHA256 != "" || before == nil || before.Kind != changeset.File || before.Size != st.Size {
		return st
	}
	full := *st
	full.SHA256 = before.SHA256
	return &full
}

// Base is the content that a package last had for a path, as a step with preserve
// wrote or would have written it, and the receipt that has it. It reports false
// where none is known.
func (o *Owners) Base(path string, id Identity) (base Base, receipt string, ok bool) {
	for _, rec := range o.records(path) {
		if rec.what&recordBase != 0 && rec.by.identity() == id {
			base, receipt, ok = rec.base, rec.by.id, true
		}
	}
	return base, receipt, ok
}

// under lists the paths with records at dir and below it, sorted.
func (o *Owners) under(dir string) []string {
	var paths []string
	below := dir + "/"
	add := func(p string) {
		if p == dir || strings.HasPrefix(p, below) {
			paths = append(paths, p)
		}
	}
	if i := o.file.search(dir); i < o.file.count {
		add(string(o.file.path(i)))
	}
	for i := o.file.search(below); i < o.file.count; i++ {
		p := string(o.file.path(i))
		if !strings.HasPrefix(p, below) {
			break
		}
		add(p)
	}
	for p := range o.late {
		add(p)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Users are the packages that own or use a directory, or something in it, sorted.
func (o *Owners) Users(dir string) []Identity {
	var list []Identity
	for _, p := range o.under(dir) {
		if owner, ok := o.Of(p); ok {
			list = append(list, owner.Identity())
		}
		for _, rec := range o.records(p) {
			if rec.what&recordUse != 0 {
				list = append(list, rec.by.identity())
			}
		}
	}
	slices.SortFunc(list, func(a, b Identity) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Layout, b.Layout))
	})
	return slices.Compact(list)
}

// Shared is the number of packages that use a directory; see [Owners.Users].
func (o *Owners) Shared(dir string) int { return len(o.Users(dir)) }
