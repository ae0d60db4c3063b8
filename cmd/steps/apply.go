package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"steps.example/interp"
	"steps.example/interp/changeset"
	"steps.example/interp/commit"
)

const applyLong = `Verify a signed document and do what it says: all of it, or nothing. What was
done is kept as a receipt, which undo takes back and verify compares with the
tree.

Everything that stands against it (signature, schema, missing approvals,
conflicts, a jail that this machine does not have) is listed before the first
change.

What was accepted is remembered beside the receipts: from then on, older steps
of that package are refused, and others under the same number. If the policy
names a registry's index, the index says which steps are current.

With --homebrew-api the document comes from a file of Homebrew's JSON API,
which the policy must trust and which must not be too old.

APPROVALS
  network                 a command may use the network
  sudo, ownership         do things that need root, or change owners
  terminate               end processes of the user
  set-id                  make set-user-id or set-group-id files
  link:outside            make links that lead out of the directories
  network:tcp/PORT        a command may connect to this port, and no other
  env:NAME                a command may see this variable of yours
  protected:NAME          change a place that other programs act upon, such as
                          .git/hooks or .bashrc
  read:home, write:home   read or change the home directory
  write:homebrew_prefix, write:prefix_root
                          change the prefix outside the shared directories

CONFLICTS
What is there, and was made by another package or by none, is not replaced,
changed or deleted, outside the package's own directories, until its path is
settled:
  --replace PATH      take it over; undo gives it back
  --adopt PATH        let it be the package's, if it is as the package makes it
  --keep PATH         leave it alone, whatever the document says

STEPS THAT NEED ROOT
Where you are not root, they are done last, by steps broker, if that is set up;
otherwise all of them are listed, and nothing is done.

EXAMPLES
  steps apply demo.bundle --policy trust.json --artifact demo.tar.gz \
      --purl pkg:generic/acme/demo@1.0 --prefix /opt/brew
  steps apply --plan demo.plan --policy trust.json    # and --approve, --state,
                                 # --unsigned where the plan was made with them
  steps apply --homebrew-api formula.jws.json --formula demo \
      --policy trust.json --prefix /opt/brew
  steps apply demo.json --unsigned --prefix /tmp/try

EXIT STATUS
  0 also if caches whose rebuilding was put off (see steps trigger) could not be
  rebuilt now: that is a warning; the others as in steps --help`

func newApply(t *terminal) *cobra.Command {
	var src sourceFlags
	var target targetFlags
	var host hostFlags
	var planPath string
	var later bool
	var through brokerFlags
	cmd := &cobra.Command{
		Use: "apply [FILE]", Short: "Do what a signed document says, all or nothing", Long: applyLong,
		GroupID: "apply",
		Args: func(cmd *cobra.Command, args []string) error {
			_, found := src.path(args)
			if (planPath != "") == found || len(args) > 1 {
				return usagef("steps apply takes either FILE or --plan FILE or --homebrew-api FILE")
			}
			return src.homebrew.check(&src)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			fewerCollections()
			ctx := cmd.Context()
			if planPath != "" {
				if err := onlyWithPlan(cmd.Flags()); err != nil {
					return err
				}
				s, job, digest, err := loadPlan(ctx, t, planPath, src, target)
				if err != nil {
					return err
				}
				return runApply(ctx, t, s, job, host, through, digest, false)
			}
			s, job, err := prepare(ctx, t, &src, &target, args)
			if err != nil {
				return err
			}
			return runApply(ctx, t, s, job, host, through, "", later)
		},
	}
	src.add(cmd.Flags())
	src.addOthers(cmd.Flags())
	target.add(cmd.Flags())
	host.add(cmd.Flags())
	host.captureFlag(cmd.Flags())
	through.add(cmd.Flags())
	deferFlag(cmd.Flags(), &later)
	cmd.Flags().StringVar(&planPath, "plan", "", "carry out exactly the plan in `FILE`, or refuse")
	return cmd
}

// onlyWithPlan refuses flags whose values a plan has already.
func onlyWithPlan(flags *pflag.FlagSet) error {
	var err error
	flags.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "plan", "policy", "unsigned", "approve", "state", "json", "replace", "adopt", "allow-gap", "require", "capture", "offline", "allow-stale", "broker":
		default:
			err = usagef("--%s does not go with --plan, which has its own", f.Name)
		}
	})
	return err
}

func runApply(ctx context.Context, t *terminal, s *subject, job interp.Job, host hostFlags, through brokerFlags, digest string, later bool) error {
	capture, err := host.mode()
	if err != nil {
		return err
	}
	above, err := through.choose(s, &job)
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
	var done *interp.Applied
	err = s.accepting(func() (err error) {
		done, err = interp.Apply(ctx, job, host.machine(), interp.ApplyOptions{
			Store: store, Provenance: s.provenance, Expect: digest, Capture: capture, Defer: later, Broker: above,
		})
		return err
	})
	if err != nil {
		return refusals(t, err)
	}
	warnings(t, done)
	if err := sayApplied(t, s, job, done); err != nil || later {
		return err
	}
	return triggersAfter(ctx, t, store, withoutApprovals(job.Target), host)
}

// withoutApprovals is who acts, for what other packages put off: what was approved
// for this one is not approved for those.
func withoutApprovals(target interp.Target) interp.Target {
	target.Approved = nil
	return target
}

func sayApplied(t *terminal, s *subject, job interp.Job, done *interp.Applied) error {
	if done.Receipt == nil {
		if t.json {
			return t.object("applied", map[string]any{"changes": 0, "signed_by": s.signers()})
		}
		t.say("%s: nothing to change", heading(job))
		return nil
	}
	if t.json {
		return t.object("applied", map[string]any{
			"receipt": done.Receipt.ID, "changes": len(done.Receipt.Changeset.Changes), "time": done.Receipt.Time.Format(time.RFC3339),
			"signed_by": s.signers(), "privileged": len(done.Plan.Privileged), "broker_receipt": done.Receipt.Meta[interp.MetaBrokerReceipt],
		})
	}
	t.say("%s: %d path(s) changed", heading(job), len(done.Receipt.Changeset.Changes))
	sayYours(t, done.Receipt)
	if s.verified != nil {
		t.say("signed by %s", signedBy(s.verified.Signers))
	}
	if p, ok := brokerPart(done.Receipt); ok {
		t.say("%d step(s) done by the broker, whose receipt is %s", len(done.Plan.Privileged), p.Transaction)
	}
	t.say("receipt %s", done.Receipt.ID)
	return nil
}

// sayYours tells how much was left to the user.
func sayYours(t *terminal, r *commit.Receipt) {
	if yours := stays(r.Changeset, r.Yours); len(yours) > 0 {
		t.say("%d path(s) that you changed stay yours", len(yours))
	}
}

// refusals prints, for programs, what stands against a job, and gives err.
func refusals(t *terminal, err error) error {
	if refused, ok := errors.AsType[*interp.RefusedError](err); ok && t.json {
		for _, r := range refused.Refusals {
			if err := t.object("conflict", r); err != nil {
				return err
			}
		}
	}
	return err
}

// warnings prints what steps had to say.
func warnings(t *terminal, done *interp.Applied) {
	for _, w := range done.Warnings {
		t.talk("%s: %s", w.Place, changeset.Printable(w.Text))
	}
}
