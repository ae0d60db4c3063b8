package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"steps.example/interp"
	"steps.example/interp/commit"
)

const recoverLong = `Bring an interrupted transaction to an end: what was committed is completed,
what was not is taken back. The tree is then as before or as after, never
between.

Where a path holds something that steps did not put there, it is left alone
and so is what steps has: both are listed, and further applies are refused
until you have looked and say --keep: the tree stays as it is, and what steps
holds goes aside.

A receipt that is damaged stops everything that must know whose the files are.
With --keep it goes aside, too, with what it keeps for undo: it counts for
nothing then, and what it is about stays in the tree as it is. One that a newer
steps wrote stays; use that.

Triggers that were put off (see steps trigger) are carried out as well; that one
fails is a warning.

EXAMPLES
  steps recover --prefix /opt/brew

EXIT STATUS
  7 if a decision is needed, or a receipt cannot be used; the others as in
  steps --help`

func newRecover(t *terminal) *cobra.Command {
	var where storeFlags
	var keep bool
	cmd := &cobra.Command{
		Use: "recover", Short: "Bring an interrupted apply to an end", Long: recoverLong, GroupID: "apply", Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := where.open()
			if is[*noStoreError](err) {
				t.say("%s", err)
				return nil
			}
			if err != nil {
				return err
			}
			defer store.Close()
			done, err := interp.Recover(store, commit.RecoverOptions{Keep: keep}, settleByBroker(cmd.Context(), t))
			for _, r := range done {
				if t.json {
					if err := t.object("recovered", map[string]any{
						"id": r.ID, "committed": r.Committed, "kept": r.Kept, "conflicts": r.Conflicts, "damaged": r.Damaged,
					}); err != nil {
						return err
					}
				}
				t.say("%s", describeRecovered(r))
			}
			if err == nil && len(done) == 0 {
				t.say("nothing was interrupted")
			}
			if err != nil {
				return err
			}
			now, err := (&actorFlags{storeFlags: where}).now()
			if err != nil {
				return err
			}
			return triggersAfter(cmd.Context(), t, store, now, hostFlags{})
		},
	}
	where.add(cmd.Flags())
	cmd.Flags().BoolVar(&keep, "keep", false, "where both have something, keep the tree and put aside what steps holds; put aside damaged receipts")
	return cmd
}

func describeRecovered(r commit.Recovered) string {
	switch {
	case r.Damaged != "":
		return fmt.Sprintf("%s: its receipt is damaged, %s; it was put aside, with what it held, in %s, and counts for nothing any more; the tree stays as it is", r.ID, r.Damaged, r.Kept)
	case r.Kept != "":
		return fmt.Sprintf("%s: given up; the tree stays as it is, what steps held is in %s", r.ID, r.Kept)
	case r.Committed:
		return r.ID + ": completed; the tree is as after the apply"
	}
	return r.ID + ": taken back; the tree is as before the apply"
}
