package main

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/jail"
)

// errSaid is the error of a verb that has said everything; its code is left.
var errSaid = errors.New("everything has been said")

// exitWith ends a verb with a code and no message.
func exitWith(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code: code, err: errSaid}
}

// printResult prints what the command printed and how it ended, and ends exec
// as the command ended.
func printResult(t *terminal, f execFlags, p *execPlan, res *jail.Result) error {
	code := execCode(res)
	if t.json {
		if err := t.object("exec", resultObject(code, res)); err != nil {
			return err
		}
		return exitWith(code)
	}
	if err := relay(t.out, res.Stdout, f.raw); err != nil {
		return err
	}
	if err := relay(t.err, res.Stderr, f.raw); err != nil {
		return err
	}
	name := changeset.Printable(p.command.Path)
	switch {
	case res.TimedOut:
		t.talk("%s was stopped after %s; --timeout gives it more", name, p.policy.Limits.Wall)
	case res.OutputCapped:
		t.talk("%s was stopped: it printed more than %s bytes; --limit output=N allows more", name, size(limitsOf(p.policy).OutputBytes))
	case res.Signal != "":
		t.talk("%s was ended by %s%s", name, res.Signal, limitBehind(res.Signal))
	}
	if f.report {
		reportDenied(t, res)
	}
	return exitWith(code)
}

// execCode is the exit status of exec for a command that ran.
func execCode(res *jail.Result) int {
	switch {
	case res.TimedOut, res.OutputCapped:
		return exitStopped
	case res.Signal != "":
		var n int
		if sig := unix.SignalNum(res.Signal); sig != 0 {
			n = int(sig)
		} else {
			// Real-time signals have a number for a name.
			_, _ = fmt.Sscanf(res.Signal, "signal %d", &n)
		}
		return 128 + n
	}
	return res.ExitCode
}

// limitBehind names the limit whose signal ended a command.
func limitBehind(signal string) string {
	switch signal {
	case "SIGXCPU":
		return ": it used its processor time; --limit cpu=TIME gives it more"
	case "SIGXFSZ":
		return ": it wrote a larger file than it may; --limit file-size=N allows more"
	}
	return ""
}

// relay prints output: to a terminal so that it can do nothing but be read.
func relay(w io.Writer, output []byte, raw bool) error {
	if !raw && isTerminal(w) {
		output = []byte(jail.Printable(output))
	}
	_, err := w.Write(output)
	return err
}

// reportDenied prints what was denied, and what the kernel does not tell.
func reportDenied(t *terminal, res *jail.Result) {
	for _, d := range res.Denied {
		what := d.What
		if d.Path != "" {
			what += " " + d.Path
		}
		t.talk("denied: %s (%s)", changeset.Printable(what), d.By)
	}
	switch {
	case res.ReportGap != "":
		t.talk("what else was denied is not known: %s", res.ReportGap)
	case len(res.Denied) == 0:
		t.talk("no denial was reported")
	}
	if by := res.Mechanisms["names"]; by != "" && by != "none" {
		t.talk("what is not granted was not there for the command (%s), and is not counted as denied", by)
	}
}

func resultObject(code int, res *jail.Result) map[string]any {
	object := map[string]any{
		"exit": code, "timed_out": res.TimedOut, "output_capped": res.OutputCapped, "guarantees": res.Mechanisms,
	}
	if res.Signal != "" {
		object["signal"] = res.Signal
	}
	for name, output := range map[string][]byte{"stdout": res.Stdout, "stderr": res.Stderr} {
		if utf8.Valid(output) {
			object[name] = string(output)
		} else {
			object[name+"_base64"] = output
		}
	}
	if len(res.Denied) > 0 {
		object["denied"] = res.Denied
	}
	if res.ReportGap != "" {
		object["report_gap"] = res.ReportGap
	}
	return object
}
