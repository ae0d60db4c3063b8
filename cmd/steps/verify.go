package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"steps.example/interp"
	"steps.example/interp/changeset"
	"steps.example/interp/commit"
)

const verifyLong = `Compare the tree with the receipts of what is installed: what is missing, or has
another content, mode, owner, time or link target than apply left. Where several
receipts name a path, the newest counts. With ID that receipt alone is compared.

Where an apply or upgrade found a file changed or removed by you and left it so,
as its step's preserve says or --keep did, the file is yours from then on, and
so is what was put beside it. Such a path is listed as yours, also when you
change it later, and does not count as a difference, until a step puts something
there again. What you changed and no apply has found yet does count.

EXAMPLES
  steps verify --prefix /opt/brew

EXIT STATUS
  0 if nothing differs but what is yours, 6 if something does; 2 if there is no
  such receipt; the others as in steps --help`

func newVerify(t *terminal) *cobra.Command {
	var where storeFlags
	cmd := &cobra.Command{
		Use: "verify [ID]", Short: "Compare the tree with what was applied", Long: verifyLong, GroupID: "apply", Args: atMostOne("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := where.open()
			if err != nil {
				return err
			}
			defer store.Close()
			if len(args) == 0 {
				found, err := interp.Verify(store)
				if err != nil {
					return err
				}
				receipts, err := store.Receipts()
				if err != nil {
					return err
				}
				for _, inst := range interp.Installed(receipts) {
					if err := verifyAbove(cmd.Context(), t, found, inst.Receipts...); err != nil {
						return err
					}
				}
				return sayVerified(t, found)
			}
			r, err := store.Receipt(args[0])
			if err != nil {
				return err
			}
			drifts, err := store.Verify(r)
			if err != nil {
				return err
			}
			found := &interp.Verified{Receipts: 1, Paths: len(r.Leaves().Changes)}
			yours := commit.YoursIn([]*commit.Receipt{r})
			for _, d := range drifts {
				list := &found.Drifts
				if yours.Covers(d) {
					list = &found.Yours
				}
				*list = append(*list, interp.Drifted{Receipt: r.ID, Drift: d})
			}
			if err := verifyAbove(cmd.Context(), t, found, r); err != nil {
				return err
			}
			return sayVerified(t, found)
		},
	}
	where.add(cmd.Flags())
	return cmd
}

func sayVerified(t *terminal, found *interp.Verified) error {
	drifted := map[string]bool{}
	for _, d := range found.Drifts {
		drifted[d.Path] = true
		if t.json {
			if err := t.object("drift", d); err != nil {
				return err
			}
		}
		t.say("%s", changeset.Printable(d.String()))
	}
	yours := map[string]bool{}
	for _, d := range found.Yours {
		yours[d.Path] = true
		if t.json {
			if err := t.object("yours", d); err != nil {
				return err
			}
		}
		t.say("%s", changeset.Printable(d.Path+" is yours: it "+d.Says()))
	}
	if len(drifted) > 0 {
		return &exitError{code: exitMoved, err: fmt.Errorf("%d of %d path(s) differ from what was applied", len(drifted), found.Paths)}
	}
	if t.json {
		return t.object("verified", map[string]any{"receipts": found.Receipts, "paths": found.Paths, "yours": len(yours)})
	}
	if len(yours) > 0 {
		t.say("%d receipt(s), %d path(s): nothing differs but %d path(s) of yours", found.Receipts, found.Paths, len(yours))
		return nil
	}
	t.say("%d receipt(s), %d path(s): nothing differs", found.Receipts, found.Paths)
	return nil
}
