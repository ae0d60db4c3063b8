package interp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"steps.example/interp"
	"steps.example/interp/commit"
	"steps.example/steps"
)

// version is the installation of a version of demo, with these phases, in JSON.
func (w *world) version(version, phases string) interp.Job {
	w.t.Helper()
	text := fmt.Sprintf(`{"schema": 1, "layout": "homebrew-formula", "name": "demo", "version": %q, %s}`, version, phases)
	doc, err := steps.Decode([]byte(strings.ReplaceAll(text, "{W}", w.dir)), steps.DefaultLimits)
	if err != nil {
		w.t.Fatal(err)
	}
	job := w.job(`[]`)
	job.Document, job.Phases, job.Target.Version = doc, interp.PhasesOf(doc, false), version
	job.Target.Replace = []string{interp.ResolveAll} // conflicts have tests of their own
	return job
}

func (w *world) install(job interp.Job) *interp.Applied {
	w.t.Helper()
	done, err := w.apply(job)
	if err != nil {
		w.t.Fatal(err)
	}
	return done
}

func (w *world) installed() *interp.Installation {
	w.t.Helper()
	inst, err := interp.Find(w.store, "demo", "")
	if err != nil {
		w.t.Fatal(err)
	}
	return inst
}

func (w *world) upgrade(job interp.Job) (*interp.Applied, error) {
	return interp.Upgrade(context.Background(), w.installed(), job, interp.Machine{}, interp.ApplyOptions{Store: w.store, Capture: w.capture}, false)
}

func (w *world) upgradeForced(job interp.Job) (*interp.Applied, error) {
	return interp.Upgrade(context.Background(), w.installed(), job, interp.Machine{}, interp.ApplyOptions{Store: w.store, Capture: w.capture}, true)
}

func (w *world) now() interp.Target {
	t := w.job(`[]`).Target
	t.Layout, t.Name, t.Version, t.Dirs = "", "", "", nil
	return t
}

func (w *world) uninstall(how interp.RemoveOptions) (*interp.Removed, error) {
	return w.installed().Remove(context.Background(), w.now(), interp.Machine{}, interp.ApplyOptions{Store: w.store, Capture: w.capture}, how)
}

func (w *world) undo(id string) {
	w.t.Helper()
	if err := w.store.Undo(id); err != nil {
		w.t.Fatal(err)
	}
}

func left(list []interp.Left) string {
	var out []string
	for _, l := range list {
		out = append(out, l.String())
	}
	return strings.Join(out, "\n")
}

const (
	oldPhases = `"post_install_steps": [
 {"type": "mkdir_p", "path": {"base": "var", "path": "demo"}},
 {"type": "write", "path": {"base": "var", "path": "demo/version"}, "content": "1"},
 {"type": "write", "path": {"base": "etc", "path": "demo.conf"}, "content": "from 1"},
 {"type": "symlink", "source": {"base": "relative", "path": "../Cellar/demo/1.0"}, "target": {"base": "homebrew_prefix", "path": "bin/demo"}, "uninstall": true},
 {"type": "symlink", "source": {"base": "relative", "path": "../Cellar/demo/1.0"}, "target": {"base": "homebrew_prefix", "path": "lib/demo"}}],
 "post_remove_steps": [{"type": "remove", "paths": [{"base": "var", "path": "demo/version"}]}]`
	newPhases = `"post_install_steps": [
 {"type": "write", "path": {"base": "var", "path": "demo/version"}, "content": "2"},
 {"type": "symlink", "source": {"base": "relative", "path": "../Cellar/demo/2.0"}, "target": {"base": "homebrew_prefix", "path": "lib/demo"}}`
)

func TestUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/bin/", "hb/lib/")
	before := w.listing()
	w.install(w.version("1.0", oldPhases))
	one := w.listing()
	done, err := w.upgrade(w.version("2.0", newPhases+`]`))
	if err != nil {
		t.Fatal(err)
	}
	if got := w.read("hb/var/demo/version"); got != "2" {
		t.Errorf("the new version wrote %q", got)
	}
	if w.exists("hb/bin/demo") {
		t.Error("the old version's link, which is marked for it, is still there")
	}
	// 41: a link of the old version that is not marked was in the way, or stayed.
	if target, _ := os.Readlink(w.at("hb/lib/demo")); target != "../Cellar/demo/2.0" {
		t.Errorf("the link leads to %s", target)
	}
	if inst := w.installed(); inst.Package.Version != "2.0" || len(inst.Receipts) != 2 {
		t.Errorf("installed is %v with %d receipts", inst.Package, len(inst.Receipts))
	}
	// What the old version made goes with the new one.
	removed, err := w.uninstall(interp.RemoveOptions{})
	if err != nil || len(removed.Left) > 0 {
		t.Fatal(err, removed)
	}
	if got := w.listing(); got != before {
		t.Errorf("after the uninstall:\n%s\nwant\n%s", got, before)
	}
	w.undo(removed.Receipt.ID)
	w.undo(done.Receipt.ID)
	if got := w.listing(); got != one || w.installed().Package.Version != "1.0" {
		t.Errorf("after undo of the upgrade:\n%s\nwant\n%s", got, one)
	}
}

