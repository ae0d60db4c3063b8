package main

import (
	"fmt"

	"github.com/spf13/cobra"

	suite "steps.example/conformance/race"
)

const conformanceRaceLong = `Attack the tree while it is worked on: apply, upgrade, uninstall, undo, repair
and recovery, every step type and mixed documents, each in a scratch tree. A
process of the same user puts links that lead outside, and hard links from
there, in the place of directories and files, moves them away and back,
replaces and writes to them, and plants things where something is to be made,
all the time; and every attack is also made once right before each system call
that it could matter for.

Nothing outside may be changed, opened or read, nothing of it may turn up
inside, and nothing that somebody else made may be lost. That the same attacks
do get outside is shown on careless programs first, as the control.

A line for each scene: the attacked operations, those that broke this law, how
many went through, were refused, and wait for a decision, and the attacks made.
The last line is "N passed, M failed, K skipped", counting the operations.

PICK is a part of a scene's name, a step type, or control; without any, all run,
which takes minutes.

EXAMPLES
  steps conformance race
  steps conformance race copy move --rounds 5000
  steps conformance race --seed 7 --json

EXIT STATUS
  0 if none failed, 1 if one did or there is no attacker for this system`

func newConformanceRace(t *terminal) *cobra.Command {
	var opt suite.Options
	var list bool
	cmd := &cobra.Command{
		Use: "race [PICK...]", Short: "Attack the tree while it is worked on", Long: conformanceRaceLong,
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.Pick = args
			scenes, control, err := suite.Pick(args)
			if err != nil {
				return usagef("%w", err)
			}
			if opt.Rounds < 1 {
				return usagef("--rounds %d: must be at least 1", opt.Rounds)
			}
			if !list {
				return runConformanceRace(cmd, t, opt)
			}
			var names []string
			if control {
				names = append(names, "control")
			}
			for _, s := range scenes {
				names = append(names, s.Name)
			}
			return listScenes(t, names)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the scenes instead")
	cmd.Flags().IntVar(&opt.Rounds, "rounds", suite.DefaultRounds, "attacked operations in all, about")
	cmd.Flags().Uint64Var(&opt.Seed, "seed", 0, "let the attackers do otherwise")
	return cmd
}

func runConformanceRace(cmd *cobra.Command, t *terminal, opt suite.Options) error {
	return runSuite(t, "scene", func(report func(suite.Result)) (suite.Summary, error) {
		return suite.Run(cmd.Context(), opt, report)
	}, func(r suite.Result) string {
		return sceneLine(r.Name, fmt.Sprintf("%5d rounds", r.Rounds), r.Failed, r.Skipped, append(r.Problems,
			fmt.Sprintf("%d went through, %d refused, %d wait; %d attacks", r.Succeeded, r.Refused, r.Blocked, r.Swaps)))
	}, func(sum suite.Summary) ([]string, error) {
		return []string{
			fmt.Sprintf("%d rounds: %d went through, %d refused, %d wait for a decision; %d attacks", sum.Rounds, sum.Succeeded, sum.Refused, sum.Blocked, sum.Swaps),
			fmt.Sprintf("%d passed, %d failed, %d skipped", sum.Passed, sum.Failed, sum.Skipped),
		}, failures(sum.Failed, sum.Rounds, "attacks succeeded")
	})
}
