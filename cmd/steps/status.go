package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"steps.example/interp"
)

const statusLong = `List what was applied, oldest first, and what was interrupted.

EXAMPLES
  steps status --prefix /opt/brew

EXIT STATUS
  7 if a transaction was interrupted; the others as in steps --help`

func newStatus(t *terminal) *cobra.Command {
	var where storeFlags
	cmd := &cobra.Command{
		Use: "status", Short: "List what was applied and what was interrupted", Long: statusLong, GroupID: "apply", Args: exactArgs(),
		RunE: func(*cobra.Command, []string) error { return runStatus(t, where) },
	}
	where.add(cmd.Flags())
	return cmd
}

func runStatus(t *terminal, where storeFlags) error {
	store, err := where.open()
	if is[*noStoreError](err) {
		t.say("%s", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer store.Close()
	receipts, err := store.Receipts()
	if err != nil {
		return err
	}
	pending, err := store.Pending()
	if err != nil {
		return err
	}
	if !t.json && len(receipts) > 0 {
		table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "RECEIPT\tPACKAGE\tVERSION\tPATHS\tAPPLIED")
		for _, r := range receipts {
			fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\n", r.ID, r.Package.Name, r.Package.Version, len(r.Changeset.Changes), r.Time.Local().Format("2006-01-02 15:04"))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if t.json {
		for _, r := range receipts {
			if err := t.object("receipt", map[string]any{
				"id": r.ID, "package": r.Package.Name, "version": r.Package.Version, "phase": r.Phase,
				"paths": len(r.Changeset.Changes), "time": r.Time.Format(time.RFC3339), "key_id": r.Key, "signed_by": r.Meta["signed_by"],
			}); err != nil {
				return err
			}
		}
		for _, p := range pending {
			if err := t.object("pending", map[string]any{"id": p.ID, "committed": p.Committed, "damaged": p.Damaged}); err != nil {
				return err
			}
		}
	}
	if waiting := len(interp.PendingTriggers(receipts)); waiting > 0 {
		if t.json {
			if err := t.object("triggers", map[string]any{"packages": waiting}); err != nil {
				return err
			}
		}
		t.say("%d package(s) wait for steps trigger", waiting)
	}
	if len(receipts) == 0 && len(pending) == 0 {
		t.say("nothing was applied (state in %s)", store.Path())
	}
	if len(pending) > 0 {
		return &exitError{code: exitRecover, err: fmt.Errorf("%d transaction(s) were interrupted; run steps recover", len(pending))}
	}
	return nil
}
