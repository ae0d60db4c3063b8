package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"steps.example/interp"
)

const repairLong = `Make the paths of an installed package again what its receipts say: those that
steps verify finds to differ, and no others, all or nothing. What verify lists
as yours stays. steps undo takes a repair back.

What a receipt does not have, the content of files, is taken from what the store
keeps or from the stored document. Nothing executes: what a command made cannot
be repaired, and is listed; apply the package again for that.

EXAMPLES
  steps repair demo --prefix /opt/brew

EXIT STATUS
  0 if nothing differs any more; 2 if it is not installed; 6 if something could
  not be repaired; the others as in steps --help`

func newRepair(t *terminal) *cobra.Command {
	var who actorFlags
	cmd := &cobra.Command{
		Use: "repair NAME", Short: "Make an installed package again what it was", Long: repairLong, GroupID: "apply", Args: exactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRepair(cmd.Context(), t, &who, args[0])
		},
	}
	who.add(cmd.Flags())
	return cmd
}

func runRepair(ctx context.Context, t *terminal, who *actorFlags, name string) error {
	store, err := who.open()
	if err != nil {
		return err
	}
	defer store.Close()
	inst, err := who.find(store, name)
	if err != nil {
		return err
	}
	now, err := who.now()
	if err != nil {
		return err
	}
	if err := wholeHere(inst, "a repair"); err != nil {
		return err
	}
	done, err := inst.Repair(ctx, now, interp.Machine{}, interp.ApplyOptions{Store: store})
	if err != nil {
		return refusals(t, err)
	}
	if err := sayLeft(t, done.Left); err != nil {
		return err
	}
	id, paths := "", 0
	if done.Receipt != nil {
		id, paths = done.Receipt.ID, len(done.Receipt.Changeset.Changes)
	}
	if t.json {
		if err := t.object("repaired", map[string]any{
			"package": inst.Package.Name, "version": inst.Package.Version, "receipt": id, "changes": paths, "left": len(done.Left),
		}); err != nil {
			return err
		}
	}
	switch {
	case paths > 0:
		t.say("%s %s: %d path(s) repaired", inst.Package.Name, inst.Package.Version, paths)
		t.say("receipt %s", id)
	case len(done.Left) == 0:
		t.say("%s %s: nothing to repair", inst.Package.Name, inst.Package.Version)
	}
	if len(done.Left) > 0 {
		return &exitError{code: exitMoved, err: fmt.Errorf("%d path(s) could not be repaired", len(done.Left))}
	}
	return nil
}
