package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
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
// After recover the old version is whole or the new one is, and the store knows
// which.
func TestKilledUpgrade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
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
	call := func(verb, name, doc string) ([]byte, error) {
		args := []string{verb, "--prefix", filepath.Join(dir, name, "brew"), "--state", filepath.Join(dir, name, "state")}
		if doc != "" {
			args = append(args, "--unsigned", filepath.Join(dir, doc))
		}
		return stepsCommand(nil, args...).CombinedOutput()
	}
	install := func(name string) {
		t.Helper()
		prefix := filepath.Join(dir, name, "brew")
		if err := errors.Join(os.MkdirAll(filepath.Join(prefix, "bin"), 0o755), os.MkdirAll(filepath.Join(prefix, "var"), 0o755)); err != nil {
			t.Fatal(err)
		}
		if out, err := call("apply", name, "1.json"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	look := func(name string) (tree, version string) {
		t.Helper()
		tree, err := listTree(filepath.Join(dir, name, "brew"))
		if err != nil {
			t.Fatal(err)
		}
		store, err := commit.OpenStore(filepath.Join(dir, name, "state"))
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		inst, err := interp.Find(store, "mixed", "")
		if err != nil {
			t.Fatal(err)
		}
		return tree, inst.Package.Version
	}
	install("whole")
	before, _ := look("whole")
	if out, err := call("upgrade", "whole", "fails.json"); err == nil {
		t.Fatalf("the step that fails did not: %s", out)
	}
	if tree, version := look("whole"); tree != before || version != "1" {
		t.Fatalf("a failed upgrade left version %s, and the tree changed: %t", version, tree != before)
	}
	start := time.Now()
	if out, err := call("upgrade", "whole", "2.json"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole := time.Since(start) * 3 / 2
	after, _ := look("whole")
	if before == after {
		t.Fatal("the upgrade changes nothing")
	}
	ends := map[string]int{}
	for i := range *kills {
		name, doc := fmt.Sprint("kill", i), []string{"2.json", "fails.json"}[i%2]
		install(name)
		cmd := stepsCommand(nil, "upgrade", "--prefix", filepath.Join(dir, name, "brew"), "--state", filepath.Join(dir, name, "state"), "--unsigned", filepath.Join(dir, doc))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(whole))))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		out, err := call("recover", name, "")
		if err != nil {
			t.Fatalf("recover: %v: %s", err, out)
		}
		if !strings.Contains(string(out), "nothing was") {
			ends["recovered"]++
		}
		tree, version := look(name)
		switch {
		case tree == before && version == "1":
			ends["old"]++
		case tree == after && version == "2" && doc == "2.json":
			ends["new"]++
		default:
			t.Fatalf("kill %d of %s: the store says version %s, and the tree is whole as neither; see %s", i, doc, version, name)
		}
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills: old %d, new %d; recover had work %d times", *kills, ends["old"], ends["new"], ends["recovered"])
}
