package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	suite "steps.example/conformance/jail"
	"steps.example/interp/changeset"
)

const conformanceJailLong = `Hold the jail to what it promises, on this machine and for this user: attacks
and ordinary work as real programs in the real jail, hostile environments
around it, and commands whose output must not become real. Everything happens
in a scratch directory and is gone afterwards.

A line each: the number in the table of attacks, the name, what is expected and
what came out (an error number's name, or a word), the mechanism, and whether
the control, which is the same without a jail, succeeded. The last line is
"N passed, M failed, K skipped"; what is skipped says what this machine lacks.

PICK is a number, a range of numbers or a part of a name; without any, all
cases run.

EXAMPLES
  steps conformance jail
  steps conformance jail 32-44 keyring
  steps conformance jail --mode landlock --json

EXIT STATUS
  0 if none failed, 1 if one did or there is no jail on this machine`

func newConformanceJail(t *terminal) *cobra.Command {
	var opt suite.Options
	var list, verbose bool
	cmd := &cobra.Command{
		Use: "jail [PICK...]", Short: "Attack the jail, and work in it", Long: conformanceJailLong,
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.Pick = args
			if list {
				return listJailCases(t, args)
			}
			return runJailCases(cmd, t, opt, verbose)
		},
	}
	cmd.Flags().StringVar(&opt.Mode, "mode", suite.ModeAuto, "auto: the jail as it is here; namespaces: an error if it has none; landlock: as where there are none")
	cmd.Flags().BoolVar(&list, "list", false, "list the cases instead")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show every refusal's words")
	return cmd
}

func listJailCases(t *terminal, picks []string) error {
	cases, err := suite.Pick(suite.Cases(), picks)
	if err != nil {
		return usagef("%w", err)
	}
	for _, c := range cases {
		if t.json {
			if err := t.object("case", map[string]any{"number": c.Number, "name": c.Name, "expected": c.Expected}); err != nil {
				return err
			}
		}
		t.say("%3d %-36s %s", c.Number, c.Name, c.Expected)
	}
	return nil
}

func runJailCases(cmd *cobra.Command, t *terminal, opt suite.Options, verbose bool) error {
	switch opt.Mode {
	case suite.ModeAuto, suite.ModeNamespaces, suite.ModeLandlock:
	default:
		return usagef("--mode %q: must be %s, %s or %s", opt.Mode, suite.ModeAuto, suite.ModeNamespaces, suite.ModeLandlock)
	}
	if _, err := suite.Pick(suite.Cases(), opt.Pick); err != nil {
		return usagef("%w", err)
	}
	return runSuite(t, "case", func(report func(suite.Result)) (suite.Summary, error) {
		return suite.Run(cmd.Context(), opt, report)
	}, func(r suite.Result) string { return jailLine(r, verbose) }, func(sum suite.Summary) ([]string, error) {
		return []string{fmt.Sprintf("%d passed, %d failed, %d skipped", sum.Passed, sum.Failed, sum.Skipped)},
			failures(sum.Failed, sum.Passed+sum.Failed, "cases failed")
	})
}

// firstHandoff is the first number about what a command left behind.
const firstHandoff = 97

// jailMarks are how a line begins.
var jailMarks = map[suite.Status]string{suite.Passed: "ok", suite.Failed: "FAIL", suite.Skipped: "skip"}

// jailLine is a result in 80 columns, and what there is to explain below it.
func jailLine(r suite.Result, verbose bool) string {
	control, note, _ := strings.Cut(r.Control, ": ")
	if control == "not possible" {
		control = "no"
	}
	line := fmt.Sprintf("%-4s %3d %s %s %s %s %s", jailMarks[r.Status], r.Number,
		cell(r.Name, 28), cell(r.Expected, 7), cell(r.Got, 10), cell(r.Mechanism, 18), cell(control, 4))
	lines := []string{strings.TrimRight(line, " ")}
	explain := func(title, text string) {
		if text != "" {
			lines = append(lines, strings.Repeat(" ", 9)+wrapped(changeset.Printable(title+": "+text), 9))
		}
	}
	explain("control", note)
	// Refusals of what a command left behind are many and alike.
	if verbose || r.Status == suite.Failed || r.Number < firstHandoff {
		explain("said", r.Said)
	}
	explain(string(r.Status), r.Why)
	return strings.Join(lines, "\n")
}

// cell is text in a column of so many characters.
func cell(text string, width int) string {
	runes := []rune(changeset.Printable(text))
	if len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return string(runes) + strings.Repeat(" ", width-len(runes))
}
