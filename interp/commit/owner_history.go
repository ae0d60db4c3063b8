package commit

import (
	"slices"

	"steps.example/interp/changeset"
)

// Former finds out what may come back where a package puts, moves or deletes
// something and is uninstalled: what was there before is the user's or that of
// another installed package, or else of one that is gone, and then is not to come
// back either.
//
// It says which receipt put there what was at a path when the receipt since came, if
// that is of a package that is not installed any more, or of gone, and nobody uses it.
// The caller tells whether a state is the one that was there, at least in its kind and
// content; where he does not know, it is not.
func (o *Owners) Former(path, since string, gone Identity, was func(*changeset.State) bool) (receipt string, ok bool) {
	var restored []Identity
	for _, rec := range slices.Backward(o.all(path)) {
		by := rec.by
		live := by.live && by.identity() != gone
		switch {
		case by.id >= since, rec.what&recordBase != 0:
		case rec.what&recordUse != 0:
			if live && was(rec.state) {
				return "", false
			}
		case slices.Contains(restored, by.identity()):
			// What this one had made, its uninstallation took away again.
		case live, by.action == ActionTrigger, rec.what&recordGone != 0, rec.what&recordStays == 0 && !was(rec.state):
			return "", false // of an installed package, of all of them, or the user's
		case rec.what&recordStays != 0, by.action == ActionRepair:
		case by.action == ActionUninstall, by.action == ActionUndo:
			restored = append(restored, by.identity())
		default:
			return by.id, true
		}
	}
	return "", false
}
