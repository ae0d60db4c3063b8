package commit

import (
	"cmp"
	"slices"
)

// What a transaction was for, as [Receipt.Action] has it. An apply has no word.
const (
	ActionUpgrade   = "upgrade"
	ActionUninstall = "uninstall"
	ActionRepair    = "repair"
	ActionTrigger   = "trigger"
	// ActionRemoval is the removal's steps alone, of something that may have been
	// installed without a receipt.
	ActionRemoval = "removal"
	// ActionUndo took back what it could of the receipt in [Receipt.Undoes].
	ActionUndo = "undo"
)

// act is what a receipt has to do with what is installed.
type act struct {
	id     string
	layout string
	pkg    Package
	// action, replaced (a version) and undoes (an id) are those of the receipt.
	action, replaced, undoes string
}

func (r *Receipt) act() act {
	a := act{id: r.ID, layout: r.Layout, pkg: r.Package, action: r.Action, undoes: r.Undoes}
	if r.Replaces != nil {
		a.replaced = r.Replaces.Version
	}
	return a
}

// installations finds what is installed after acts, which are in the order of their
// ids: for each version of a package the numbers of the acts that made it what it
// is. It begins with the first one and ends with an uninstallation, and an upgrade
// hands on those of the version before. What was taken back counts for nothing,
// what rebuilds caches for everybody belongs to nobody, and a removal installs
// nothing.
func installations(acts []act) [][]int {
	undone := takenBack(acts)
	type version struct {
		layout string
		pkg    Package
	}
	installed := map[version][]int{}
	for i, a := range acts {
		here := version{a.layout, a.pkg}
		switch {
		case undone[a.id] != "", a.action == ActionTrigger, a.action == ActionUndo:
		case a.action == ActionUninstall:
			delete(installed, here)
		case a.action == ActionRemoval && installed[here] == nil:
		case a.action == ActionUpgrade:
			before := version{a.layout, Package{a.pkg.Name, a.replaced}}
			list := installed[before]
			delete(installed, before)
			list = append(append(list, installed[here]...), i)
			slices.Sort(list)
			installed[here] = list
		default:
			installed[here] = append(installed[here], i)
		}
	}
	out := make([][]int, 0, len(installed))
	for _, list := range installed {
		out = append(out, list)
	}
	slices.SortFunc(out, func(a, b []int) int { return cmp.Compare(a[len(a)-1], b[len(b)-1]) })
	return out
}

// takenBack maps the id of each act that another one took back to that one's. What
// took something back may have been taken back itself.
func takenBack(acts []act) map[string]string {
	by := map[string]string{}
	for _, a := range slices.Backward(acts) {
		if a.action == ActionUndo && by[a.id] == "" {
			by[a.undoes] = a.id
		}
	}
	return by
}

// TakenBack maps the id of each of these receipts that another one took back as far as
// it could to that one's.
func TakenBack(receipts []*Receipt) map[string]string {
	acts := make([]act, len(receipts))
	for i, r := range receipts {
		acts[i] = r.act()
	}
	return takenBack(acts)
}

// Installations gives the receipts, of these, of each version of a package that is
// installed, the oldest first. The last one of each has its name and version.
func Installations(receipts []*Receipt) [][]*Receipt {
	acts := make([]act, len(receipts))
	for i, r := range receipts {
		acts[i] = r.act()
	}
	var out [][]*Receipt
	for _, list := range installations(acts) {
		group := make([]*Receipt, len(list))
		for k, i := range list {
			group[k] = receipts[i]
		}
		out = append(out, group)
	}
	return out
}

// Installed is [Installations] for all packages of a name. It reads their receipts
// only.
func (s *Store) Installed(name string) ([][]*Receipt, error) {
	o, err := s.Owners()
	if err != nil {
		return nil, err
	}
	var out [][]*Receipt
	for _, group := range o.installed {
		if group[0].pkg.Name != name {
			continue
		}
		list := make([]*Receipt, len(group))
		for i, r := range group {
			if list[i], err = s.Receipt(r.id); err != nil {
				return nil, err
			}
		}
		out = append(out, list)
	}
	return out, nil
}

// findLive marks the receipts of what is installed.
func (o *Owners) findLive() {
	all := slices.Clone(o.fresh)
	for i := range o.file.receipts {
		if !o.gone[i] {
			all = append(all, &o.file.receipts[i])
		}
	}
	slices.SortFunc(all, func(a, b *ownerReceipt) int { return cmp.Compare(a.id, b.id) })
	acts := make([]act, len(all))
	for i, r := range all {
		acts[i], r.live = r.act, false
	}
	o.undone, o.installed = takenBack(acts), nil
	for _, list := range installations(acts) {
		group := make([]*ownerReceipt, len(list))
		for k, i := range list {
			group[k] = all[i]
			all[i].live = true
		}
		o.installed = append(o.installed, group)
	}
}
