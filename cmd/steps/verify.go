package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"steps.example/interp/changeset"
	"steps.example/interp/commit"
)

const verifyLong = `Compare the tree with the receipts: what is missing, or has another content,
mode, owner or link target than apply left. Without ID all receipts are
compared; where several name a path, the newest counts.

EXAMPLES
  steps verify --prefix /opt/brew

EXIT STATUS
  0 if nothing differs, 6 if something does; the others as in steps --help`

func newVerify(t *terminal) *cobra.Command {
	var where storeFlags
	cmd := &cobra.Command{
		Use: "verify [ID]", Short: "Compare the tree with what was applied", Long: verifyLong, GroupID: "apply", Args: atMostOne("ID"),
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := where.open()
			if err != nil {
				return err
			}
			defer store.Close()
			var receipts []*commit.Receipt
			if len(args) == 1 {
				r, err := store.Receipt(args[0])
				if err != nil {
					return err
				}
				receipts = []*commit.Receipt{r}
			} else if receipts, err = store.Receipts(); err != nil {
				return err
			}
			return runVerify(t, store, receipts)
		},
	}
	where.add(cmd.Flags())
	return cmd
}

func runVerify(t *terminal, store *commit.Store, receipts []*commit.Receipt) error {
	paths, drifted := 0, 0
	// The newest receipt that names a path has the last word on it.
	seen := map[string]bool{}
	for _, r := range slices.Backward(receipts) {
		drift, err := store.Verify(r)
		if err != nil {
			return err
		}
		drift = slices.DeleteFunc(drift, func(d commit.Drift) bool { return seen[d.Path] })
		for _, c := range r.Changeset.Changes {
			if !seen[c.Path] {
				seen[c.Path] = true
				paths++
			}
		}
		drifted += len(drift)
		for _, d := range drift {
			if t.json {
				if err := t.object("drift", struct {
					Receipt string `json:"receipt"`
					commit.Drift
				}{r.ID, d}); err != nil {
					return err
				}
			}
			t.say("%s", changeset.Printable(d.String()))
		}
	}
	if drifted > 0 {
		return &exitError{code: exitMoved, err: fmt.Errorf("%d of %d path(s) differ from what was applied", drifted, paths)}
	}
	if t.json {
		return t.object("verified", map[string]any{"receipts": len(receipts), "paths": paths})
	}
	t.say("%d receipt(s), %d path(s): nothing differs", len(receipts), paths)
	return nil
}
