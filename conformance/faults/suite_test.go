package faults_test

import (
	"context"
	"flag"
	"strings"
	"testing"

	"steps.example/conformance"
	"steps.example/conformance/faults"
)

var (
	rounds  = flag.Int("rounds", 4, "points of each scene; 0 for all, as the verb has")
	pick    = flag.String("pick", "", "a part of the names of scenes")
	verbose = flag.Bool("messages", false, "print what users would be told")
)

// TestSuite is a short cut of what the verb does.
func TestSuite(t *testing.T) {
	t.Parallel()
	opt := faults.Options{Rounds: *rounds, Seed: 3}
	if *pick != "" {
		opt.Pick = []string{*pick}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sum, err := faults.Run(ctx, opt, func(r faults.Result) {
		if r.Failed > 0 && conformance.FailFast() {
			cancel()
		}
		if r.Failed > 0 {
			t.Errorf("%s: %d of %d points failed:\n  %s", r.Name, r.Failed, r.Points, strings.Join(r.Problems, "\n  "))
		}
		if r.Skipped != "" {
			t.Logf("%s is skipped: %s", r.Name, r.Skipped)
		}
		if *verbose {
			t.Logf("%s, %d points:\n  %s", r.Name, r.Points, strings.Join(r.Said, "\n  "))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", sum)
	if *pick == "" && sum.Points < 200 {
		t.Errorf("only %d points were run", sum.Points)
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	names := []string{"one scene", "another"}
	if got, err := faults.Pick(names, []string{"one"}); err != nil || len(got) != 1 || got[0] != "one scene" {
		t.Errorf("pick: %q, %v", got, err)
	}
	if got, err := faults.Pick(names, nil); err != nil || len(got) != 2 {
		t.Errorf("no pick: %q, %v", got, err)
	}
	if _, err := faults.Pick(names, []string{"nothing"}); err == nil {
		t.Error("a pick that selects nothing is no error")
	}
}
