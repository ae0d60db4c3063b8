package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	commitDir  = "interp/commit"
	crashSuite = "conformance/crash"
)

// suites are the test packages that are to notice. The last one has commit's own
// tests, among them those of what it decodes.
var suites = []string{crashSuite, "conformance/race", "conformance/faults", commitDir}

func main() {
	list := flag.Bool("list", false, "list the mutants instead")
	tests := flag.Bool("tests", false, "list the mutants, and the tests that come by each")
	only := flag.String("only", "", "only mutants whose key this regular expression matches")
	jobs := flag.Int("j", 2, "how many to run at once")
	in := flag.String("suites", strings.Join(suites, ","), "the packages whose tests are to notice, the sharpest first")
	write := flag.Bool("write", false, "write what noticed them to noticed.txt")
	limit := flag.Duration("timeout", 5*time.Minute, "how long a suite may take; a mutant that makes it hang is noticed")
	flag.Parse()
	whole := *in == strings.Join(suites, ",")
	suites = strings.Split(*in, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, mode{*list, *tests, *write, whole}, *only, *jobs, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// mode is what to do with the mutants, other than to run them; whole is with all suites.
type mode struct{ list, tests, write, whole bool }

func run(ctx context.Context, do mode, only string, jobs int, limit time.Duration) error {
	pick, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	overlay, mutants, err := mutateAll(commitDir)
	if err != nil {
		return fmt.Errorf("%w (run it in the top folder of the repository)", err)
	}
	reasons, err := parseSurvivors(survivorsText)
	if err != nil {
		return err
	}
	var picked []Mutant
	for _, m := range mutants {
		if pick.MatchString(m.Key()) {
			picked = append(picked, m)
		}
	}
	if do.list {
		for _, m := range picked {
			fmt.Printf("%4d %s:%d %s %s: %s\n", m.N, m.File, m.Line, m.Func, m.Kind, m.Text)
		}
		return nil
	}
	dir, err := os.MkdirTemp("", "steps-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := &runner{dir: dir, jobs: jobs, limit: limit, reasons: reasons}
	if err := r.build(ctx, overlay); err != nil {
		return err
	}
	if do.tests {
		return r.list(ctx, picked)
	}
	found, err := r.all(ctx, picked)
	if do.write && found != nil {
		err = errors.Join(err, writeNoticed(mutants, picked, found, do.whole))
	}
	return err
}

// mutateAll gives every file of commit with all its mutants, by its path, and the
// file that they need.
func mutateAll(dir string) (map[string][]byte, []Mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("there is no %s here", commitDir)
	}
	if err != nil {
		return nil, nil, err
	}
	overlay := map[string][]byte{filepath.Join(dir, "mutants.go"): []byte(support)}
	var all []Mutant
	for _, file := range files {
		// What only another system compiles cannot be run here.
		if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "_darwin.go") || strings.HasSuffix(file, "_other.go") {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		changed, mutants, err := mutate(filepath.Base(file), src, len(all)+1)
		if err != nil {
			return nil, nil, err
		}
		if len(mutants) > 0 {
			overlay[file] = changed
			all = append(all, mutants...)
		}
	}
	seen := map[string]int{}
	for i := range all {
		key := all[i].Key()
		if seen[key]++; seen[key] > 1 {
			all[i].Text += fmt.Sprintf(" (%d)", seen[key])
		}
	}
	return overlay, all, nil
}

// build compiles every suite once, with all mutants in it.
func (r *runner) build(ctx context.Context, overlay map[string][]byte) error {
	replace := map[string]string{}
	for name, src := range overlay {
		path, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		replace[path] = filepath.Join(r.dir, filepath.Base(name))
		if err := os.WriteFile(replace[path], src, 0o600); err != nil {
			return err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	file := filepath.Join(r.dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	for _, suite := range suites {
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", file, "-o", r.binary(suite), "./"+suite)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", suite, err, out)
		}
	}
	return nil
}

func (r *runner) binary(suite string) string {
	return filepath.Join(r.dir, strings.ReplaceAll(suite, "/", "-")+".test")
}
