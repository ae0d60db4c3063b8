package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"steps.example/interp/changeset"
	"steps.example/interp/jail"
)

const execLong = `Run a command in the jail of run steps: it reads, executes and writes only what
is granted, has no network, no terminal and an environment of its own, and
nothing of it is left when it ends. Without a jail it does not run.

GRANTS
  The system's programs, libraries and public settings are readable and
  executable, unless --no-system is given. All else is by name. What a grant
  names must exist; links are resolved first, and that is said. What may be
  written may not be executed unless --exec names it too.

ENVIRONMENT
  PATH and LANG as they are here; HOME and TMPDIR are private, empty, writable
  directories that are removed afterwards. --env adds to them or replaces them.

INPUT AND OUTPUT
  Standard input is read to its end first, 64 MiB at most; a terminal is not
  read, the command then has none. Output is printed when the command has
  ended, standard output before standard error. To a terminal, control
  characters are printed as escapes unless --raw-output is given; to a file or
  pipe the bytes go unchanged. With --json all is in one object of the type
  "exec".

LIMITS
  --limit NAME=VALUE sets one of: cpu (as 90s or 5m), file-size, memory,
  output (bytes, or with K, M or G), open-files, processes. cpu, file-size,
  open-files and memory count for each process by itself, output for each of
  the two streams. --dry-run shows the values.

EXAMPLES
  steps exec --write . -- make -j4
  steps exec --write build --exec build --dir build -- ctest
  steps exec --read . -- python3 script.py <input.csv >output.csv
  steps exec --write . --network --timeout 5m -- npm ci
  steps exec --write . --dry-run -- make

EXIT STATUS
  that of the command, or 128+n if signal n ended it;
  124  the time or the output was over its limit
  126  the command may not be, or cannot be, executed
  127  there is no such command
  2    wrong usage, grants that are not there included
  5    refused, or the jail failed
  130  interrupted
  What steps says itself begins with "steps: ", on standard error. After 2, 126
  and 127 the command has not run; after 5 neither, or nothing is known of it.
  A command can end and talk like that too: with --json the object's type is
  "exec" only if it is the command's end, and "error" if it is not.`

// Exit codes of exec beside those of every verb: what env, timeout and shells
// use.
const (
	exitStopped    = 124
	exitCannotExec = 126
	exitNotFound   = 127
)

// execFlags are the flags of exec, as given.
type execFlags struct {
	reads, execs, writes []string
	noSystem             bool
	network              bool
	ports                []uint
	env                  []string
	dir                  string
	timeout              time.Duration
	limits               []string
	gaps, require        []string

	report, dryRun, raw bool
}

func (f *execFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.reads, "read", nil, "let the command read the file or directory `PATH`; repeatable")
	flags.StringArrayVar(&f.execs, "exec", nil, "let it read and execute `PATH`; repeatable")
	flags.StringArrayVar(&f.writes, "write", nil, "let it read and change the file or directory `PATH`; repeatable")
	flags.BoolVar(&f.noSystem, "no-system", false, "grant nothing of the system")
	flags.BoolVar(&f.network, "network", false, "let it use TCP and UDP with anybody")
	flags.UintSliceVar(&f.ports, "tcp", nil, "let it connect to the TCP `PORT` of any address; with 53 it can look up names; repeatable")
	flags.Lookup("tcp").DefValue = ""
	flags.StringArrayVar(&f.env, "env", nil, "give it the variable `NAME[=VALUE]`, without a value that of here; repeatable")
	flags.StringVar(&f.dir, "dir", "", "run it in `DIR`; without it in the present directory, if that is granted")
	flags.DurationVar(&f.timeout, "timeout", jail.DefaultLimits().Wall, "stop it after this `TIME`")
	flags.StringArrayVar(&f.limits, "limit", nil, "set a limit `NAME=VALUE`, see above; repeatable")
	flags.StringArrayVar(&f.gaps, "allow-gap", nil, "run even if this machine cannot keep the guarantee `NAME`, see steps doctor; repeatable")
	flags.StringArrayVar(&f.require, "require", nil, "refuse to run without the guarantee `NAME`, which is optional otherwise; repeatable")
	flags.BoolVar(&f.report, "report", false, "say what was denied, where the kernel tells")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the policy and what keeps each guarantee; run nothing")
	flags.BoolVar(&f.raw, "raw-output", false, "print control characters to a terminal as they are")
}

func newExec(t *terminal) *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use: "exec [flags] -- CMD [ARG...]", Short: "Run any command in the jail", Long: execLong, GroupID: "jail",
		DisableFlagsInUseLine: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return usagef("steps exec takes a command: steps exec [flags] -- CMD [ARG...]; see steps exec --help")
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runExec(cmd.Context(), t, f, args) },
	}
	// What follows the command is the command's, flags included.
	cmd.Flags().SetInterspersed(false)
	f.add(cmd.Flags())
	return cmd
}

func runExec(ctx context.Context, t *terminal, f execFlags, args []string) error {
	private, err := makePrivate()
	if err != nil {
		return &exitError{code: exitRefused, err: err}
	}
	defer private.remove(t)
	plan, err := f.plan(private, args)
	if err != nil {
		return err
	}
	for _, note := range plan.notes {
		t.talk("%s", changeset.Printable(note))
	}
	if f.dryRun {
		return plan.print(t)
	}
	helper, err := jail.Helper()
	if err != nil {
		return &exitError{code: exitRefused, err: err}
	}
	if plan.command.Stdin, err = readStdin(ctx, t); err != nil {
		return err
	}
	res, err := jail.Run(ctx, helper, plan.policy, plan.command)
	if exec, ok := errors.AsType[*jail.ExecError](err); ok {
		return &exitError{code: exitCannotExec, err: exec}
	}
	if err != nil {
		return &exitError{code: exitRefused, err: err}
	}
	return printResult(t, f, plan, res)
}
