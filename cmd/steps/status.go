package main

import (
	"cmp"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"steps.example/interp"
	"steps.example/interp/commit"
)

const statusLong = `List what is installed, and all that was done, oldest first; what is being done
by another process at this moment, and what was interrupted. A receipt that is
damaged, or that a newer steps wrote, is listed as such.

EXAMPLES
  steps status --prefix /opt/brew

EXIT STATUS
  7 if a transaction was interrupted or a receipt cannot be used, 8 if one is in
  progress: the rest is listed in any case; the others as in steps --help`

func newStatus(t *terminal) *cobra.Command {
	var where storeFlags
	cmd := &cobra.Command{
		Use: "status", Short: "List what is installed, was done and was interrupted", Long: statusLong, GroupID: "apply", Args: exactArgs(),
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
	unfinished := unfinishedIn(store)
	interrupted, stopped := errors.AsType[*commit.InterruptedError](unfinished)
	if unfinished != nil && !stopped && !is[*commit.LockedError](unfinished) {
		return unfinished
	}
	receipts, err := store.Receipts()
	unreadable, err := commit.Unreadable(err)
	if err != nil {
		return err
	}
	if err := sayInstalled(t, interp.Installed(receipts)); err != nil {
		return err
	}
	if err := sayReceipts(t, receipts, unreadable); err != nil {
		return err
	}
	if stopped && t.json {
		for _, p := range interrupted.Pending {
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
	if len(receipts)+len(unreadable) == 0 && unfinished == nil {
		t.say("nothing was applied (state in %s)", store.Path())
	}
	var errs []error
	for _, e := range unreadable {
		errs = append(errs, e)
	}
	if stopped {
		errs = append(errs, interrupted)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return sayAtWork(t, unfinished)
}

// unfinishedIn is the error that names who works on the store, or what was
// interrupted there; nil where nothing is unfinished. The lock alone tells the one
// from the other, and is taken only where something is unfinished: looking is in
// nobody's way.
func unfinishedIn(store *commit.Store) error {
	pending, err := store.Pending()
	if err != nil || len(pending) == 0 {
		return err
	}
	release, err := store.Share("status")
	if err == nil { // it has come to its end meanwhile
		release()
	}
	return err
}

func sayAtWork(t *terminal, err error) error {
	if locked, ok := errors.AsType[*commit.LockedError](err); ok && t.json {
		who := map[string]any{"pid": locked.PID, "verb": locked.Verb}
		if !locked.Since.IsZero() {
			who["since"] = locked.Since.Format(time.RFC3339)
		}
		if err := t.object("in_progress", who); err != nil {
			return err
		}
	}
	return err
}

func sayInstalled(t *terminal, list []*interp.Installation) error {
	if t.json {
		for _, i := range list {
			ids := make([]string, 0, len(i.Receipts))
			for _, r := range i.Receipts {
				ids = append(ids, r.ID)
			}
			if err := t.object("installed", map[string]any{
				"package": i.Package.Name, "version": i.Package.Version, "layout": i.Layout, "receipts": ids,
			}); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		return nil
	}
	packages := make([]commit.Package, 0, len(list))
	for _, i := range list {
		packages = append(packages, i.Package)
	}
	hanging(t, "installed: ", commit.Names(packages))
	return nil
}

func sayReceipts(t *terminal, receipts []*commit.Receipt, unreadable []*commit.ReceiptError) error {
	gone := commit.TakenBack(receipts)
	if t.json {
		for _, r := range receipts {
			if err := t.object("receipt", map[string]any{
				"id": r.ID, "package": r.Package.Name, "version": r.Package.Version, "phase": r.Phase,
				"action": actionOf(r), "undoes": r.Undoes, "undone_by": gone[r.ID],
				"paths": len(r.Changeset.Changes), "time": r.Time.Format(time.RFC3339), "key_id": r.Key, "signed_by": r.Meta["signed_by"],
			}); err != nil {
				return err
			}
		}
		for _, e := range unreadable {
			if err := t.object("unreadable", map[string]any{"id": e.ID, "file": e.File, "fault": e.Fault, "reason": e.Err.Error()}); err != nil {
				return err
			}
		}
		return nil
	}
	if len(receipts)+len(unreadable) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RECEIPT\tACTION\tPACKAGE\tVERSION\tPATHS\tTIME")
	for _, r := range receipts {
		action := actionOf(r)
		if gone[r.ID] != "" {
			action += " (undone)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\n", r.ID, action, r.Package.Name, r.Package.Version, len(r.Changeset.Changes), r.Time.Local().Format("2006-01-02 15:04"))
	}
	for _, e := range unreadable {
		fmt.Fprintf(table, "%s\t(%s)\t\t\t\t\n", e.ID, e.Fault)
	}
	return table.Flush()
}

// actionOf is what a receipt's transaction was for.
func actionOf(r *commit.Receipt) string { return cmp.Or(r.Action, "apply") }
