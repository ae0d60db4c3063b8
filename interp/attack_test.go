package interp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"steps.example/interp"
	"steps.example/interp/view"
)

// refused applies and wants a refusal that says why; nothing may have changed.
func (w *world) refused(job interp.Job, why string) {
	w.t.Helper()
	before := w.listing()
	_, err := w.apply(job)
	if err == nil || !strings.Contains(err.Error(), why) {
		w.t.Errorf("got %v, want a refusal with %q", err, why)
	}
	if w.listing() != before {
		w.t.Errorf("the tree changed from\n%sto\n%s", before, w.listing())
	}
}

// Links that are harmless by their text, one by one, lead out together.
func TestAttackLinksThatClimb(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.refused(w.job(`[{"type": "symlink", "source": {"base": "relative", "path": ".."}, "target": {"base": "etc", "path": "x"}},
		{"type": "symlink", "source": {"base": "relative", "path": "x/../outside/secret"}, "target": {"base": "etc", "path": "y"}}]`), "climbs after a name")
	w.refused(w.job(`[{"type": "symlink", "source": {"path": "{W}/outside/secret"}, "target": {"base": "var", "path": "y"}}]`), "link would lead out")
	needJail(t)
	w.refused(w.job(`[{"type": "run", "command": {"path": "/bin/ln"}, "args": ["-s", "../../outside", "{{var}}/y"]}]`), "link would lead out")
	w.refused(w.job(`[{"type": "run", "command": {"path": "/bin/ln"}, "args": ["-s", "a/../../../outside", "{{var}}/y"]}]`), "climbs after a name")
}

// The store reached by another spelling of its directory.
func TestAttackStoreThroughALink(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "lnk -> hb/var/real", "hb/var/real/")
	for _, step := range []string{
		`{"type": "write", "path": {"base": "var", "path": "real/state/mine"}, "content": "x"}`,
		`{"type": "remove", "paths": [{"base": "var", "path": "real"}], "recursive": true}`,
		`{"type": "move", "source": {"base": "var", "path": "real"}, "target": {"base": "var", "path": "other"}}`,
	} {
		w.make("hb/var/real/state/receipt=x")
		job := w.job("[" + step + "]")
		job.Target.Protected = []string{w.at("lnk/state")}
		w.refused(job, "where receipts and transactions are kept")
	}
	needJail(t)
	job := w.job(`[{"type": "run", "command": {"path": "/bin/true"}}]`)
	job.Target.Protected = []string{w.at("lnk/state")}
	w.refused(job, "may not write")
}

// link_dir into its own source had no end.
func TestAttackLinkDirIntoItself(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"a/b", "a/b/c", "a"} {
		w := newWorld(t, "hb/var/a/")
		done := make(chan error, 1)
		go func() {
			_, err := w.apply(w.job(fmt.Sprintf(`[{"type": "link_dir", "source": {"base": "var", "path": "a"}, "target": {"base": "var", "path": %q}}]`, target)))
			done <- err
		}()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: no end", target)
		}
	}
}

// A short document that doubles what it made with every step.
func TestAttackDoubling(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := []string{`{"type": "write", "path": {"base": "var", "path": "a/f"}, "content": "x"}`}
	for i := range 24 {
		list = append(list, `{"type": "copy", "source": {"base": "var", "path": "a"}, "target": {"base": "var", "path": "b"}, "recursive": true}`,
			fmt.Sprintf(`{"type": "move", "source": {"base": "var", "path": "b"}, "target": {"base": "var", "path": "a/%d"}}`, i))
	}
	w.refused(w.job("["+strings.Join(list, ",")+"]"), "than may be made at once")
}

