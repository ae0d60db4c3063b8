// Command steps interprets a package's install steps: data that says what is to
// change, in the place of hooks that run.
//
// One file a verb. Verbs are thin: they read flags and files, call the packages
// and print. Messages go to standard error, data to standard output.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"steps.example/interp/commit"
	"steps.example/interp/jail"
)

func main() {
	// The jail starts this same program as its helper where the small one is
	// not installed beside it.
	if jail.IsHelper() {
		jail.Main()
		return
	}
	// The conformance suites start it as their attackers.
	if status, is := conformancePart(); is {
		os.Exit(status)
	}
	straight(os.Args)
	os.Exit(run(os.Args[1:], stdio()))
}

// run is main for tests: it takes the arguments and gives the exit status.
func run(args []string, t *terminal) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	cmd := newRoot(t)
	cmd.SetArgs(args)
	cmd.SetIn(t.in)
	cmd.SetOut(t.out)
	cmd.SetErr(t.err)
	verb, err := cmd.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil && !errors.Is(err, commit.ErrBlocked) {
		err = &exitError{code: exitInterrupted, err: interrupted(verb, err)}
	}
	code := codeOf(err)
	if todo := recovery(verb, err); todo != "" {
		err = fmt.Errorf("%w\n%s", err, todo)
	}
	if !errors.Is(err, errSaid) {
		t.fail(code, err)
	}
	return code
}
