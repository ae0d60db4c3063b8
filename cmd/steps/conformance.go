package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"steps.example/conformance"
	"steps.example/interp"
)

const vectorsLong = `Run cases in the format of the vectors: a tree, a list of steps, and what an
existing implementation makes of them. PATH is a .jsonl or .jsonl.gz file, or a
directory of such files. Each case is planned, applied, applied again and taken
back in a scratch directory of its own; in between every path that it made is
spoiled in every way, one after the other, which verify must find. The last
line is "N passed, M failed".

EXAMPLES
  steps conformance vectors conformance/testdata/homebrew

EXIT STATUS
  0 if all passed, 1 if not`

func newConformance(t *terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: "conformance", Short: "Run the conformance suite", GroupID: "test", Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use: "vectors PATH...", Short: "Run behaviour vectors", Long: vectorsLong, Args: atLeastOne("PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var cases []conformance.Case
			for _, path := range args {
				more, err := conformance.ReadCases(path)
				if err != nil {
					return err
				}
				cases = append(cases, more...)
			}
			mutations := 0
			passed, failed := conformance.RunAll(cmd.Context(), cases, interp.Machine{}, conformance.Options{AllMutations: true}, func(r conformance.Result) {
				mutations += r.Mutations
				if r.Problem != nil {
					t.say("FAIL %s: %v", r.Case.Name, r.Problem)
				}
			})
			if t.json {
				if err := t.object("summary", map[string]int{"passed": passed, "failed": failed, "mutations": mutations}); err != nil {
					return err
				}
			}
			t.say("what they made was spoiled in %d ways, one at a time, for verify to find", mutations)
			t.say("%d passed, %d failed", passed, failed)
			if failed > 0 {
				return &exitError{code: exitFailed, err: fmt.Errorf("%d of %d cases failed", failed, passed+failed)}
			}
			return nil
		},
	})
	cmd.AddCommand(newConformanceJail(t), newConformanceCrash(t), newConformanceFaults(t), newConformanceRace(t))
	return cmd
}
