package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"steps.example/interp"
	"steps.example/interp/changeset"
)

const applyLong = `Verify a signed document and do what it says: all of it, or nothing. What was
done is kept as a receipt, which undo takes back and verify compares with the
tree.

Everything that stands against it (signature, schema, missing approvals,
conflicts, a jail that this machine does not have) is listed before the first
change.

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

EXAMPLES
  steps apply demo.bundle --policy trust.json --artifact demo.tar.gz \
      --purl pkg:generic/acme/demo@1.0 --prefix /opt/brew
  steps apply --plan demo.plan --policy trust.json    # and --approve, --state,
                                 # --unsigned where the plan was made with them
  steps apply demo.json --unsigned --prefix /tmp/try

EXIT STATUS
  as in steps --help`

func newApply(t *terminal) *cobra.Command {
	var src sourceFlags
	var target targetFlags
	var host hostFlags
	var planPath string
	cmd := &cobra.Command{
		Use: "apply [FILE]", Short: "Do what a signed document says, all or nothing", Long: applyLong,
		GroupID: "apply",
		Args: func(cmd *cobra.Command, args []string) error {
			if (planPath != "") == (len(args) == 1) || len(args) > 1 {
				return usagef("steps apply takes either FILE or --plan FILE")
			}
			return nil
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
				return runApply(ctx, t, s, job, host, digest)
			}
			s, err := src.load(ctx, t, args[0])
			if err != nil {
				return err
			}
			job, err := target.job(s.document)
			if err != nil {
				return err
			}
			return runApply(ctx, t, s, job, host, "")
		},
	}
	src.add(cmd.Flags())
	target.add(cmd.Flags())
	host.add(cmd.Flags())
	host.captureFlag(cmd.Flags())
	cmd.Flags().StringVar(&planPath, "plan", "", "carry out exactly the plan in `FILE`, or refuse")
	return cmd
}

// onlyWithPlan refuses flags whose values a plan has already.
func onlyWithPlan(flags *pflag.FlagSet) error {
	var err error
	flags.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "plan", "policy", "unsigned", "approve", "state", "json", "allow-gap", "require", "capture":
		default:
			err = usagef("--%s does not go with --plan, which has its own", f.Name)
		}
	})
	return err
}

func runApply(ctx context.Context, t *terminal, s *subject, job interp.Job, host hostFlags, digest string) error {
	capture, err := host.mode()
	if err != nil {
		return err
	}
	if err := makeTemp(job.Target); err != nil {
		return err
	}
	store, err := openStore(job.Target)
	if err != nil {
		return err
	}
	defer store.Close()
	done, err := interp.Apply(ctx, job, host.machine(), interp.ApplyOptions{
		Store: store, Provenance: s.provenance, Expect: digest, Capture: capture,
	})
	if err != nil {
		if refused, ok := errors.AsType[*interp.RefusedError](err); ok && t.json {
			for _, r := range refused.Refusals {
				if err := t.object("conflict", r); err != nil {
					return err
				}
			}
		}
		return err
	}
	for _, w := range done.Warnings {
		t.talk("step %d: %s", w.Step, changeset.Printable(w.Text))
	}
	if done.Receipt == nil {
		if t.json {
			return t.object("applied", map[string]any{"changes": 0})
		}
		t.say("%s: nothing to change", heading(job))
		return nil
	}
	if t.json {
		return t.object("applied", map[string]any{
			"receipt": done.Receipt.ID, "changes": len(done.Receipt.Changeset.Changes), "time": done.Receipt.Time.Format(time.RFC3339),
		})
	}
	t.say("%s: %d path(s) changed", heading(job), len(done.Receipt.Changeset.Changes))
	t.say("receipt %s", done.Receipt.ID)
	return nil
}
