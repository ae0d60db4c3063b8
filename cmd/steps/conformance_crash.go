package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	suite "steps.example/conformance/crash"
)

const conformanceCrashLong = `Stop what changes a tree at every point, before and after every system call
that changes a file system, and recover: apply, upgrade, uninstall, undo,
repair, every step type and mixed documents, each in a scratch tree. Afterwards
the tree must be as before or as after, to the bit, whichever the receipts say,
with nothing left behind. It is stopped as by SIGKILL, and as by a power
failure that loses what was not synced. Recovery is stopped at every point,
too, and the second one at some. In some scenes somebody changes the tree
before recovery; where that cannot decide then, it must keep both sides, say
so, and do nothing more until it is told.

A line for each scene: how often it was stopped, and how often that ended badly.
The last line is "N passed, M failed", counting how often it was stopped.

PICK is a part of a scene's name, or a step type; without any, all run, which
takes minutes. --thorough tries everything that a power failure may lose, which
takes hours.

EXAMPLES
  steps conformance crash
  steps conformance crash upgrade inreplace --seed 7
  steps conformance crash --list

EXIT STATUS
  0 if none failed, 1 if one did`

func newConformanceCrash(t *terminal) *cobra.Command {
	var opt suite.Options
	var list bool
	cmd := &cobra.Command{
		Use: "crash [PICK...]", Short: "Stop and recover at every point", Long: conformanceCrashLong,
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.Pick = args
			names, err := suite.Names(opt)
			if err != nil {
				return usagef("%w", err)
			}
			if list {
				return listScenes(t, names)
			}
			return runCrashScenes(cmd, t, opt)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the scenes instead")
	cmd.Flags().BoolVar(&opt.Thorough, "thorough", false, "try everything that a power failure may lose")
	cmd.Flags().BoolVar(&opt.Short, "short", false, "try a sample, in seconds")
	cmd.Flags().Uint64Var(&opt.Seed, "seed", 0, "choose otherwise among what could be lost")
	cmd.Flags().StringVar(&opt.Dir, "dir", "", "where to make the trees; the fastest place is chosen otherwise")
	return cmd
}

func runCrashScenes(cmd *cobra.Command, t *terminal, opt suite.Options) error {
	return runSuite(t, "scene", func(report func(suite.Result)) (suite.Summary, error) {
		return suite.Run(cmd.Context(), opt, report)
	}, crashLine, func(sum suite.Summary) ([]string, error) {
		return []string{fmt.Sprintf("%d passed, %d failed", sum.Passed, sum.Failed)}, failures(sum.Failed, sum.Points, "points failed")
	})
}

// crashLine is a scene's result, and what is wrong below it.
func crashLine(r suite.Result) string {
	name := r.Scene
	if r.Where != "" {
		name += " (" + r.Where + ")"
	}
	if r.Skipped != "" {
		return fmt.Sprintf("skip %s: %s", name, r.Skipped)
	}
	lines := []string{sceneHead(name, fmt.Sprintf("%6d points", r.Points), r.Failed)}
	for _, p := range r.Problems {
		lines = append(lines, "     "+p)
	}
	return strings.Join(lines, "\n")
}
