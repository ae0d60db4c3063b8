package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"steps.example/interp"
)

const planLong = `Print what apply would do, and change nothing.

Each path that would change is a line: create, replace, delete, modify or
move; texts come with a diff. run and end are what would execute, as root are
steps that steps broker would do, keep are steps whose result is there already,
conflict is what stands against it.

With -o the plan goes to a file, which apply --plan carries out exactly, or
refuses if the tree has changed since.

EXAMPLES
  steps plan demo.json --unsigned --prefix /opt/brew
  steps plan demo.bundle --policy trust.json --artifact demo.tar.gz \
      --purl pkg:generic/acme/demo@1.0 --prefix /opt/brew -o demo.plan
  steps plan --homebrew-api formula.jws.json --formula demo \
      --policy trust.json --prefix /opt/brew

EXIT STATUS
  0 if it can be applied, 5 if something stands against it (it is printed all
  the same); the others as in steps --help.`

func newPlan(t *terminal) *cobra.Command {
	var src sourceFlags
	var target targetFlags
	var host hostFlags
	var out string
	var through brokerFlags
	cmd := &cobra.Command{
		Use: "plan [FILE]", Short: "Show what a document would change", Long: planLong,
		GroupID: "apply",
		Args:    src.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			fewerCollections()
			if out != "" && src.homebrew.file != "" {
				return usagef("-o does not go with --homebrew-api, whose files are too old too soon; apply from the file")
			}
			s, job, err := prepare(cmd.Context(), t, &src, &target, args)
			if err != nil {
				return err
			}
			if _, err := through.choose(s, &job); err != nil {
				return err
			}
			// Before the first apply there is no store, and no package owns anything.
			store, err := target.open()
			if err == nil {
				defer store.Close()
				job.Store = store
			} else if !is[*noStoreError](err) {
				return err
			}
			return runPlan(cmd.Context(), t, s, job, host, out)
		},
	}
	src.add(cmd.Flags())
	src.addOthers(cmd.Flags())
	target.add(cmd.Flags())
	host.add(cmd.Flags())
	through.add(cmd.Flags())
	cmd.Flags().StringVarP(&out, "output", "o", "", "write the plan to `FILE`, for apply --plan")
	return cmd
}

// fewerCollections is for verbs that live shortly and make little garbage:
// collecting it early costs more time than the memory is worth.
func fewerCollections() { debug.SetGCPercent(400) }

func runPlan(ctx context.Context, t *terminal, s *subject, job interp.Job, host hostFlags, out string) error {
	if err := makeTemp(job.Target); err != nil {
		return err
	}
	plan, err := interp.MakePlan(ctx, job, host.machine())
	if err != nil {
		return err
	}
	if err := printPlan(t, job, plan); err != nil {
		return err
	}
	if len(plan.Refused) > 0 {
		code := refusedCode(&interp.RefusedError{Refusals: plan.Refused})
		if code == exitFailed { // nothing was done that could fail
			code = exitRefused
		}
		return &exitError{code: code, err: fmt.Errorf("this plan cannot be applied: %d thing(s) stand against it", len(plan.Refused))}
	}
	if out == "" {
		return nil
	}
	data, err := encodePlanFile(s, job, plan)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, data, 0o600); err != nil {
		return err
	}
	t.talk("plan written to %s", out)
	return nil
}
