package main

import (
	"errors"
	"strings"

	"steps.example/interp"
	"steps.example/interp/broker"
	"steps.example/interp/commit"
	"steps.example/steps"
)

// Exit codes: documented in the help of the root command, and stable.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInvalid     = 3
	exitTrust       = 4
	exitRefused     = 5
	exitMoved       = 6
	exitRecover     = 7
	exitLocked      = 8
	exitBug         = 9
	exitInterrupted = 130
)

// exitError is an error whose code is known where it was made.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// codeOf is the one place that maps errors to exit codes.
func codeOf(err error) int {
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	if code, ok := trustCode(err); ok {
		return code
	}
	if f, ok := errors.AsType[*broker.Failure](err); ok {
		return brokerCode(f)
	}
	switch {
	case strings.HasPrefix(err.Error(), "BUG(steps)"):
		return exitBug
	case is[*steps.Error](err), is[steps.Errors](err):
		return exitInvalid
	case is[*noStoreError](err), errors.Is(err, commit.ErrNoReceipt):
		return exitUsage
	case is[*commit.ReceiptError](err), errors.Is(err, commit.ErrBlocked), errors.Is(err, commit.ErrInterrupted):
		return exitRecover
	case errors.Is(err, commit.ErrLocked):
		return exitLocked
	case errors.Is(err, interp.ErrPlanMoved), errors.Is(err, commit.ErrMoved), errors.Is(err, commit.ErrDrift):
		return exitMoved
	case is[*interp.RefusedError](err):
		return refusedCode(err)
	case is[*interp.NeedError](err):
		return exitRefused
	}
	return exitFailed
}

// refusedCode tells a refusal from a step that failed while it was planned, and
// from a tree that moved.
func refusedCode(err error) int {
	refused, _ := errors.AsType[*interp.RefusedError](err)
	code := exitFailed
	for _, r := range refused.Refusals {
		switch r.Rule {
		case "step":
		case "moved":
			return exitMoved
		default:
			code = exitRefused
		}
	}
	return code
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
