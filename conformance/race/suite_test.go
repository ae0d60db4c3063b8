package race_test

import (
	"context"
	"flag"
	"strings"
	"testing"

	"steps.example/conformance"
	"steps.example/conformance/race"
)

var rounds = flag.Int("rounds", 800, "attacked operations in all; the verb has 100000")

// TestSuite is a short cut of what the verb does.
func TestSuite(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sum, err := race.Run(ctx, race.Options{Rounds: *rounds, Seed: 1}, func(r race.Result) {
		if r.Failed > 0 && conformance.FailFast() {
			cancel()
		}
		if r.Failed > 0 {
			t.Errorf("%s: %d of %d rounds failed: %s", r.Name, r.Failed, r.Rounds, strings.Join(r.Problems, "\n  "))
		}
		if r.Skipped != "" {
			t.Logf("%s is skipped: %s", r.Name, r.Skipped)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", sum)
	if sum.Swaps < sum.Rounds/2 || sum.Refused == 0 || sum.Succeeded == 0 {
		t.Errorf("there was no attack to speak of: %+v", sum)
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	if _, _, err := race.Pick([]string{"nothing-like-it"}); err == nil {
		t.Error("a pick that selects nothing is no error")
	}
	if scenes, control, err := race.Pick([]string{"control"}); len(scenes) != 0 || !control || err != nil {
		t.Errorf("control selects %d scenes, %v, %v", len(scenes), control, err)
	}
}
