package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"steps.example/interp"
	"steps.example/interp/commit"
)

// recovery is what to do about an error after which something must be recovered, as
// a command for the prefix and state that verb was called with; "" for others.
func recovery(verb *cobra.Command, err error) string {
	blocked, ok := errors.AsType[*commit.BlockedError](err)
	switch {
	case ok && len(blocked.Unwrap()) == 0:
		return fmt.Sprintf("put these in order and say %s; or, to leave the tree as it is and put aside what steps holds, say %s",
			recoverCommand(verb), recoverCommand(verb, "--keep"))
	case errors.Is(err, commit.ErrBlocked):
		return "once that is mended, say " + recoverCommand(verb)
	case is[*interp.PartnerError](err):
		return "say " + recoverCommand(verb) + " first, or ask an administrator"
	case errors.Is(err, commit.ErrInterrupted):
		return "say " + recoverCommand(verb) + " first"
	}
	return ""
}

func recoverCommand(verb *cobra.Command, flags ...string) string {
	words := append([]string{"steps", "recover"}, flags...)
	given := false
	for _, name := range []string{"prefix", "state"} {
		if f := verb.Flags().Lookup(name); f != nil && f.Value.String() != "" {
			words, given = append(words, "--"+name, f.Value.String()), true
		}
	}
	if !given {
		words = append(words, "--prefix", "DIR")
	}
	return strings.Join(quoted(words), " ")
}

// transactions are the verbs that change the tree, all or nothing, or only look at it.
var transactions = []string{"plan", "apply", "upgrade", "uninstall", "undo", "repair", "trigger", "verify", "status"}

// interrupted is err of a verb that the user ended, as it is told. A transaction is
// then taken back.
func interrupted(verb *cobra.Command, err error) error {
	if !slices.Contains(transactions, verb.Name()) || is[*commit.LostError](err) {
		return err
	}
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w\ninterrupted; nothing was changed", err)
	}
	if step, ok := errors.AsType[*interp.StepError](err); ok {
		return fmt.Errorf("interrupted at %s (%s); nothing was changed", step.Place, step.Type)
	}
	return errors.New("interrupted; nothing was changed")
}
