package interp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"steps.example/interp"
	"steps.example/interp/commit"
)

// stuck are removals that can never pass because of something that executes. What they
// leave out and why is in left, by step. The first is the installation's, the second
// says goodbye.
var stuck = []struct {
	name, steps string
	left        map[int]string
}{
	{"fails", `{"type": "run", "command": {"path": "/bin/false"}}`, map[int]string{3: "exited with 1"}},
	{"fails after it changed files", stuckScript("echo x >new; rm old; echo more >>kept; ln -s old link; exit 3", ""), map[int]string{3: "exited with 3"}},
	{"fails after it changed what an earlier step made", stuckScript("echo more >>said; exit 3", ""), map[int]string{3: "exited with 3"}},
	{"is killed", stuckScript("echo x >new; kill -9 $$", ""), map[int]string{3: "was ended by"}},
	{"takes too long", stuckScript("echo x >new; sleep 60", `, "timeout": 1`), map[int]string{3: "took longer than 1 seconds"}},
	{"makes what it may not", stuckScript("echo x >new", `, "outputs": []`), map[int]string{3: "left behind was refused"}},
	{"two fail, one between them works", `{"type": "run", "command": {"path": "/bin/false"}}, ` + stuckScript("echo more >>said", "") + `, ` + stuckScript("echo x >new; exit 3", ""),
		map[int]string{3: "exited with 1", 5: "exited with 3"}},
	{"what comes after needs what it made", stuckScript("echo x >new; exit 3", "") + `, {"type": "inreplace", "path": {"base": "var", "path": "new"}, "before": "x", "after": "y"}`,
		map[int]string{3: "exited with 3", 4: "new"}},
	{"what comes after a command fails", stuckScript("true", "") + `, {"type": "inreplace", "path": {"base": "var", "path": "kept"}, "before": "never", "after": "y"}`,
		map[int]string{4: "kept"}},
	{"a composite fails in its middle", `{"type": "init_data_dir", "path": {"base": "var", "path": "data"}, "using": "postgresql_initdb"}`, map[int]string{3: "exited with 4"}},
	{"no process to be ended", `{"type": "terminate_process", "name": "steps-no-such", "must_succeed": true}`, map[int]string{3: "no process matches"}},
}

// stuckScript is a run step in var, with more fields.
func stuckScript(text, more string) string {
	return strings.Trim(script(text, `"chdir": {"base": "var", "path": "."}`+more), "[]")
}

const saysGoodbye = `{"type": "write", "path": {"base": "var", "path": "said"}, "content": "goodbye"}`

