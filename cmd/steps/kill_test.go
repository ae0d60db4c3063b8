package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var kills = flag.Int("kills", 12, "how often TestKilledApply kills an apply, and TestKilledUpgrade an upgrade")

// asSteps makes this test binary the command.
const asSteps = "STEPS_TEST_AS_COMMAND"

func stepsCommand(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), asSteps+"=1"), env...)
	return cmd
}

// mixedDocument is 2,000 steps of many kinds on the tree that mixedTree makes.
func mixedDocument() []byte {
	var b bytes.Buffer
	b.WriteString(`{"schema": 1, "layout": "homebrew-formula", "name": "mixed", "version": "1", "post_install_steps": [`)
	for i := range 200 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `
{"type": "mkdir_p", "path": {"base": "var", "path": "new/%[1]d/deep"}},
{"type": "write", "path": {"base": "var", "path": "new/%[1]d/f"}, "content": "new %[1]d\n"},
{"type": "symlink", "source": {"base": "relative", "path": "../f"}, "target": {"base": "var", "path": "new/%[1]d/deep/l"}},
{"type": "set_permissions", "paths": [{"base": "var", "path": "old/%[1]d/mode"}], "permissions": "0600"},
{"type": "write", "path": {"base": "var", "path": "old/%[1]d/replaced"}, "content": "replaced\n", "overwrite": true},
{"type": "inreplace", "path": {"base": "var", "path": "old/%[1]d/edited"}, "before": "old", "after": "edited"},
{"type": "remove", "paths": [{"base": "var", "path": "old/%[1]d/removed"}], "recursive": true},
{"type": "move", "source": {"base": "var", "path": "old/%[1]d/moved"}, "target": {"base": "var", "path": "new/%[1]d/moved"}},
{"type": "symlink", "source": {"base": "relative", "path": "replaced"}, "target": {"base": "var", "path": "old/%[1]d/link"}, "force": true},
{"type": "copy", "source": {"base": "var", "path": "old/%[1]d/kept"}, "target": {"base": "var", "path": "new/%[1]d/copy"}}`, i)
	}
	b.WriteString("]}\n")
	return b.Bytes()
}

func mixedTree(prefix string) error {
	var errs []error
	for i := range 200 {
		dir := filepath.Join(prefix, "var", "old", fmt.Sprint(i))
		errs = append(errs, os.MkdirAll(filepath.Join(dir, "removed", "sub"), 0o755), os.MkdirAll(filepath.Join(dir, "moved"), 0o755))
		for _, name := range []string{"mode", "replaced", "edited", "kept", "removed/a", "removed/sub/b", "moved/c"} {
			errs = append(errs, os.WriteFile(filepath.Join(dir, name), []byte("old "+name+"\n"), 0o644))
		}
		errs = append(errs, os.Symlink("kept", filepath.Join(dir, "link")))
	}
	return errors.Join(errs...)
}

func listTree(root string) (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(strings.TrimPrefix(p, root) + " " + info.Mode().String())
		switch {
		case d.Type()&os.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			b.WriteString(" -> " + target)
		case d.Type().IsRegular():
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			b.WriteString(" " + string(data))
		}
		b.WriteString("\n")
		return nil
	})
	return b.String(), err
}

// TestKilledApply kills a 2,000-step apply at random moments; after recover the
// tree is as before or as after, every time.
func TestKilledApply(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	doc := filepath.Join(dir, "mixed.json")
	if err := os.WriteFile(doc, mixedDocument(), 0o644); err != nil {
		t.Fatal(err)
	}
	world := func(name string) (prefix string, args []string) {
		prefix = filepath.Join(dir, name, "brew")
		if err := mixedTree(prefix); err != nil {
			t.Fatal(err)
		}
		return prefix, []string{"--prefix", prefix, "--state", filepath.Join(dir, name, "state")}
	}
	list := func(prefix string) string {
		s, err := listTree(prefix)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	// The moments are drawn over one and a half times the shortest of a few whole runs.
	var before, after string
	whole := time.Hour
	for i := range 3 {
		prefix, where := world(fmt.Sprint("whole", i))
		before = list(prefix)
		start := time.Now()
		if out, err := stepsCommand(nil, append([]string{"apply", "--unsigned", doc, "--replace", "var"}, where...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		whole = min(whole, time.Since(start)*3/2)
		after = list(prefix)
	}
	if before == after {
		t.Fatal("the document changes nothing")
	}
	ends := map[string]int{}
	for i := range *kills {
		name := fmt.Sprint("kill", i)
		prefix, where := world(name)
		cmd := stepsCommand(nil, append([]string{"apply", "--unsigned", doc, "--replace", "var"}, where...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(whole))))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		out, err := stepsCommand(nil, append([]string{"recover"}, where...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("recover: %v: %s", err, out)
		}
		if strings.Contains(string(out), "completed") {
			ends["completed"]++
		}
		if !strings.Contains(string(out), "nothing was") {
			ends["recovered"]++
		}
		switch list(prefix) {
		case before:
			ends["before"]++
		case after:
			ends["after"]++
		default:
			t.Fatalf("kill %d: the tree is neither as before nor as after; see %s", i, prefix)
		}
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills: %d before, %d after; recover had work %d times, and completed %d", *kills, ends["before"], ends["after"], ends["recovered"], ends["completed"])
}
