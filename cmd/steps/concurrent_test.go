package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"steps.example/interp"
	"steps.example/interp/commit"
	"steps.example/steps"
)

// holdIn makes this test binary a process that is in the middle of an apply with
// this prefix, and stays there.
const holdIn = "STEPS_TEST_HOLD"

// hold applies a document to a prefix and stops for ever before its first sync, when
// it has said so.
func hold(prefix string) error {
	doc, err := steps.Decode(smallDocument("held"), steps.DefaultLimits)
	if err != nil {
		return err
	}
	store, err := commit.OpenStore(prefix + ".state")
	if err != nil {
		return err
	}
	store.Intercept(func(c commit.Call) error {
		if c.Op == "sync" {
			fmt.Println("holding")
			select {}
		}
		return nil
	})
	_, err = interp.Apply(context.Background(), interp.Job{
		Document: doc, Phases: interp.PhasesOf(doc, false), Target: interp.Target{
			Layout: doc.Layout, Name: doc.Name, Version: doc.Version, OS: hostOS(),
			Dirs: map[string]string{"homebrew_prefix": prefix, "home": prefix + ".home", "temp": prefix + ".temp"},
		},
	}, interp.Machine{}, interp.ApplyOptions{Store: store})
	return err
}

func smallDocument(name string) []byte {
	return fmt.Appendf(nil, `{"schema": 1, "layout": "homebrew-formula", "name": %[1]q, "version": "1", "post_install_steps": [
 {"type": "mkdir_p", "path": {"base": "var", "path": "shared"}},
 {"type": "write", "path": {"base": "var", "path": "shared/%[1]s"}, "content": "x"}]}`, name)
}

// site is a prefix, its state and documents of small packages.
type site struct {
	*testing.T
	dir, prefix string
}

func newSite(t *testing.T) *site {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t, dir, filepath.Join(dir, "brew")}
	if err := os.MkdirAll(filepath.Join(s.prefix, "var"), 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

// run calls steps with the place of the prefix added, and gives its status.
func (s *site) run(args ...string) (code int, out string) {
	s.Helper()
	if strings.HasSuffix(args[len(args)-1], ".json") {
		name := args[len(args)-1]
		args = append(args[:len(args)-1:len(args)-1], "--unsigned", filepath.Join(s.dir, name))
		if err := os.WriteFile(filepath.Join(s.dir, name), smallDocument(strings.TrimSuffix(name, ".json")), 0o644); err != nil {
			s.Fatal(err)
		}
	}
	text, err := stepsCommand(nil, append(args, "--prefix", s.prefix, "--state", s.prefix+".state")...).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), string(text)
	} else if err != nil {
		s.Fatal(err)
	}
	return 0, string(text)
}

func (s *site) want(code int, message string, args ...string) {
	s.Helper()
	if got, out := s.run(args...); got != code || !regexp.MustCompile(message).MatchString(out) {
		s.Errorf("steps %s: status %d, want %d and %q:\n%s", strings.Join(args, " "), got, code, message, out)
	}
}

// TestLocked: while one process is in the middle of an apply, all others are told
// which it is and what to do, and change nothing. Once it is killed, what it left
// is recovered, and its lock is no obstacle, whoever has its number by then.
func TestLocked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.want(0, "", "apply", "demo.json")
	holder := stepsCommand([]string{holdIn + "=" + s.prefix})
	said, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = holder.Process.Kill()
		_ = holder.Wait()
	}()
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "holding\n" {
		t.Fatalf("the holder says %q, %v", line, err)
	}
	before, err := listTree(s.prefix)
	if err != nil {
		t.Fatal(err)
	}
	pid := holder.Process.Pid
	message := fmt.Sprintf(`in use by process %d \(apply\) since \d\d:\d\d:\d\d; wait for it to end,\s+or end it with kill %[1]d`, pid)
	for _, args := range [][]string{
		{"apply", "other.json"}, {"plan", "other.json"}, {"upgrade", "demo.json"}, {"undo"}, {"undo", "--force"},
		{"uninstall", "demo"}, {"repair", "demo"}, {"verify"}, {"recover"}, {"status"},
	} {
		s.want(exitLocked, message, args...)
	}
	s.want(exitLocked, `installed: demo 1\n`, "status")
	s.want(exitLocked, fmt.Sprintf(`"type":"in_progress","pid":%d,"since":"[-0-9T:Z]+","verb":"apply"`, pid), "status", "--json")
	if after, err := listTree(s.prefix); err != nil || after != before {
		t.Errorf("the tree changed meanwhile: %v\n%s", err, after)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait()
	for _, args := range [][]string{{"apply", "other.json"}, {"plan", "other.json"}, {"undo"}, {"verify"}, {"status"}} {
		s.want(exitRecover, fmt.Sprintf(`was interrupted\n.*say steps recover --prefix %s --state %[1]s.state first`, s.prefix), args...)
	}
	// A process that runs has the number of the dead one now.
	lock := filepath.Join(s.prefix+".state", "lock")
	if err := os.WriteFile(lock, fmt.Appendf(nil, "%d 2026-01-01T00:00:00Z apply\n", os.Getpid()), 0o600); err != nil {
		t.Fatal(err)
	}
	s.want(0, "taken back", "recover")
	for _, text := range []string{fmt.Sprintf("%d 2026-01-01T00:00:00Z apply\n", os.Getpid()), "", "x", strings.Repeat("9", 1000)} {
		if err := os.WriteFile(lock, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.want(0, "", "apply", fmt.Sprintf("after%d.json", len(text)))
	}
	s.want(0, "nothing differs", "verify")
}

// TestAtOnce: processes that apply, plan and undo on one prefix at the same time do
// so one after the other, or say that another one is at work.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.want(0, "", "apply", "base.json")
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			name := fmt.Sprintf("p%d.json", i)
			for _, args := range [][]string{{"plan", name}, {"apply", name}, {"verify"}, {"uninstall", fmt.Sprintf("p%d", i)}, {"apply", name}} {
				for tries := 0; ; tries++ {
					code, out := s.run(args...)
					if code == 0 {
						break
					}
					busy := code == exitLocked && strings.Contains(out, "in use by") || code == exitMoved && strings.Contains(out, "another process has changed")
					if !busy || tries > 1000 {
						s.Errorf("steps %s: status %d:\n%s", strings.Join(args, " "), code, out)
						return
					}
				}
			}
		})
	}
	all.Wait()
	s.want(0, `nothing differs`, "verify")
	for i := range 4 {
		s.want(0, "is uninstalled", "uninstall", fmt.Sprintf("p%d", i))
	}
	if names, err := os.ReadDir(filepath.Join(s.prefix, "var", "shared")); err != nil || len(names) != 1 {
		t.Errorf("left are %v, %v", names, err)
	}
}