// The home directory is not read for a package that nobody allowed to.
func TestAttackReadsOfHome(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "home/.ssh/id=key")
	for _, step := range []string{
		`{"type": "copy", "source": {"base": "home", "path": ".ssh/id"}, "target": {"base": "var", "path": "k"}}`,
		`{"type": "copy", "source": {"base": "home", "path": "."}, "target": {"base": "var", "path": "k"}, "recursive": true}`,
		`{"type": "copy", "source": {"path": "~/.ssh"}, "target": {"base": "var", "path": "k"}, "recursive": true}`,
		`{"type": "run", "command": {"path": "/bin/cat"}, "stdin_path": {"base": "home", "path": ".ssh/id"}, "stdout_path": {"base": "var", "path": "k"}}`,
	} {
		w.refused(w.job("["+step+"]"), "--approve read:home")
	}
	job := w.job(`[{"type": "copy", "source": {"base": "home", "path": ".ssh/id"}, "target": {"base": "var", "path": "k"}}]`)
	job.Target.Approved = []string{"read:home"}
	if _, err := w.apply(job); err != nil || w.read("hb/var/k") != "key" {
		t.Error(err)
	}
}

// Directories that packages share are not one package's to remove.
func TestAttackSharedDirectories(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/bin/othertool=x")
	for _, step := range []string{
		`{"type": "remove", "paths": [{"base": "homebrew_prefix", "path": "bin"}], "recursive": true}`,
		`{"type": "remove", "paths": [{"base": "var", "path": "."}], "recursive": true}`,
		`{"type": "move", "source": {"base": "homebrew_prefix", "path": "bin"}, "target": {"base": "var", "path": "bin"}}`,
	} {
		w.refused(w.job("["+step+"]"), "packages share")
	}
}

// Names that no terminal and no receipt can show.
func TestAttackNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := os.WriteFile(w.at("hb/var/bad\xff"), nil, 0o644); err != nil {
		t.Skip("this file system takes no such names:", err)
	}
	w.refused(w.job(`[{"type": "remove", "paths": [{"base": "var", "path": "bad*"}]}]`), "not UTF-8")
	w.refused(w.job(`[{"type": "write", "path": {"base": "homebrew_prefix", "path": "x\nsteps: all is well"}, "content": ""}]`), `x\nsteps: all is well`)
	w.refused(w.job(fmt.Sprintf(`[{"type": "mkdir_p", "path": {"base": "var", "path": %q}}]`, strings.Repeat("x", 300))), "step 1 (mkdir_p)")
}

// What will be copied, run and fed is part of what a plan's digest stands for.
func TestAttackPlanDigest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, step, file string }{
		{"copied", `{"type": "copy", "source": {"base": "etc", "path": "f"}, "target": {"base": "var", "path": "x"}}`, "hb/etc/f"},
		{"fed", `{"type": "run", "command": {"path": "/bin/sh"}, "stdin_path": {"base": "etc", "path": "f"}}`, "hb/etc/f"},
		{"run", `{"type": "run", "command": {"base": "bin", "path": "f"}}`, "hb/Cellar/demo/1.0/bin/f"},
	} {
		if tc.name != "copied" {
			needJail(t)
		}
		w := newWorld(t, tc.file+"=#!/bin/sh\nexit 0\n")
		if err := os.Chmod(w.at(tc.file), 0o755); err != nil {
			t.Fatal(err)
		}
		job := w.job("[" + tc.step + "]")
		plan, err := interp.MakePlan(context.Background(), job, interp.Machine{})
		if err != nil || len(plan.Refused) > 0 {
			t.Fatal(tc.name, err, plan.Refused)
		}
		w.make(tc.file + "=#!/bin/sh\nexit 1\n")
		_, err = interp.Apply(context.Background(), job, interp.Machine{}, interp.ApplyOptions{Store: w.store, Expect: plan.Digest()})
		if !errors.Is(err, interp.ErrPlanMoved) {
			t.Errorf("%s: got %v, want ErrPlanMoved", tc.name, err)
		}
	}
}

// A path that leads out is told from a step that failed.
func TestAttackOutsideIsARefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/var/l -> {W}/outside")
	_, err := w.apply(w.job(`[{"type": "touch", "path": {"base": "var", "path": "l/x"}}]`))
	if !errors.Is(err, view.ErrOutside) {
		t.Errorf("got %v", err)
	}
}

