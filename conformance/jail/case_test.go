package jail_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	suite "steps.example/conformance/jail"
)

func TestCases(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	var numbers []int
	for _, c := range suite.Cases() {
		if seen[c.Name] {
			t.Errorf("two cases are named %q", c.Name)
		}
		if c.Name == "" || c.Expected == "" {
			t.Errorf("case %d %q expects %q", c.Number, c.Name, c.Expected)
		}
		seen[c.Name] = true
		numbers = append(numbers, c.Number)
	}
	if !slices.IsSorted(numbers) {
		t.Error("cases are not in order")
	}
	needLinux(t)
	for n := 1; n <= 108; n++ {
		if !slices.Contains(numbers, n) {
			t.Errorf("attack %d has no case", n)
		}
	}
}

func needLinux(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/exe"); err != nil {
		t.Skip("the table of attacks is Linux's:", err)
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	cases := []suite.Case{{Number: 1, Name: "one"}, {Number: 2, Name: "two"}, {Number: 2, Name: "too"}, {Number: 10, Name: "cp -a"}}
	for _, tc := range []struct{ picks, want string }{
		{"", "one two too cp -a"},
		{"2", "two too"},
		{"1-2", "one two too"},
		{"10 one", "one cp -a"},
		{"o", "one two too"},
		{"-a", "cp -a"},
		{"3", "error"},
		{"1 nothing", "error"},
		{"5-9", "error"},
	} {
		got, err := suite.Pick(cases, strings.Fields(tc.picks))
		var names []string
		for _, c := range got {
			names = append(names, c.Name)
		}
		if text := strings.Join(names, " "); err != nil && tc.want != "error" || err == nil && text != tc.want {
			t.Errorf("%q: %q, %v, want %q", tc.picks, text, err, tc.want)
		}
	}
}

// A suite that is stopped takes everything with it.
func TestStopped(t *testing.T) {
	needJail(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := suite.Run(ctx, suite.Options{Pick: []string{"1-76"}}, func(suite.Result) {
		if left, err := os.ReadDir(tmp); err != nil || len(left) == 0 {
			t.Errorf("there is no scratch directory to take away: %v", err)
		}
		cancel()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it was not stopped: %v", err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
