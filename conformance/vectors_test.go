package conformance

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"testing"

	"steps.example/interp"
	"steps.example/steps"
)

// TestVectors runs the cases that come with the project.
func TestVectors(t *testing.T) {
	t.Parallel()
	runCases(t, "testdata/homebrew", 1141)
}

// TestCorpus runs cases made from data that others published, which therefore
// stay where they are.
func TestCorpus(t *testing.T) {
	t.Parallel()
	runCases(t, "../../shared/corpus/homebrew/vectors.jsonl", 264)
}

func runCases(t *testing.T, path string, want int) {
	t.Helper()
	cases, err := ReadCases(path)
	if errors.Is(err, fs.ErrNotExist) && path != "testdata/homebrew" {
		t.Skipf("the corpus is not here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != want {
		t.Errorf("%s has %d cases, want %d", path, len(cases), want)
	}
	names := map[string]bool{}
	for _, c := range cases {
		if names[c.Name] {
			t.Errorf("%s has two cases called %s", path, c.Name)
		}
		names[c.Name] = true
	}
	if err := (interp.Machine{}).CanRun(nil); err != nil {
		all := len(cases)
		cases = withoutCommands(cases)
		t.Logf("skipping %d cases that run a command, which this machine cannot jail: %v", all-len(cases), err)
	}
	mutations := 0
	passed, failed := RunAll(t.Context(), cases, interp.Machine{}, Options{Seed: rand.Uint64()}, func(r Result) {
		mutations += r.Mutations
		if r.Problem != nil {
			t.Errorf("%s: %v", r.Case.Name, r.Problem)
		}
	})
	t.Logf("%d cases, %d mutations of what they made", len(cases), mutations)
	if passed+failed != len(cases) {
		t.Errorf("%d passed, %d failed of %d cases", passed, failed, len(cases))
	}
}

func withoutCommands(cases []Case) []Case {
	var out []Case
	for _, c := range cases {
		if !c.runsCommand() {
			out = append(out, c)
		}
	}
	return out
}

// runsCommand reports whether a step of the case is, or expands to, a command.
func (c *Case) runsCommand() bool {
	list, err := steps.DecodeSteps([]byte(fill(string(c.Steps), "/root")), steps.DefaultLimits)
	if err != nil {
		return false // it is refused before anything runs
	}
	for _, s := range list {
		expanded, composite, err := steps.Expand(s, func(p steps.Path) (string, error) { return "/root/" + p.Path, nil })
		if !composite || err != nil {
			expanded = []steps.Step{s}
		}
		for _, p := range expanded {
			if p.Type() == steps.TypeRun {
				return true
			}
		}
	}
	return false
}

// TestRunsCommand checks what is left out on a machine without a jail.
func TestRunsCommand(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]bool{
		`[{"type": "run", "command": {"path": "/bin/true"}}]`:                                           true,
		`[{"type": "compile_gsettings_schemas", "path": {"base": "homebrew_prefix", "path": "share"}}]`: true,
		`[{"type": "mkdir_p", "path": {"base": "var", "path": "a"}}]`:                                   false,
		`[{"type": "unheard_of"}]`: false,
		`[{"type": "warn", "message": "m"}, {"type": "run", "command": {"path": "/bin/true"}}]`: true,
	} {
		if got := (&Case{Steps: []byte(list)}).runsCommand(); got != want {
			t.Errorf("%s: %t, want %t", list, got, want)
		}
	}
}
