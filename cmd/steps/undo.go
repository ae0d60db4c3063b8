package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"steps.example/interp/commit"
)

const undoLong = `Take back what one apply did: the exact inverse of its receipt. It refuses,
listing every path, if the tree has changed since, and then changes nothing.

Without ID the newest receipt is taken back.

EXAMPLES
  steps undo --prefix /opt/brew
  steps undo 20261130T091500.000000000Z --prefix /opt/brew

EXIT STATUS
  6 if a path is not as apply left it; the others as in steps --help`

func newUndo(t *terminal) *cobra.Command {
	var where storeFlags
	cmd := &cobra.Command{
		Use: "undo [ID]", Short: "Take back what an apply did", Long: undoLong, GroupID: "apply", Args: atMostOne("ID"),
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := where.open()
			if err != nil {
				return err
			}
			defer store.Close()
			r, err := receiptArg(store, args)
			if err != nil {
				return err
			}
			if err := store.Undo(r.ID); err != nil {
				return err
			}
			if t.json {
				return t.object("undone", map[string]any{"receipt": r.ID, "changes": len(r.Changeset.Changes)})
			}
			t.say("%s %s: %d path(s) put back", r.Package.Name, r.Package.Version, len(r.Changeset.Changes))
			return nil
		},
	}
	where.add(cmd.Flags())
	return cmd
}

// receiptArg is the receipt that the arguments name, or the newest.
func receiptArg(store *commit.Store, args []string) (*commit.Receipt, error) {
	if len(args) == 1 {
		return store.Receipt(args[0])
	}
	all, err := store.Receipts()
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s holds no receipt: nothing was applied with this prefix and state", store.Path())
	}
	return all[len(all)-1], nil
}
