package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"steps.example/interp"
	"steps.example/interp/commit"
)

// upgradeDocument is a version of a package of 600 files and links, whose removal
// takes half of them away. Last is what its installation ends with.
func upgradeDocument(version int, last string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"schema": 1, "layout": "homebrew-formula", "name": "mixed", "version": "%d", "post_install_steps": [
{"type": "mkdir_p", "path": {"base": "var", "path": "mixed"}}`, version)
	for i := range 300 {
		fmt.Fprintf(&b, `,
{"type": "write", "path": {"base": "var", "path": "mixed/%[1]d"}, "content": "version %[2]d\n", "overwrite": true},
{"type": "symlink", "source": {"base": "relative", "path": "../var/mixed/%[1]d"}, "target": {"base": "homebrew_prefix", "path": "bin/%[1]d"}, "uninstall": %[3]t, "force": %[4]t}`,
			i, version, i%2 == 0, i%3 == 0)
	}
	b.WriteString(last + `], "post_remove_steps": [{"type": "remove", "paths": [{"base": "var", "path": "mixed/*[02468]"}]}]}`)
	return b.Bytes()
}

// TestKilledUpgrade kills an upgrade at random moments, in turn one that goes
// through and one whose last step fails, a command where this machine can jail one.
// After recovery the old version is whole or the new one is, and the store knows
// which. Where it is the new one, undo brings the old one back for the next round.
func TestKilledUpgrade(t *testing.T) {
	t.Parallel()
	dir := inMemory(t)
	fails := `, {"type": "run", "command": {"path": "/bin/false"}}`
	if err := (interp.Machine{}).CanRun(nil); err != nil {
		t.Logf("the failing step fails in the plan already: %v", err)
		fails = `, {"type": "mkdir", "path": {"base": "var", "path": "mixed"}}`
	}
	documents := map[string][]byte{
		"1.json": upgradeDocument(1, ""), "2.json": upgradeDocument(2, ""), "fails.json": upgradeDocument(2, fails),
	}
	for name, text := range documents {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	start := stepsCommand
	if *kills > 100 {
		start = lightCommand(t)
	}
	// Two sites at a time, since one waits for its process most of the time.
	sites := make([]killSite, 2)
	var all sync.WaitGroup
	for i := range sites {
		sites[i] = killSite{T: t, dir: dir, name: fmt.Sprint("site", i), start: start, ends: map[string]int{}}
		all.Go(func() { sites[i].kill(*kills / len(sites)) })
	}
	all.Wait()
	for _, s := range sites {
		t.Logf("%d kills: old %d, new %d; recover had work %d times", *kills/len(sites), s.ends["old"], s.ends["new"], s.ends["recovered"])
	}
}

// inMemory is a directory for the test, in memory where that is to be had: what a
// disk does is not in question here.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "steps-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// lightCommand builds the small program that is installed, which starts in a tenth
// of the time of this test binary.
func lightCommand(t *testing.T) func([]string, ...string) *exec.Cmd {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "steps")
	if out, err := exec.Command("go", "build", "-tags", "light", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("build it: %v: %s", err, out)
	}
	return func(env []string, args ...string) *exec.Cmd {
		cmd := exec.Command(bin, args...)
		cmd.Env = append(os.Environ(), env...)
		return cmd
	}
}

// killSite is a prefix in which one upgrade after the other is killed.
type killSite struct {
	*testing.T
	dir, name string
	start     func(env []string, args ...string) *exec.Cmd
	store     *commit.Store
	ends      map[string]int
}

func (s *killSite) prefix() string { return filepath.Join(s.dir, s.name, "brew") }

func (s *killSite) command(verb, doc string) *exec.Cmd {
	return s.start(nil, verb, "--prefix", s.prefix(), "--state", filepath.Join(s.dir, s.name, "state"), "--unsigned", filepath.Join(s.dir, doc))
}

// look gives the tree, and the version that the store says is installed.
func (s *killSite) look() (tree, version string, err error) {
	tree, err = listTree(s.prefix())
	if err != nil {
		return "", "", err
	}
	inst, err := interp.Find(s.store, "mixed", "")
	if err != nil {
		return "", "", err
	}
	return tree, inst.Package.Version, nil
}

func (s *killSite) undo() error {
	receipts, err := s.store.Receipts()
	if err != nil {
		return err
	}
	return s.store.Undo(receipts[len(receipts)-1].ID)
}

// kill kills n upgrades. It is a goroutine of its own: it fails by an error.
func (s *killSite) kill(n int) {
	if err := s.rounds(n); err != nil {
		s.Errorf("%s: %v", s.name, err)
	}
}

func (s *killSite) rounds(n int) error {
	err := errors.Join(os.MkdirAll(filepath.Join(s.prefix(), "bin"), 0o755), os.MkdirAll(filepath.Join(s.prefix(), "var"), 0o755))
	if err != nil {
		return err
	}
	if out, err := s.command("apply", "1.json").CombinedOutput(); err != nil {
		return fmt.Errorf("apply: %w: %s", err, out)
	}
	if s.store, err = commit.OpenStore(filepath.Join(s.dir, s.name, "state")); err != nil {
		return err
	}
	defer s.store.Close()
	before, _, err := s.look()
	if err != nil {
		return err
	}
	whole := map[string]time.Duration{}
	begun := time.Now()
	if out, err := s.command("upgrade", "fails.json").CombinedOutput(); err == nil {
		return fmt.Errorf("the step that fails did not: %s", out)
	}
	whole["fails.json"] = time.Since(begun) * 5 / 4
	if tree, version, err := s.look(); err != nil || tree != before || version != "1" {
		return fmt.Errorf("a failed upgrade left version %s, and the tree changed: %t: %v", version, tree != before, err)
	}
	begun = time.Now()
	if out, err := s.command("upgrade", "2.json").CombinedOutput(); err != nil {
		return fmt.Errorf("upgrade: %w: %s", err, out)
	}
	whole["2.json"] = time.Since(begun) * 5 / 4
	after, _, err := s.look()
	if err != nil || after == before {
		return fmt.Errorf("the upgrade changes nothing: %v", err)
	}
	if err := s.undo(); err != nil {
		return err
	}
	for i := range n {
		doc := []string{"2.json", "fails.json"}[i%2]
		if err := s.round(doc, whole[doc], before, after); err != nil {
			return fmt.Errorf("kill %d, of %s: %w", i, doc, err)
		}
	}
	return nil
}

func (s *killSite) round(doc string, whole time.Duration, before, after string) error {
	cmd := s.command("upgrade", doc)
	if err := cmd.Start(); err != nil {
		return err
	}
	time.Sleep(time.Duration(rand.Int64N(int64(whole))))
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	done, err := s.store.Recover(commit.RecoverOptions{})
	// A child that it was about to start has the lock, too, until it executes.
	for end := time.Now().Add(10 * time.Second); errors.Is(err, commit.ErrLocked) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
		done, err = s.store.Recover(commit.RecoverOptions{})
	}
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	if len(done) > 0 {
		s.ends["recovered"]++
	}
	tree, version, err := s.look()
	switch {
	case err != nil:
		return err
	case tree == before && version == "1":
		s.ends["old"]++
		return nil
	case tree != after || version != "2" || doc != "2.json":
		return fmt.Errorf("the store says version %s, and the tree is whole as neither", version)
	}
	s.ends["new"]++
	if err := s.undo(); err != nil {
		return err
	}
	if tree, version, err = s.look(); err != nil || tree != before || version != "1" {
		return fmt.Errorf("undo of the new version left version %s, and the tree is as before: %t: %v", version, tree == before, err)
	}
	return nil
}
