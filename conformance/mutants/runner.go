package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"steps.example/conformance"
)

type runner struct {
	dir     string
	jobs    int
	limit   time.Duration
	reasons map[string]string // of known survivors, by key
	tests   map[string][]test // of each suite, the quickest first
}

// test is one test of a suite.
type test struct {
	name    string
	reaches map[int]bool
	took    time.Duration
}

// all runs the suites against every mutant, and prints and gives which test noticed.
func (r *runner) all(ctx context.Context, mutants []Mutant) ([]string, error) {
	if err := r.reach(ctx); err != nil {
		return nil, err
	}
	found := make([]string, len(mutants))
	gate := make(chan struct{}, r.jobs)
	var group sync.WaitGroup
	var lock sync.Mutex
	var failed error
	for i, m := range mutants {
		gate <- struct{}{}
		group.Go(func() {
			defer func() { <-gate }()
			by, err := r.one(ctx, m)
			lock.Lock()
			defer lock.Unlock()
			failed = errors.Join(failed, err)
			found[i] = by
			if err == nil {
				fmt.Println(r.line(m, by))
			}
		})
	}
	group.Wait()
	if failed != nil {
		return nil, failed
	}
	noticed, known, unknown := 0, 0, 0
	for i, m := range mutants {
		switch {
		case found[i] != "":
			noticed++
		case r.reasons[m.Key()] != "":
			known++
		default:
			unknown++
		}
	}
	fmt.Printf("%d noticed, %d make no difference (survivors.txt), %d survived\n", noticed, known, unknown)
	if unknown > 0 {
		return found, fmt.Errorf("%d mutants survived", unknown)
	}
	return found, nil
}

// list prints the tests that come by each mutant.
func (r *runner) list(ctx context.Context, mutants []Mutant) error {
	if err := r.reach(ctx); err != nil {
		return err
	}
	for _, m := range mutants {
		var by []string
		for _, suite := range suites {
			for _, t := range r.tests[suite] {
				if t.reaches[m.N] {
					by = append(by, filepath.Base(suite)+" "+t.name)
				}
			}
		}
		fmt.Printf("%4d %s:%d %s %s %s: %s\n", m.N, m.File, m.Line, m.Func, m.Kind, m.Text, strings.Join(by, ", "))
	}
	return nil
}

func (r *runner) line(m Mutant, by string) string {
	switch {
	case by != "":
		by = "noticed by " + by
	case r.reasons[m.Key()] != "":
		by = "no difference: " + r.reasons[m.Key()]
	default:
		by = "SURVIVED"
		if !r.anyReaches(m.N) {
			by = "SURVIVED, never reached"
		}
	}
	return fmt.Sprintf("%4d %s:%d %s %s %s: %s", m.N, m.File, m.Line, m.Func, m.Kind, m.Text, by)
}

func (r *runner) anyReaches(n int) bool {
	for _, tests := range r.tests {
		for _, t := range tests {
			if t.reaches[n] {
				return true
			}
		}
	}
	return false
}

// reach runs every test with no mutant in force. It must pass, and says for which
// mutants it comes by a place where they would make a difference.
func (r *runner) reach(ctx context.Context) error {
	r.tests = map[string][]test{}
	for _, suite := range suites {
		out, err := r.run(ctx, suite, "", "-test.list=^(Test|Fuzz)")
		if err != nil {
			return fmt.Errorf("%s: list the tests: %w\n%s", suite, err, out)
		}
		all := map[int]bool{}
		for _, name := range strings.Fields(string(out)) {
			t := test{name: name, reaches: map[int]bool{}}
			log := filepath.Join(r.dir, "seen")
			if err := os.RemoveAll(log); err != nil {
				return err
			}
			start := time.Now()
			if out, err := r.run(ctx, suite, "MUTANT_SEEN="+log, sample, only(name)); err != nil {
				return fmt.Errorf("%s %s without any mutant: %w\n%s", suite, name, err, out)
			}
			t.took = time.Since(start)
			text, err := os.ReadFile(log)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			for _, line := range strings.Fields(string(text)) {
				n, err := strconv.Atoi(line)
				if err != nil {
					return err
				}
				t.reaches[n], all[n] = true, true
			}
			if len(t.reaches) > 0 {
				r.tests[suite] = append(r.tests[suite], t)
			}
		}
		slices.SortFunc(r.tests[suite], func(a, b test) int { return cmp.Compare(a.took, b.took) })
		fmt.Printf("%s reaches %d\n", suite, len(all))
	}
	return nil
}

func only(name string) string { return "-test.run=^" + name + "$" }

// one gives the test that notices a mutant, or nothing.
func (r *runner) one(ctx context.Context, m Mutant) (string, error) {
	for _, suite := range inOrder(m) {
		for _, t := range r.tests[suite] {
			if !t.reaches[m.N] {
				continue
			}
			noticed, err := r.try(ctx, suite, m, sample, only(t.name))
			if noticed || err != nil {
				return suite + " " + t.name, err
			}
		}
		if suite == crashSuite && m.Kind == "sync" {
			noticed, err := r.try(ctx, suite, m, "-deep", only("TestSample"))
			if noticed || err != nil {
				return suite + " TestSample -deep", err
			}
		}
	}
	return "", nil
}

// try reports whether a suite notices a mutant.
func (r *runner) try(ctx context.Context, suite string, m Mutant, args ...string) (bool, error) {
	_, err := r.run(ctx, suite, "MUTANT="+strconv.Itoa(m.N), args...)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if _, exit := errors.AsType[*exec.ExitError](err); err != nil && !exit && !errors.Is(err, context.DeadlineExceeded) {
		return false, err
	}
	return err != nil, nil
}

// inOrder are the suites, the one that most likely notices a mutant first: a sync is
// missed in a crash, a check in an attack.
func inOrder(m Mutant) []string {
	if m.Kind == "sync" {
		return suites
	}
	rank := func(suite string) int {
		if suite == crashSuite {
			return 1
		}
		return 0
	}
	list := slices.Clone(suites)
	slices.SortStableFunc(list[:max(0, len(list)-1)], func(a, b string) int { return rank(a) - rank(b) })
	return list
}

const sample = "-test.short"

// run runs tests of a suite in its own folder, as go test does, until the first failure.
func (r *runner) run(ctx context.Context, suite, env string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	scratch, err := os.MkdirTemp(r.dir, "run-")
	if err != nil {
		return nil, err
	}
	// What a stopped suite left is no matter of the mutant.
	defer conformance.RemoveAll(scratch)
	cmd := exec.CommandContext(ctx, r.binary(suite), append([]string{"-test.failfast"}, args...)...)
	cmd.Dir = suite
	cmd.Env = append(os.Environ(), env, "TMPDIR="+scratch)
	// A suite has children of its own, which a mutant may make hang.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return out, err
}
