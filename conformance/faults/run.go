package faults

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"steps.example/conformance/scene"
)

// Options say what to run.
type Options struct {
	// Pick selects scenes and real faults by a part of the name; empty is all.
	Pick []string
	// Seed chooses which points are run where Rounds leaves some out.
	Seed uint64
	// Rounds is the most points of a scene that are run; 0 means all.
	Rounds int
}

// Result is what became of a scene, or of a fault that is real.
type Result struct {
	Name string `json:"name"`
	// Calls are the system calls of the scene that could fail.
	Calls int `json:"calls,omitempty"`
	// Points are the faults that were tried, Failed those that went wrong.
	Points int `json:"points"`
	Failed int `json:"failed"`
	// Skipped says what this machine lacks.
	Skipped string `json:"skipped,omitempty"`
	// Problems are what went wrong, the first few.
	Problems []string `json:"problems,omitempty"`
	// Said are the different messages that a user would have got.
	Said []string `json:"said,omitempty"`
}

func (r *Result) problem(format string, args ...any) {
	const most = 10
	r.Failed++
	if len(r.Problems) < most {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

func (r *Result) said(message string) {
	if message != "" && !slices.Contains(r.Said, message) {
		r.Said = append(r.Said, message)
	}
}

// Summary counts points, and what was skipped.
type Summary struct {
	Points  int `json:"points"`
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

func (s *Summary) count(r Result) {
	s.Points += r.Points
	s.Passed += r.Points - r.Failed
	s.Failed += r.Failed
	if r.Skipped != "" {
		s.Skipped++
	}
}

// Names lists what can be picked.
func Names() []string {
	var out []string
	for _, s := range scene.All() {
		out = append(out, s.Name)
	}
	for _, r := range realFaults() {
		out = append(out, r.name)
	}
	return out
}

// Pick selects names by a part of them; without any, all. One that selects nothing
// is an error.
func Pick(names, picks []string) ([]string, error) {
	if len(picks) == 0 {
		return names, nil
	}
	for _, p := range picks {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, p) }) {
			return nil, fmt.Errorf("%q selects nothing; --list shows what there is", p)
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return !slices.ContainsFunc(picks, func(p string) bool { return strings.Contains(n, p) })
	}), nil
}

// Run runs the suite and calls report for each scene and each real fault in order.
// An error says that the suite could not be run to its end; what it finds wrong is
// in the results. What it made is gone when it returns.
func Run(ctx context.Context, opt Options, report func(Result)) (sum Summary, err error) {
	names, err := Pick(Names(), opt.Pick)
	if err != nil {
		return sum, err
	}
	scratch, err := scene.NewScratch("steps-faults-")
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, scratch.Close()) }()
	tell := func(r Result) {
		sum.count(r)
		report(r)
	}
	for i, s := range scene.All() {
		if !slices.Contains(names, s.Name) {
			continue
		}
		r, err := inject(ctx, &s, filepath.Join(scratch.For(&s), fmt.Sprint("s", i)), opt)
		if err != nil {
			return sum, fmt.Errorf("scene %s: %w", s.Name, err)
		}
		tell(r)
	}
	for i, f := range realFaults() {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		if slices.Contains(names, f.name) {
			tell(f.run(ctx, filepath.Join(scratch.Slow, fmt.Sprint("r", i))))
		}
	}
	return sum, ctx.Err()
}

// inParallel calls f for 0 to n-1 on every processor, until the context ends.
func inParallel(ctx context.Context, n int, f func(int)) error {
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	workers.Wait()
	return ctx.Err()
}
