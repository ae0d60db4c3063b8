package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"steps.example/interp"
	"steps.example/interp/changeset"
	"steps.example/interp/commit"
)

const undoLong = `Take back what one apply, upgrade, uninstall or repair did: the exact inverse
of its receipt. It puts back what was there, whoever's that was: also what a
package had made that was uninstalled since. If the tree has changed since, or
another package came to use what is to go, each such path is listed with what
is there now, and nothing is changed.

With --force those paths stay as they are, and everything else is taken back,
with copies of files where undo otherwise puts back the files themselves: see
steps uninstall --help for what a copy lacks.
That makes a receipt of its own, which says what was left and can be undone.

Without ID the newest receipt is taken back. steps status lists them.

EXAMPLES
  steps undo --prefix /opt/brew
  steps undo 20261130T091500.000000000Z --prefix /opt/brew

EXIT STATUS
  0 also if something stays with --force; 2 if there is no such receipt; 6 if a
  path is not as apply left it; the others as in steps --help`

func newUndo(t *terminal) *cobra.Command {
	var where storeFlags
	var force bool
	cmd := &cobra.Command{
		Use: "undo [ID]", Short: "Take back what an apply did", Long: undoLong, GroupID: "apply", Args: atMostOne("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := where.open()
			if err != nil {
				return err
			}
			defer store.Close()
			r, err := receiptArg(store, args)
			if err != nil {
				return err
			}
			return runUndo(cmd.Context(), t, store, r, force)
		},
	}
	where.add(cmd.Flags())
	cmd.Flags().BoolVar(&force, "force", false, "leave what was changed since, and take back the rest")
	return cmd
}

func runUndo(ctx context.Context, t *terminal, store *commit.Store, r *commit.Receipt, force bool) error {
	if err := undoAbove(ctx, t, store, r, force); err != nil {
		return sayMoved(t, err)
	}
	done, err := interp.Undo(ctx, r.ID, interp.Machine{}, interp.ApplyOptions{Store: store}, force)
	if err != nil {
		return sayMoved(t, err)
	}
	if err := sayLeft(t, done.Left); err != nil {
		return err
	}
	changes, by := len(r.Changeset.Changes), ""
	if done.By != nil {
		changes, by = len(done.By.Changeset.Changes), done.By.ID
	}
	if t.json {
		return t.object("undone", map[string]any{"receipt": r.ID, "changes": changes, "left": len(done.Left), "by": by})
	}
	if by == "" {
		t.say("%s %s: %d path(s) put back", r.Package.Name, r.Package.Version, changes)
		return nil
	}
	t.say("%s %s: %d path(s) put back, %d left as they are", r.Package.Name, r.Package.Version, changes, len(done.Left))
	t.say("receipt %s", by)
	return nil
}

// sayMoved lists the paths that stand against an undo.
func sayMoved(t *terminal, err error) error {
	drift, ok := errors.AsType[*commit.DriftError](err)
	if !ok {
		return err
	}
	paths := map[string]bool{}
	for _, d := range drift.Drifts {
		paths[d.Path] = true
		if t.json {
			if err := t.object("drift", d); err != nil {
				return err
			}
		}
		word := "changed"
		if d.Kind == commit.DriftUsed {
			word = "used"
		}
		t.say("%-9s %s", word, changeset.Printable(d.String()))
	}
	return &exitError{code: codeOf(err), err: fmt.Errorf(
		"nothing was taken back: %d path(s) changed since; put them in order, or say --force to leave them and take back the rest", len(paths))}
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
		return nil, usagef("%s holds no receipt: nothing was applied with this prefix and state", store.Path())
	}
	return all[len(all)-1], nil
}