// 5: what was there was taken away before the step that could fail.
func TestUpgradeFails(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]string{
		"in the plan":   `, {"type": "mkdir", "path": {"base": "var", "path": "demo"}}`,
		"in a command":  `, {"type": "run", "command": {"path": "/bin/false"}}`,
		"not permitted": `, {"type": "write", "path": {"base": "home", "path": "x"}, "content": "x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "hb/bin/", "hb/lib/")
			if name == "in a command" {
				w.needsRuns()
			}
			w.install(w.version("1.0", oldPhases))
			before := w.listing()
			if _, err := w.upgrade(w.version("2.0", newPhases+last+`]`)); err == nil {
				t.Fatal("went through")
			}
			if got := w.listing(); got != before {
				t.Errorf("the tree is\n%s\nwant\n%s", got, before)
			}
			if got := w.installed().Package.Version; got != "1.0" {
				t.Errorf("%s is installed", got)
			}
		})
	}
}

func (w *world) needsRuns() {
	w.t.Helper()
	if err := (interp.Machine{}).CanRun(nil); err != nil {
		w.t.Skip(err)
	}
}

// 40, 42: removal does what the document said with which the package was
// installed, not what a newer one says; upgrade does it, too.
func TestRemovalReplaysTheStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/var/keep=x", "hb/var/drop=x")
	w.install(w.version("1.0", `"post_remove_steps": [{"type": "remove", "paths": [{"base": "var", "path": "drop"}]}],
	  "post_install_steps": [{"type": "warn", "message": "nothing else"}]`))
	if _, err := w.upgrade(w.version("2.0", `"post_remove_steps": [{"type": "remove", "paths": [{"base": "var", "path": "keep"}]}]`)); err != nil {
		t.Fatal(err)
	}
	if w.exists("hb/var/drop") || !w.exists("hb/var/keep") {
		t.Error("the upgrade did not do the stored removal of the old version")
	}
}

func TestUninstall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/etc/edited=before\n", "hb/etc/replaced=before", "hb/etc/moved=moved", "hb/var/stale=stale", "hb/var/deep/er/x=x")
	before := w.listing()
	w.install(w.version("1.0", `"post_install_steps": [
 {"type": "mkdir_p", "path": {"base": "var", "path": "demo/sub"}},
 {"type": "write", "path": {"base": "var", "path": "demo/sub/a"}, "content": "a"},
 {"type": "write", "path": {"base": "etc", "path": "replaced"}, "content": "after", "overwrite": true},
 {"type": "inreplace", "path": {"base": "etc", "path": "edited"}, "before": "before", "after": "after"},
 {"type": "move", "source": {"base": "etc", "path": "moved"}, "target": {"base": "var", "path": "moved"}},
 {"type": "remove", "paths": [{"base": "var", "path": "stale"}, {"base": "var", "path": "deep"}], "recursive": true},
 {"type": "set_permissions", "paths": [{"base": "var", "path": "moved"}], "permissions": "0600"}]`))
	installed := w.listing()
	done, err := w.uninstall(interp.RemoveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Left) > 0 {
		t.Errorf("left:\n%s", left(done.Left))
	}
	if got := w.listing(); got != before {
		t.Errorf("after the uninstall:\n%s\nwant\n%s", got, before)
	}
	var e *interp.NotInstalledError
	if _, err := interp.Find(w.store, "demo", ""); !errors.As(err, &e) {
		t.Errorf("still found: %v", err)
	}
	w.undo(done.Receipt.ID)
	if got := w.listing(); got != installed {
		t.Errorf("after undo of the uninstall:\n%s\nwant\n%s", got, installed)
	}
	w.installed()
}

// What was changed since stays, path by path, and so do the directories above.
func TestUninstallLeavesWhatChanged(t *testing.T) {
	t.Parallel()
	const phases = `"post_install_steps": [
 {"type": "mkdir_p", "path": {"base": "var", "path": "demo/sub"}},
 {"type": "write", "path": {"base": "var", "path": "demo/sub/a"}, "content": "a"},
 {"type": "write", "path": {"base": "var", "path": "demo/b"}, "content": "b"},
 {"type": "write", "path": {"base": "var", "path": "demo/c"}, "content": "c"},
 {"type": "write", "path": {"base": "etc", "path": "old"}, "content": "new", "overwrite": true},
 {"type": "remove", "paths": [{"base": "var", "path": "gone"}]}]`
	for _, purge := range []bool{false, true} {
		t.Run(fmt.Sprint("purge ", purge), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "hb/etc/old=old", "hb/var/gone=gone")
			w.install(w.version("1.0", phases))
			w.make("hb/var/demo/sub/a=mine")
			w.make("hb/var/demo/sub/user=mine")
			w.make("hb/etc/old=mine")
			w.make("hb/var/gone=mine")
			if err := os.Remove(w.at("hb/var/demo/c")); err != nil {
				t.Fatal(err)
			}
			done, err := w.uninstall(interp.RemoveOptions{Purge: purge})
			if err != nil {
				t.Fatal(err)
			}
			want := []string{
				w.at("hb/etc/old") + ": was changed since: has another content",
				w.at("hb/var/demo") + ": holds sub",
				w.at("hb/var/demo/sub") + ": holds a",
				w.at("hb/var/demo/sub/a") + ": was changed since: has another content",
				w.at("hb/var/gone") + ": was changed since: is there again",
			}
			if purge {
				want = []string{want[0], want[1], w.at("hb/var/demo/sub") + ": holds user", want[4]}
			}
			if got := left(done.Left); got != strings.Join(want, "\n") {
				t.Errorf("left:\n%s\nwant\n%s", got, strings.Join(want, "\n"))
			}
			if w.exists("hb/var/demo/b") || w.read("hb/etc/old") != "mine" || w.read("hb/var/gone") != "mine" || w.read("hb/var/demo/sub/user") != "mine" {
				t.Error(w.listing())
			}
			if w.exists("hb/var/demo/sub/a") == purge {
				t.Errorf("a: %v", w.exists("hb/var/demo/sub/a"))
			}
		})
	}
}

// 42: a package whose stored removal can never pass was stuck.
func TestUninstallForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.listing()
	w.install(w.version("1.0", `"post_install_steps": [{"type": "write", "path": {"base": "var", "path": "a"}, "content": "a"}],
 "post_remove_steps": [
  {"type": "inreplace", "path": {"base": "var", "path": "missing"}, "before": "x", "after": "y"},
  {"type": "write", "path": {"base": "var", "path": "said"}, "content": "goodbye"},
  {"type": "mkdir", "path": {"base": "var", "path": "no/parent"}}]`))
	installed := w.listing()
	if _, err := w.uninstall(interp.RemoveOptions{}); err == nil {
		t.Fatal("went through")
	}
	if got := w.listing(); got != installed {
		t.Errorf("a failed uninstall changed the tree:\n%s", got)
	}
	done, err := w.uninstall(interp.RemoveOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Skipped) != 2 || w.read("hb/var/said") != "goodbye" || w.exists("hb/var/a") {
		t.Errorf("skipped %v, tree\n%s", done.Skipped, w.listing())
	}
	if err := os.Remove(w.at("hb/var/said")); err != nil {
		t.Fatal(err)
	}
	if got := w.listing(); got != before {
		t.Errorf("after:\n%s\nwant\n%s", got, before)
	}
}

// A link that somebody planted since does not lead the taking back astray.
func TestUninstallPlanted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.version("1.0", `"post_install_steps": [{"type": "write", "path": {"base": "var", "path": "demo/secret"}, "content": "secret"}]`))
	if err := os.RemoveAll(w.at("hb/var/demo")); err != nil {
		t.Fatal(err)
	}
	w.make("hb/var/demo -> {W}/outside")
	done, err := w.uninstall(interp.RemoveOptions{Purge: true})
	if err != nil {
		t.Fatal(err)
	}
	if w.read("outside/secret") != "secret" || len(done.Left) != 1 {
		t.Errorf("left %v, tree\n%s", done.Left, w.listing())
	}
}

func TestRepair(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/etc/edited=port = 1\n", "hb/Cellar/demo/1.0/share=from the keg")
	w.install(w.version("1.0", `"post_install_steps": [
 {"type": "mkdir_p", "path": {"base": "var", "path": "demo/sub"}},
 {"type": "write", "path": {"base": "var", "path": "demo/sub/a"}, "content": "a"},
 {"type": "write", "path": {"base": "var", "path": "demo/b"}, "content": "b"},
 {"type": "copy", "source": {"base": "prefix", "path": "share"}, "target": {"base": "var", "path": "demo/copy"}},
 {"type": "symlink", "source": {"base": "relative", "path": "b"}, "target": {"base": "var", "path": "demo/link"}},
 {"type": "inreplace", "path": {"base": "etc", "path": "edited"}, "before": "1", "after": "2"},
 {"type": "set_permissions", "paths": [{"base": "var", "path": "demo/b"}], "permissions": "0600"}]`))
	installed := w.listing()
	spoil := func() {
		t.Helper()
		err := errors.Join(os.RemoveAll(w.at("hb/var/demo/sub")), os.Remove(w.at("hb/var/demo/link")),
			os.Symlink("/etc/passwd", w.at("hb/var/demo/link")), os.Chmod(w.at("hb/var/demo/b"), 0o644),
			os.Remove(w.at("hb/var/demo/copy")), os.WriteFile(w.at("hb/etc/edited"), []byte("mine"), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	repair := func() *interp.Repaired {
		t.Helper()
		done, err := w.installed().Repair(context.Background(), w.now(), interp.Machine{}, interp.ApplyOptions{Store: w.store})
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	if done := repair(); done.Receipt != nil {
		t.Error("repaired what is whole")
	}
	spoil()
	spoiled := w.listing()
	done := repair()
	if len(done.Left) > 0 {
		t.Errorf("left:\n%s", left(done.Left))
	}
	if got := w.listing(); got != installed {
		t.Errorf("after the repair:\n%s\nwant\n%s", got, installed)
	}
	w.undo(done.Receipt.ID)
	if got := w.listing(); got != spoiled {
		t.Errorf("after undo of the repair:\n%s\nwant\n%s", got, spoiled)
	}
	// What cannot be had again is named, and the rest repaired.
	if err := errors.Join(os.Remove(w.at("hb/Cellar/demo/1.0/share")), os.Remove(w.at("hb/etc/edited")), os.MkdirAll(w.at("hb/etc/edited/dir"), 0o755)); err != nil {
		t.Fatal(err)
	}
	done = repair()
	if got := left(done.Left); !strings.Contains(got, "edited: is a directory now") || !strings.Contains(got, "copy: its content is neither kept") || len(done.Left) != 2 {
		t.Errorf("left:\n%s", got)
	}
	if w.read("hb/var/demo/sub/a") != "a" {
		t.Error(w.listing())
	}
}

// Where another package has the last word, repair says nothing.
func TestRepairLeavesOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.version("1.0", `"post_install_steps": [{"type": "write", "path": {"base": "var", "path": "shared"}, "content": "demo"}]`))
	other := w.version("1.0", `"post_install_steps": [{"type": "write", "path": {"base": "var", "path": "shared"}, "content": "other", "overwrite": true}]`)
	other.Document.Name, other.Target.Name = "other", "other"
	w.install(other)
	done, err := w.installed().Repair(context.Background(), w.now(), interp.Machine{}, interp.ApplyOptions{Store: w.store})
	if err != nil || done.Receipt != nil || w.read("hb/var/shared") != "other" {
		t.Error(err, done)
	}
}

// A document that was tampered with in the store is not replayed.
func TestStoredDocumentIsChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	done := w.install(w.version("1.0", oldPhases))
	file := w.at("state/receipts/" + done.Receipt.ID + "/document.json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(data), "demo/version", "demo/xersion", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	before := w.listing()
	if _, err := w.uninstall(interp.RemoveOptions{Force: true}); !errors.Is(err, commit.ErrDamaged) {
		t.Errorf("error %v", err)
	}
	if w.listing() != before {
		t.Error("the tree changed")
	}
}