// stuckWorld has a package whose removal says goodbye and then does list. It gives the
// tree before the installation.
func stuckWorld(t *testing.T, mode interp.CaptureMode, list string) (*world, string) {
	w := newWorld(t, "hb/var/old=old", "hb/var/kept=kept", "hb/Cellar/demo/1.0/bin/initdb=#!/bin/sh\nexit 4\n")
	w.capture = mode
	if err := os.Chmod(w.at("hb/Cellar/demo/1.0/bin/initdb"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := w.listing()
	job := w.version("1.0", `"post_install_steps": [{"type": "write", "path": {"base": "var", "path": "a"}, "content": "a"}],
 "post_remove_steps": [`+saysGoodbye+`, `+list+`]`)
	job.Target.Approved = []string{"terminate"}
	w.install(job)
	return w, before
}

// checkSkipped compares what was left out, and that the receipt says so, too.
func checkSkipped(t *testing.T, want map[int]string, got []interp.Refusal, r *commit.Receipt) {
	t.Helper()
	if len(got) != len(want) || len(r.Skipped) != len(want) {
		t.Fatalf("left out %v, in the receipt %v; want %v", got, r.Skipped, want)
	}
	for i, s := range got {
		if text := want[s.Step]; text == "" || !strings.Contains(s.Reason, text) {
			t.Errorf("left out step %d: %s; want %v", s.Step, s.Reason, want)
		}
		if r.Skipped[i] != (commit.Skipped{Step: s.Step, Reason: s.Reason}) {
			t.Errorf("the receipt says %v; want %v", r.Skipped[i], s)
		}
	}
}

// 42: a package was stuck where a command of its removal can never pass. What the
// command did before it failed must not stay.
func TestUninstallForceCommand(t *testing.T) {
	t.Parallel()
	for _, mode := range captures(t) {
		for _, tc := range stuck {
			t.Run(string(mode)+"/"+tc.name, func(t *testing.T) {
				t.Parallel()
				w, before := stuckWorld(t, mode, tc.steps)
				installed := w.listing()
				done, err := w.uninstall(interp.RemoveOptions{})
				if err == nil || !done.Stuck {
					t.Fatalf("without force: %v, stuck %v", err, done)
				}
				if got := w.listing(); got != installed {
					t.Errorf("a failed uninstall changed the tree:\n%s", got)
				}
				if done, err = w.uninstall(interp.RemoveOptions{Force: true}); err != nil {
					t.Fatal(err)
				}
				checkSkipped(t, tc.left, done.Skipped, done.Receipt)
				if r, err := w.store.Receipt(done.Receipt.ID); err != nil || !slices.Equal(r.Skipped, done.Receipt.Skipped) {
					t.Errorf("the stored receipt says %v, %v", r, err)
				}
				if said := w.read("hb/var/said"); !strings.HasPrefix(said, "goodbye") || strings.Contains(said, "more") != (len(tc.left) == 2 && tc.left[5] != "") {
					t.Errorf("said %q", said)
				}
				after := w.listing()
				w.undo(done.Receipt.ID)
				if got := w.listing(); got != installed {
					t.Errorf("after undo:\n%s\nwant\n%s", got, installed)
				}
				if done, err = w.uninstall(interp.RemoveOptions{Force: true}); err != nil || w.listing() != after {
					t.Errorf("once more: %v\n%s\nwant\n%s", err, w.listing(), after)
				}
				if err := os.Remove(w.at("hb/var/said")); err != nil {
					t.Fatal(err)
				}
				if got := w.listing(); got != before {
					t.Errorf("after:\n%s\nwant\n%s", got, before)
				}
			})
		}
	}
}

// What lacks an approval can be had, so force does not leave it out.
func TestUninstallForceNot(t *testing.T) {
	t.Parallel()
	needJail(t)
	for name, list := range map[string]string{
		"planned":  stuckScript("true", `, "network_access": true`),
		"executed": stuckScript("ln -s /etc/passwd bad", ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := stuckWorld(t, "", list)
			installed := w.listing()
			if done, err := w.uninstall(interp.RemoveOptions{Force: true}); err == nil || !strings.Contains(err.Error(), "--approve") {
				t.Errorf("error %v, left out %v", err, done.Skipped)
			}
			if got := w.listing(); got != installed {
				t.Errorf("the tree is\n%s\nwant\n%s", got, installed)
			}
		})
	}
}

// lacking is a machine that cannot run commands for a reason that is not theirs.
type lacking struct {
	interp.Machine
	err error
}

func (l lacking) Run(context.Context, *interp.Run) ([]byte, interp.RunReport, error) {
	return nil, interp.RunReport{}, l.err
}

// What another time, or another flag, would do is not left out either.
func TestUninstallForcePassing(t *testing.T) {
	t.Parallel()
	needJail(t)
	for _, tc := range []struct {
		mode interp.CaptureMode
		err  error
		left bool
	}{
		{interp.CaptureSnapshot, fmt.Errorf("start: %w", unix.EAGAIN), false},
		{interp.CaptureSnapshot, fmt.Errorf("start: %w", unix.ENOSPC), false},
		{interp.CaptureOverlay, interp.ErrNoLayers, false},
		{interp.CaptureSnapshot, fmt.Errorf("start: %w", unix.ENOEXEC), true}, // its interpreter is gone, say
	} {
		w, _ := stuckWorld(t, tc.mode, stuckScript("true", ""))
		installed := w.listing()
		done, err := w.installed().Remove(t.Context(), w.now(), lacking{err: tc.err}, interp.ApplyOptions{Store: w.store, Capture: tc.mode}, interp.RemoveOptions{Force: true})
		if tc.left {
			if err != nil || len(done.Skipped) != 1 {
				t.Errorf("%v: %v, left out %v", tc.err, err, done.Skipped)
			}
			continue
		}
		if !errors.Is(err, tc.err) && !errors.Is(err, interp.ErrNoLayers) || done.Stuck {
			t.Errorf("%v: error %v, stuck %v", tc.err, err, done.Stuck)
		}
		if got := w.listing(); got != installed {
			t.Errorf("%v: the tree is\n%s\nwant\n%s", tc.err, got, installed)
		}
	}
}

// The removal of the old version stopped an upgrade as well, and nothing said that it
// was that.
func TestUpgradeForce(t *testing.T) {
	t.Parallel()
	const next = `"post_install_steps": [{"type": "write", "path": {"base": "var", "path": "two"}, "content": "2"}`
	for _, mode := range captures(t) {
		for _, tc := range append(slices.Clone(stuck), struct {
			name, steps string
			left        map[int]string
		}{"typed", `{"type": "mkdir", "path": {"base": "var", "path": "no/parent"}}`, map[int]string{3: "no/parent"}}) {
			t.Run(fmt.Sprint(mode, "/", tc.name), func(t *testing.T) {
				t.Parallel()
				w, _ := stuckWorld(t, mode, tc.steps)
				installed := w.listing()
				done, err := w.upgrade(w.version("2.0", next+`]`))
				if err == nil || !done.Stuck || !strings.Contains(err.Error(), "the removal of demo 1.0, which is installed: ") {
					t.Fatalf("without force: %v", err)
				}
				// Force is for the removal: the new version's own steps must pass.
				for _, last := range []string{`, {"type": "mkdir", "path": {"base": "var", "path": "no/parent"}}]`, `, {"type": "run", "command": {"path": "/bin/false"}}]`} {
					done, err = w.upgradeForced(w.version("2.0", next+last))
					if err == nil || done.Stuck || strings.Contains(err.Error(), "removal") {
						t.Errorf("a new version that fails: %v", err)
					}
				}
				if got := w.listing(); got != installed || w.installed().Package.Version != "1.0" {
					t.Fatalf("a failed upgrade changed the tree:\n%s", got)
				}
				if done, err = w.upgradeForced(w.version("2.0", next+`]`)); err != nil {
					t.Fatal(err)
				}
				checkSkipped(t, tc.left, done.Skipped, done.Receipt)
				if got := w.installed().Package.Version; got != "2.0" || w.read("hb/var/two") != "2" || w.exists("hb/var/new") {
					t.Errorf("installed is %s, tree\n%s", got, w.listing())
				}
				w.undo(done.Receipt.ID)
				if got := w.listing(); got != installed || w.installed().Package.Version != "1.0" {
					t.Errorf("after undo:\n%s\nwant\n%s", got, installed)
				}
			})
		}
	}
}

// What a command makes possible is refused when the tree is looked at again: also of
// that the message says that it belongs to the removal.
func TestUpgradeForceRefusedLate(t *testing.T) {
	t.Parallel()
	for _, mode := range captures(t) {
		w, _ := stuckWorld(t, mode, stuckScript("mv said later", "")+
			`, {"type": "move", "source": {"base": "var", "path": "later"}, "target": {"base": "var", "path": "kept"}, "overwrite": true}`)
		installed := w.listing()
		next := w.version("2.0", `"post_install_steps": []`)
		next.Target.Replace = nil
		done, err := w.upgrade(next)
		if err == nil || !done.Stuck || !strings.HasPrefix(err.Error(), "the removal of demo 1.0, which is installed: ") || strings.Count(err.Error(), "removal") > 1 {
			t.Fatalf("without force: %v", err)
		}
		if got := w.listing(); got != installed {
			t.Errorf("a failed upgrade changed the tree:\n%s", got)
		}
		if done, err = w.upgradeForced(next); err != nil {
			t.Fatal(err)
		}
		checkSkipped(t, map[int]string{4: "was made by no package"}, done.Skipped, done.Receipt)
		if w.read("hb/var/kept") != "kept" || w.read("hb/var/later") != "goodbye" {
			t.Error(w.listing())
		}
	}
}

// Where the document was not stored, force leaves out all of the removal, and says so.
func TestForceNotStored(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(w *world, force bool) (*interp.Applied, error){
		"uninstall": func(w *world, force bool) (*interp.Applied, error) {
			done, err := w.uninstall(interp.RemoveOptions{Force: force})
			if done == nil {
				return nil, err
			}
			return &done.Applied, err
		},
		"upgrade": func(w *world, force bool) (*interp.Applied, error) {
			next := w.version("2.0", `"post_install_steps": []`)
			if force {
				return w.upgradeForced(next)
			}
			return w.upgrade(next)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			done := w.install(w.version("1.0", `"post_remove_steps": [`+saysGoodbye+`], "post_install_steps": [{"type": "write", "path": {"base": "var", "path": "a"}, "content": "a"}]`))
			file := w.at("state/receipts/" + done.Receipt.ID + "/receipt.json")
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(strings.Replace(string(data), `"stored_sha256":"`+done.Receipt.Stored+`"`, `"bundle_sha256":""`, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := remove(w, false); !errors.Is(err, interp.ErrNotStored) {
				t.Errorf("without force: %v", err)
			}
			if done, err = remove(w, true); err != nil || w.exists("hb/var/said") {
				t.Fatal(err, w.listing())
			}
			checkSkipped(t, map[int]string{0: "was not stored"}, done.Skipped, done.Receipt)
		})
	}
}