// A command hid what it made behind the name of a transaction's directory.
func TestAttackHiddenDirectory(t *testing.T) {
	t.Parallel()
	needJail(t)
	w := newWorld(t)
	mk := func(name string) string {
		return `[{"type": "run", "command": {"path": "/bin/sh"}, "args": ["-c", "mkdir {{var}}/` + name + `; echo x >{{var}}/` + name + `/f"]}`
	}
	w.refused(w.job(mk(".steps-evil")+"]"), "reserved")
	w.refused(w.job(mk(".steps-20260101T000000.000000000Z")+"]"), "reserved")
	w.refused(w.job(mk(".steps-evil")+`, {"type": "run", "command": {"path": "/bin/false"}}]`), "reserved")
	w.refused(w.job(`[{"type": "mkdir_p", "path": {"base": "var", "path": ".steps-mine/x"}}]`), "reserved")
}

// A hard link carried a change out of the directories that are granted.
func TestAttackHardLinks(t *testing.T) {
	t.Parallel()
	link := func(w *world) {
		w.make("hb/Cellar/other/1/f=theirs")
		if err := os.Link(w.at("hb/Cellar/other/1/f"), w.at("hb/var/h")); err != nil {
			t.Skip("no hard links here:", err)
		}
	}
	w := newWorld(t)
	link(w)
	done, err := w.apply(w.job(`[{"type": "set_permissions", "paths": [{"base": "var", "path": "h"}], "permissions": "0777"}]`))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(w.at("hb/Cellar/other/1/f")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the other name has the mode %v, %v", info.Mode(), err)
	}
	if drift, err := w.store.Verify(done.Receipt); err != nil || len(drift) > 0 {
		t.Errorf("verify: %v, %v", drift, err)
	}
	if err := w.store.Undo(done.Receipt.ID); err != nil {
		t.Error(err)
	}
	for _, mode := range captures(t) {
		for _, change := range []string{"echo more >>{{var}}/h", "chmod 600 {{var}}/h"} {
			w := newWorld(t)
			w.capture = mode
			link(w)
			w.refused(w.job(script(change, "")), "hard link")
			w.refused(w.job(script(change+"; exit 1", "")), "")
		}
	}
}

// A script that an argument or a variable names is part of what a plan stands for.
func TestAttackPlanDigestOfScripts(t *testing.T) {
	t.Parallel()
	needJail(t)
	for _, step := range []string{
		`{"type": "run", "command": {"path": "/bin/sh"}, "args": ["{{libexec}}/x.sh"]}`,
		`{"type": "run", "command": {"path": "/bin/sh"}, "args": ["-c", ". $X"], "env": {"X": "{{libexec}}/x.sh"}}`,
	} {
		w := newWorld(t, "hb/Cellar/demo/1.0/libexec/x.sh=exit 0\n")
		job := w.job("[" + step + "]")
		plan, err := interp.MakePlan(context.Background(), job, interp.Machine{})
		if err != nil || len(plan.Refused) > 0 {
			t.Fatal(err, plan.Refused)
		}
		w.make("hb/Cellar/demo/1.0/libexec/x.sh=exit 1\n")
		_, err = interp.Apply(context.Background(), job, interp.Machine{}, interp.ApplyOptions{Store: w.store, Expect: plan.Digest()})
		if !errors.Is(err, interp.ErrPlanMoved) {
			t.Errorf("%s: got %v, want ErrPlanMoved", step, err)
		}
	}
}

// What a command removed and nobody can make again is named, unless it never
// was at risk.
func TestAttackLostFIFO(t *testing.T) {
	t.Parallel()
	for _, mode := range captures(t) {
		w := newWorld(t)
		w.capture = mode
		if err := unix.Mkfifo(w.at("hb/var/ff"), 0o600); err != nil {
			t.Skip("no FIFOs here:", err)
		}
		_, err := w.apply(w.job(`[{"type": "run", "command": {"path": "/bin/sh"}, "args": ["-c", "rm {{var}}/ff; exit 1"]}]`))
		named := err != nil && strings.Contains(err.Error(), "hb/var/ff") && strings.Contains(err.Error(), "made again")
		if err == nil || !named && !w.exists("hb/var/ff") {
			t.Errorf("%s: got %v", mode, err)
		}
	}
}
