package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"steps.example/interp"
	"steps.example/interp/commit"
)

const triggerLong = `Carry out the triggers that were put off: steps that rebuild a cache from what
all packages put somewhere, such as compile_gsettings_schemas. With
--defer-triggers, apply and upgrade put them off. Each is then done once, for
however many packages asked for it, in one transaction.

What was put off is in the receipts of the packages and is not lost in a crash.
The next apply, upgrade, uninstall or recover without the flag carries it out as
well; if that fails there, it is a warning. What a package asked for is settled
when it is uninstalled.

EXAMPLES
  steps apply one.json --unsigned --prefix /tmp/try --defer-triggers
  steps apply two.json --unsigned --prefix /tmp/try --defer-triggers
  steps trigger --prefix /tmp/try

EXIT STATUS
  1 if one failed: all of them stay put off; the others as in steps --help`

func newTrigger(t *terminal) *cobra.Command {
	var who actorFlags
	cmd := &cobra.Command{
		Use: "trigger", Short: "Rebuild the caches whose rebuilding was put off", Long: triggerLong, GroupID: "apply", Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := who.open()
			if err != nil {
				return err
			}
			defer store.Close()
			now, err := who.now()
			if err != nil {
				return err
			}
			pending, err := triggersPending(store)
			if err == nil && pending == 0 && !t.json {
				t.say("nothing was put off")
			}
			if err != nil {
				return err
			}
			return runTriggers(cmd.Context(), t, store, now, who.host)
		},
	}
	who.storeFlags.add(cmd.Flags())
	who.host.add(cmd.Flags())
	who.host.captureFlag(cmd.Flags())
	cmd.Flags().StringSliceVar(&who.approve, "approve", nil, "allow a `CAPABILITY`, beside what was allowed when the packages were installed; repeatable")
	return cmd
}

func deferFlag(flags *pflag.FlagSet, later *bool) {
	flags.BoolVar(later, "defer-triggers", false, "put off what rebuilds caches, until steps trigger or an apply without this flag")
}

// triggersPending counts the packages that wait for a trigger.
func triggersPending(store *commit.Store) (int, error) {
	receipts, err := store.TriggerReceipts()
	return len(interp.PendingTriggers(receipts)), err
}

// triggersAfter carries out what was put off after a verb has done its work, which
// stays done whatever comes of it: a failure is a warning. Only what stands in the
// way of the next verb as well ends this one.
func triggersAfter(ctx context.Context, t *terminal, store *commit.Store, now interp.Target, host hostFlags) error {
	err := runTriggers(ctx, t, store, now, host)
	if err == nil {
		return nil
	}
	code := codeOf(err)
	if code == exitRecover || code == exitBug {
		return err
	}
	if t.json {
		if err := t.object("triggers_failed", map[string]any{"code": code, "message": err.Error()}); err != nil {
			return err
		}
	}
	t.warn(err)
	return nil
}

// runTriggers carries out what was put off.
func runTriggers(ctx context.Context, t *terminal, store *commit.Store, now interp.Target, host hostFlags) error {
	capture, err := host.mode()
	if err != nil {
		return err
	}
	done, err := interp.RunTriggers(ctx, now, host.machine(), interp.ApplyOptions{Store: store, Capture: capture})
	if err := sayTriggered(t, done); err != nil {
		return err
	}
	if err == nil {
		return nil
	}
	err = refusals(t, err)
	advice := "it is not tried again, since the packages that asked for it are uninstalled"
	if pending, countErr := triggersPending(store); countErr != nil || pending > 0 {
		advice = "this stays put off; steps trigger tries again"
	}
	return &exitError{code: codeOf(err), err: fmt.Errorf("the caches could not be rebuilt: %w\n%s", err, advice)}
}

func sayTriggered(t *terminal, done *interp.Applied) error {
	if done == nil || done.Receipt == nil {
		return nil
	}
	warnings(t, done)
	steps := len(done.Plan.Outcomes)
	if t.json {
		return t.object("triggered", map[string]any{
			"receipt": done.Receipt.ID, "changes": len(done.Receipt.Changeset.Changes), "steps": steps, "packages": len(done.Receipt.Settles),
		})
	}
	t.say("%d trigger(s) for %d package(s): %d path(s) changed", steps, len(done.Receipt.Settles), len(done.Receipt.Changeset.Changes))
	t.say("receipt %s", done.Receipt.ID)
	return nil
}
