package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"steps.example/interp"
)

const upgradeLong = `Put a new version of a package in the place of the installed one, all or
nothing: what the installed document says about its removal, then what the new
one says about its installation. If anything fails, or the machine stops in the
middle, the old version is whole.

The removal is that of the document the old version was installed with, as the
store keeps it, not that of a newer one. Links that the old version made count
as the package's own, and the new version's may take their place. What else it
made stays and goes when the new version is uninstalled.

With --force, steps of that removal that cannot be done are left out and
listed, as with steps uninstall; those of the new version never are. The other
flags are those of steps apply.

EXAMPLES
  steps upgrade demo-2.bundle --policy trust.json --artifact demo-2.tar.gz \
      --purl pkg:generic/acme/demo@2.0 --prefix /opt/brew
  steps upgrade demo-2.json --unsigned --force --prefix /tmp/try

EXIT STATUS
  0 also if caches that were put off (see steps trigger) could not be rebuilt;
  1 if a step failed: the old version is whole, and the message says whether it
  was a step of its removal; 2 if the package is not installed; the others as in
  steps --help`

func newUpgrade(t *terminal) *cobra.Command {
	var src sourceFlags
	var target targetFlags
	var host hostFlags
	var from string
	var later, force bool
	cmd := &cobra.Command{
		Use: "upgrade FILE", Short: "Put a new version in the place of the installed one", Long: upgradeLong,
		GroupID: "apply",
		Args:    src.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			fewerCollections()
			if target.removal || len(target.phases) > 0 {
				return usagef("--removal and --phase do not go with an upgrade, which does what belongs to it")
			}
			s, job, err := prepare(cmd.Context(), t, &src, &target, args)
			if err != nil {
				return err
			}
			return runUpgrade(cmd.Context(), t, s, job, host, from, later, force)
		},
	}
	src.add(cmd.Flags())
	src.addOthers(cmd.Flags())
	target.add(cmd.Flags())
	host.add(cmd.Flags())
	host.captureFlag(cmd.Flags())
	cmd.Flags().StringVar(&from, "from", "", "the installed `VERSION` to replace, where several are installed")
	cmd.Flags().BoolVar(&force, "force", false, forceUsage)
	deferFlag(cmd.Flags(), &later)
	return cmd
}

func runUpgrade(ctx context.Context, t *terminal, s *subject, job interp.Job, host hostFlags, from string, later, force bool) error {
	capture, err := host.mode()
	if err != nil {
		return err
	}
	if err := makeTemp(job.Target); err != nil {
		return err
	}
	store, err := openStore(t, job.Target)
	if err != nil {
		return err
	}
	defer store.Close()
	old, err := interp.Find(store, job.Target.Name, from)
	if err != nil {
		return notInstalled(err, "--from", "install it with steps apply")
	}
	if err := wholeHere(old, "an upgrade"); err != nil {
		return err
	}
	var done *interp.Applied
	err = s.accepting(func() (err error) {
		done, err = interp.Upgrade(ctx, old, job, host.machine(), interp.ApplyOptions{
			Store: store, Provenance: s.provenance, Capture: capture, Defer: later,
		}, force)
		return err
	})
	if err != nil {
		return unlessForced(refusals(t, err), done != nil && done.Stuck, force)
	}
	warnings(t, done)
	if err := saySkipped(t, done.Skipped); err != nil {
		return err
	}
	if t.json {
		err = t.object("upgraded", map[string]any{
			"package": job.Target.Name, "from": old.Package.Version, "version": job.Target.Version,
			"receipt": done.Receipt.ID, "changes": len(done.Receipt.Changeset.Changes), "time": done.Receipt.Time.Format(time.RFC3339),
			"signed_by": s.signers(), "deferred": len(done.Triggers), "skipped": len(done.Skipped),
		})
	}
	t.say("%s %s is now %s: %d path(s) changed", job.Target.Name, old.Package.Version, job.Target.Version, len(done.Receipt.Changeset.Changes))
	sayYours(t, done.Receipt)
	if s.verified != nil {
		t.say("signed by %s", signedBy(s.verified.Signers))
	}
	t.say("receipt %s", done.Receipt.ID)
	if err != nil || later {
		return err
	}
	return triggersAfter(ctx, t, store, withoutApprovals(job.Target), host)
}

// notInstalled adds to an error of [interp.Find] what to do.
func notInstalled(err error, flag, advice string) error {
	e, ok := errors.AsType[*interp.NotInstalledError](err)
	if !ok {
		return err
	}
	if len(e.Versions) > 0 {
		return usagef("%w with %s VERSION", err, flag)
	}
	return usagef("%w; %s", err, advice)
}
