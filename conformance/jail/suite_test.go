package jail_test

import (
	"context"
	"strings"
	"testing"

	suite "steps.example/conformance/jail"
	"steps.example/interp/jail"
)

// needJail skips where there is no jail to hold to anything.
func needJail(t *testing.T) {
	t.Helper()
	if _, err := jail.Check().Judge(jail.Policy{Reads: []string{"/usr"}, Dir: "/usr"}); err != nil {
		t.Skip(err)
	}
}

// Every case passes; in short mode, every one but the slow builds.
func TestSuite(t *testing.T) {
	t.Parallel()
	needJail(t)
	var opt suite.Options
	if testing.Short() {
		opt.Pick = []string{"1-90", "92-108"}
	}
	runSuite(t, opt)
}

// Attacks, and what ordinary programs do, as on a machine without namespaces.
func TestSuiteWithLandlockOnly(t *testing.T) {
	t.Parallel()
	needJail(t)
	if testing.Short() {
		t.Skip("the suite once is enough in short mode")
	}
	runSuite(t, suite.Options{Mode: suite.ModeLandlock, Pick: []string{"1-76", "87-90", "92", "96", "106"}})
}

func runSuite(t *testing.T, opt suite.Options) {
	t.Helper()
	sum, err := suite.Run(context.Background(), opt, func(r suite.Result) {
		switch r.Status {
		case suite.Failed:
			t.Errorf("%d %s: expected %s, got %s (%s; control %s): %s %s", r.Number, r.Name, r.Expected, r.Got, r.Mechanism, r.Control, r.Why, r.Said)
		case suite.Skipped:
			t.Logf("skipped %d %s: %s", r.Number, r.Name, r.Why)
		case suite.Passed:
			if strings.HasPrefix(r.Control, "not possible") {
				t.Logf("%d %s: control %s", r.Number, r.Name, r.Control)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d passed, %d failed, %d skipped", sum.Passed, sum.Failed, sum.Skipped)
	if sum.Passed == 0 {
		t.Error("nothing passed")
	}
}
