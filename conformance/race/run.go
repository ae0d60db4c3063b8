package race

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"steps.example/conformance/scene"
	"steps.example/interp/commit"
)

// Options say what to run.
type Options struct {
	// Pick selects scenes by name, a part of it or a step type; empty is all.
	Pick []string
	// Seed makes the attackers differ from those of another run.
	Seed uint64
	// Rounds is how many attacked operations there are in all, about; 0 means as
	// many as the suite thinks right.
	Rounds int
}

// DefaultRounds is how many rounds there are if nothing is said.
const DefaultRounds = 100_000

// outcome is how attacked operations ended.
type outcome struct {
	Succeeded int `json:"succeeded"`
	Refused   int `json:"refused"`
	// Blocked wait for somebody to decide.
	Blocked int `json:"blocked"`
	swaps   int
}

func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return outcome{Succeeded: 1}
	case errors.Is(err, commit.ErrBlocked):
		return outcome{Blocked: 1}
	}
	return outcome{Refused: 1}
}

// Result is what became of one scene, or of the control.
type Result struct {
	Name string `json:"name"`
	// Rounds are the attacked operations, Failed those that broke the law.
	Rounds int `json:"rounds"`
	Failed int `json:"failed"`
	outcome
	// Swaps are the attacks that were carried out.
	Swaps int `json:"swaps"`
	// Skipped says what this machine lacks.
	Skipped  string   `json:"skipped,omitempty"`
	Problems []string `json:"problems,omitempty"`
}

func (r *Result) add(out outcome, problems []string) {
	r.Rounds++
	r.Succeeded += out.Succeeded
	r.Refused += out.Refused
	r.Blocked += out.Blocked
	r.Swaps += out.swaps
	if len(problems) == 0 {
		return
	}
	const most = 10
	r.Failed++
	if len(r.Problems) < most {
		r.Problems = append(r.Problems, strings.Join(problems, "; "))
	}
}

// Summary counts rounds, and what was skipped.
type Summary struct {
	Rounds  int `json:"rounds"`
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	outcome
	Swaps int `json:"swaps"`
}

func (s *Summary) count(r Result) {
	s.Rounds += r.Rounds
	s.Passed += r.Rounds - r.Failed
	s.Failed += r.Failed
	s.Succeeded += r.Succeeded
	s.Refused += r.Refused
	s.Blocked += r.Blocked
	s.Swaps += r.Swaps
	if r.Skipped != "" {
		s.Skipped++
	}
}

// controlName is what the control can be picked by.
const controlName = "control"

// Names lists what can be picked.
func Names() []string {
	out := []string{controlName}
	for _, s := range scene.All() {
		out = append(out, s.Name)
	}
	return out
}

// Pick selects scenes; without any pick, all. One that selects nothing is an error.
func Pick(picks []string) (scenes []scene.Scene, control bool, err error) {
	control = len(picks) == 0 || slices.Contains(picks, controlName)
	rest := slices.DeleteFunc(slices.Clone(picks), func(p string) bool { return p == controlName })
	if len(picks) > 0 && len(rest) == 0 {
		return nil, control, nil
	}
	scenes, unknown := scene.Pick(scene.All(), rest)
	if len(unknown) > 0 {
		return nil, control, fmt.Errorf("%q selects nothing; --list shows what there is", unknown[0])
	}
	return scenes, control, nil
}
