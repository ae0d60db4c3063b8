package main

import (
	"fmt"

	"github.com/spf13/cobra"

	suite "steps.example/conformance/faults"
)

const conformanceFaultsLong = `Make the system calls of a commit fail: apply, upgrade, uninstall, undo,
repair, every step type and mixed documents, each in a scratch tree. Every call
that changes a file system fails once with each of ENOSPC, EDQUOT, EIO, EPERM,
EACCES, EROFS, EMFILE, EXDEV and ENAMETOOLONG; for good, as on a full disk, so
that taking back fails, too; and half way, where it writes. Then the kernel
itself makes them fail: full and read-only file systems, immutable files,
limits, names too long.

The tree must be as before, or once the commit is on record as after; what waits
for recovery must end so when the fault is gone; nothing may be left behind; and
the error must be one short message that says what failed, where and why.

A line for each scene: the faults tried, and those that ended badly. The last
line is "N passed, M failed, K skipped"; what is skipped says what this machine
lacks.

PICK is a part of a name; without any, all run, which takes minutes. --rounds
bounds the faults of each scene, of which --seed then chooses others.

EXAMPLES
  steps conformance faults
  steps conformance faults real: upgrade
  steps conformance faults --rounds 50 --seed 7 --verbose

EXIT STATUS
  0 if none failed, 1 if one did`

func newConformanceFaults(t *terminal) *cobra.Command {
	var opt suite.Options
	var list, verbose bool
	cmd := &cobra.Command{
		Use: "faults [PICK...]", Short: "Make system calls fail", Long: conformanceFaultsLong,
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.Pick = args
			names, err := suite.Pick(suite.Names(), args)
			if err != nil {
				return usagef("%w", err)
			}
			if opt.Rounds < 0 {
				return usagef("--rounds %d: must be 0, for all, or more", opt.Rounds)
			}
			if list {
				return listScenes(t, names)
			}
			return runConformanceFaults(cmd, t, opt, verbose)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the scenes instead")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show every message that a user would get")
	cmd.Flags().IntVar(&opt.Rounds, "rounds", 0, "the most faults of a scene; 0 is all")
	cmd.Flags().Uint64Var(&opt.Seed, "seed", 0, "choose other faults, where there are --rounds")
	return cmd
}

func runConformanceFaults(cmd *cobra.Command, t *terminal, opt suite.Options, verbose bool) error {
	return runSuite(t, "scene", func(report func(suite.Result)) (suite.Summary, error) {
		return suite.Run(cmd.Context(), opt, report)
	}, func(r suite.Result) string {
		lines := r.Problems
		if verbose {
			lines = append(lines, r.Said...)
		}
		return sceneLine(r.Name, fmt.Sprintf("%5d points", r.Points), r.Failed, r.Skipped, lines)
	}, func(sum suite.Summary) ([]string, error) {
		return []string{fmt.Sprintf("%d passed, %d failed, %d skipped", sum.Passed, sum.Failed, sum.Skipped)},
			failures(sum.Failed, sum.Points, "faults ended badly")
	})
}
