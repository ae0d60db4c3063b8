package jail

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Case is one thing that the suite checks.
type Case struct {
	// Number is its number in the table of attacks; variants share one.
	Number int
	Name   string // unique
	// Expected is the outcome in a word or two.
	Expected string

	run func(context.Context, *site, *Result)
}

// Status is what became of a case.
type Status string

const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped" // the machine lacks what the case is about
)

// Result is what became of a case, and why.
type Result struct {
	Number   int    `json:"number"`
	Name     string `json:"name"`
	Status   Status `json:"status"`
	Expected string `json:"expected"`
	// Got is the name of an error number, "ok", or an outcome in a few words.
	Got string `json:"got"`
	// Mechanism is what keeps the guarantee that the case is about, as the jail
	// itself reports it.
	Mechanism string `json:"mechanism,omitempty"`
	// Control is "ok", or why the same could not be done without the jail.
	Control string `json:"control,omitempty"`
	// Said is the jail's refusal, where it is to refuse.
	Said string `json:"said,omitempty"`
	// Why explains a failure or a skip.
	Why string `json:"why,omitempty"`
}

func (r *Result) fail(format string, args ...any) {
	r.Status = Failed
	if r.Why != "" {
		r.Why += "; "
	}
	r.Why += fmt.Sprintf(format, args...)
}

func (r *Result) skip(format string, args ...any) {
	r.Status, r.Why = Skipped, fmt.Sprintf(format, args...)
}

// controlled records how a control went that must be possible.
func (r *Result) controlled(err error) {
	if err != nil {
		r.Control = "failed"
		r.fail("without a jail: %v", err)
		return
	}
	r.Control = "ok"
}

// Cases lists the suite for this system, by number.
func Cases() []Case {
	list := slices.Concat(systemCases(), macCases(), handoffCases())
	slices.SortStableFunc(list, func(a, b Case) int { return cmp.Compare(a.Number, b.Number) })
	return list
}

// Pick selects cases by number ("45"), range ("32-44") or part of the name;
// without any, all. Something that selects nothing is an error.
func Pick(cases []Case, picks []string) ([]Case, error) {
	if len(picks) == 0 {
		return cases, nil
	}
	chosen := make([]bool, len(cases))
	for _, pick := range picks {
		matches := matcher(pick)
		found := false
		for i, c := range cases {
			if matches(c) {
				chosen[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("%q selects no case; --list shows them", pick)
		}
	}
	var out []Case
	for i, c := range cases {
		if chosen[i] {
			out = append(out, c)
		}
	}
	return out, nil
}

func matcher(pick string) func(Case) bool {
	low, high, isRange := strings.Cut(pick, "-")
	from, err1 := strconv.Atoi(low)
	to, err2 := strconv.Atoi(high)
	if !isRange {
		to, err2 = from, err1
	}
	if err1 == nil && err2 == nil {
		return func(c Case) bool { return from <= c.Number && c.Number <= to }
	}
	return func(c Case) bool { return strings.Contains(c.Name, pick) }
}
