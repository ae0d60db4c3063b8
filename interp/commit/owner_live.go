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
)

// findLive marks the receipts of what is installed: all from a package's first one
// to its uninstallation, where an upgrade hands on those of the version before.
// What rebuilds caches for everybody belongs to nobody.
func (o *Owners) findLive() {
	type version struct {
		layout string
		pkg    Package
	}
	all := slices.Clone(o.fresh)
	for i := range o.file.receipts {
		if !o.gone[i] {
			all = append(all, &o.file.receipts[i])
		}
	}
	slices.SortFunc(all, func(a, b *ownerReceipt) int { return cmp.Compare(a.id, b.id) })
	installed := map[version][]*ownerReceipt{}
	for _, r := range all {
		r.live = false
		here := version{r.layout, r.pkg}
		switch r.action {
		case ActionTrigger:
		case ActionUninstall:
			delete(installed, here)
		case ActionUpgrade:
			old := version{r.layout, Package{r.pkg.Name, r.replaced}}
			list := installed[old]
			delete(installed, old)
			installed[here] = append(append(list, installed[here]...), r)
		default:
			installed[here] = append(installed[here], r)
		}
	}
	for _, list := range installed {
		for _, r := range list {
			r.live = true
		}
	}
}
