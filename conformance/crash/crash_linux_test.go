package crash

import (
	"context"
	"flag"
	"os"
	"testing"

	"steps.example/conformance"
	"steps.example/interp/jail"
)

func TestMain(m *testing.M) {
	if jail.IsHelper() {
		jail.Main()
		return
	}
	os.Exit(m.Run())
}

var deep = flag.Bool("deep", false, "try every point of some scenes in TestSample, for minutes, and not a sample of all")

// The sample of the suite that fits in a test; `steps conformance crash` runs all.
func TestSample(t *testing.T) {
	t.Parallel()
	o := Options{Short: true}
	if *deep {
		o = Options{Pick: append([]string{"write new", "broker"}, closely...)}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sum, err := Run(ctx, o, func(r Result) {
		if r.Failed > 0 && conformance.FailFast() {
			cancel()
		}
		for _, p := range r.Problems {
			t.Errorf("%s (%s): %s", r.Scene, r.Where, p)
		}
		if r.Skipped != "" {
			t.Logf("%s (%s): skipped: %s", r.Scene, r.Where, r.Skipped)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d points", sum.Points)
}

func TestPicks(t *testing.T) {
	t.Parallel()
	all, err := Names(Options{})
	if err != nil {
		t.Fatal(err)
	}
	some, err := Names(Options{Pick: []string{"touch"}})
	if err != nil || len(some) == 0 || len(some) >= len(all) {
		t.Errorf("%d of %d scenes, %v", len(some), len(all), err)
	}
	if _, err := Names(Options{Pick: []string{"no such scene"}}); err == nil {
		t.Error("a scene that is not there can be picked")
	}
}
