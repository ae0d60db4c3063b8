package interp

import (
	"slices"

	"steps.example/interp/commit"
)

// Verified is how the tree compares with what was applied.
type Verified struct {
	// Receipts and Paths are how many were looked at.
	Receipts, Paths int
	Drifts          []Drifted
	// Yours are differences of what is the user's by now, see [commit.Yours].
	Yours []Drifted
}

// Drifted is a difference, and the receipt that has the last word on the path.
type Drifted struct {
	Receipt string `json:"receipt"`
	commit.Drift
}

// Verify compares the tree with the receipts of all that is installed, and with those
// of caches that were rebuilt for everybody. Where several name a path, the newest of
// them has the last word, except on what it says is the user's. It changes nothing, and
// nobody else may meanwhile: while a transaction goes on it fails with a [*commit.LockedError].
func Verify(store *commit.Store) (*Verified, error) {
	release, err := store.Share("verify")
	if err != nil {
		return nil, err
	}
	defer release()
	receipts, err := store.Receipts()
	if err != nil {
		return nil, err
	}
	live := map[string]bool{}
	installed := Installed(receipts)
	for _, i := range installed {
		for _, r := range i.Receipts {
			live[r.ID] = true
		}
	}
	yours := yoursOf(installed)
	out := &Verified{}
	spoken := map[string]bool{} // paths on which the last word was said
	compare := func(r *commit.Receipt, taken map[string]bool) error {
		drifts, err := store.Verify(r)
		if err != nil {
			return err
		}
		out.Receipts++
		for _, d := range drifts {
			switch {
			case spoken[d.Path] || taken[d.Path]:
			case yours[r.Identity()].Covers(d):
				out.Yours = append(out.Yours, Drifted{r.ID, d})
			default:
				out.Drifts = append(out.Drifts, Drifted{r.ID, d})
			}
		}
		for _, c := range r.Leaves().Changes {
			if !spoken[c.Path] && !taken[c.Path] {
				spoken[c.Path] = true
				out.Paths++
			}
		}
		return nil
	}
	// What was uninstalled later may have taken a cache along.
	taken := map[string]bool{}
	for _, r := range slices.Backward(receipts) {
		switch {
		case live[r.ID]:
			err = compare(r, nil)
		case r.Action == commit.ActionTrigger:
			err = compare(r, taken)
		default:
			for _, c := range r.Changeset.Changes {
				taken[c.Path] = true
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
