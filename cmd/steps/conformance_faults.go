package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	suite "steps.example/conformance/faults"
	"steps.example/interp/changeset"
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

// listScenes prints what can be picked.
func listScenes(t *terminal, names []string) error {
	for _, name := range names {
		if t.json {
			if err := t.object("scene", map[string]string{"name": name}); err != nil {
				return err
			}
		}
		t.say("%s", name)
	}
	return nil
}

func runConformanceFaults(cmd *cobra.Command, t *terminal, opt suite.Options, verbose bool) error {
	var broken error
	sum, err := suite.Run(cmd.Context(), opt, func(r suite.Result) {
		if t.json && broken == nil {
			broken = t.object("scene", r)
		}
		lines := r.Problems
		if verbose {
			lines = append(lines, r.Said...)
		}
		t.say("%s", sceneLine(r.Name, fmt.Sprintf("%5d points", r.Points), r.Failed, r.Skipped, lines))
	})
	if err != nil {
		return err
	}
	if broken != nil {
		return broken
	}
	if t.json {
		if err := t.object("summary", sum); err != nil {
			return err
		}
	}
	t.say("%d passed, %d failed, %d skipped", sum.Passed, sum.Failed, sum.Skipped)
	if sum.Failed > 0 {
		return &exitError{code: exitFailed, err: fmt.Errorf("%d of %d faults ended badly", sum.Failed, sum.Points)}
	}
	return nil
}

// sceneLine is a scene's result, and what there is to say of it below.
func sceneLine(name, counts string, failed int, skipped string, below []string) string {
	line := fmt.Sprintf("%-4s %s %4d failed  %s", "ok", counts, failed, name)
	switch {
	case failed > 0:
		line = "FAIL" + line[4:]
	case skipped != "":
		return "skip " + name + "\n     " + wrapped(changeset.Printable(skipped), 5)
	}
	lines := []string{line}
	for _, text := range below {
		lines = append(lines, "     "+wrapped(changeset.Printable(text), 5))
	}
	return strings.Join(lines, "\n")
}
