package interp_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"steps.example/interp"
	"steps.example/interp/commit"
)

func (w *world) undoForced(id string) *interp.Undone {
	w.t.Helper()
	done, err := interp.Undo(w.t.Context(), id, interp.Machine{}, interp.ApplyOptions{Store: w.store}, true)
	if err != nil {
		w.t.Fatal(err)
	}
	return done
}

const undoPhases = `"post_install_steps": [
 {"type": "mkdir_p", "path": {"base": "var", "path": "demo"}},
 {"type": "write", "path": {"base": "var", "path": "demo/a"}, "content": "a"},
 {"type": "write", "path": {"base": "var", "path": "demo/b"}, "content": "b"},
 {"type": "write", "path": {"base": "etc", "path": "old"}, "content": "new", "overwrite": true},
 {"type": "remove", "paths": [{"base": "var", "path": "gone"}]},
 {"type": "move", "source": {"base": "var", "path": "from"}, "target": {"base": "var", "path": "to"}},
 {"type": "set_permissions", "paths": [{"base": "etc", "path": "mode"}], "permissions": "0600"}]`

// Undo refuses where the tree moved, and lists all such paths. With force they stay
// and the rest is taken back; undo of that brings it again.
func TestUndoForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/etc/old=old", "hb/var/gone=gone", "hb/var/from=moved", "hb/etc/mode=mode")
	done := w.install(w.version("1.0", undoPhases))
	w.make("hb/var/demo/a=mine")
	w.make("hb/var/demo/user=mine")
	w.make("hb/var/gone=mine")
	changed := w.listing()
	opt := interp.ApplyOptions{Store: w.store}
	var drift *commit.DriftError
	if _, err := interp.Undo(t.Context(), done.Receipt.ID, interp.Machine{}, opt, false); !errors.As(err, &drift) {
		t.Fatalf("got %v", err)
	}
	var paths []string
	for _, d := range drift.Drifts {
		paths = append(paths, strings.TrimPrefix(d.String(), w.dir+"/"))
	}
	want := "hb/var/demo/a has another content (4 bytes, should be 1 bytes)|hb/var/gone is there again, a file|hb/var/demo/user was added"
	if got := strings.Join(paths, "|"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if w.listing() != changed {
		t.Error("a refused undo changed the tree")
	}
	back := w.undoForced(done.Receipt.ID)
	want = strings.Join([]string{
		w.at("hb/var/demo") + ": holds a",
		w.at("hb/var/demo/a") + ": was changed since: has another content",
		w.at("hb/var/gone") + ": was changed since: is there again",
	}, "\n")
	if got := left(back.Left); got != want {
		t.Errorf("left\n%s\nwant\n%s", got, want)
	}
	if got := left(back.By.Left); got != want {
		t.Errorf("the receipt says\n%s", got)
	}
	for name, content := range map[string]string{
		"hb/etc/old": "old", "hb/var/from": "moved", "hb/var/demo/a": "mine", "hb/var/demo/user": "mine", "hb/var/gone": "mine",
	} {
		if got := w.read(name); got != content {
			t.Errorf("%s holds %q", name, got)
		}
	}
	if info, err := os.Stat(w.at("hb/etc/mode")); err != nil || info.Mode().Perm() != 0o644 || w.exists("hb/var/to") || w.exists("hb/var/demo/b") {
		t.Errorf("not all was taken back: %v\n%s", err, w.listing())
	}
	if _, err := interp.Find(w.store, "demo", ""); err == nil {
		t.Error("it is still installed")
	}
	if got := w.owner("hb/var/demo/a"); got != "" {
		t.Errorf("what was left belongs to %s", got)
	}
	if found, err := interp.Verify(w.store); err != nil || found.Paths > 0 {
		t.Errorf("verify looks at %v, %v", found, err)
	}
	if _, err := interp.Undo(t.Context(), done.Receipt.ID, interp.Machine{}, opt, true); err == nil || !strings.Contains(err.Error(), "taken back already, by receipt "+back.By.ID) {
		t.Errorf("a second time: %v", err)
	}
	w.undo(back.By.ID)
	if got := w.listing(); got != changed {
		t.Errorf("undo of the undo:\n%s\nwant\n%s", got, changed)
	}
	w.installed()
}

// An undo with force that nothing stands against is the exact one.
func TestUndoForceExact(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/etc/old=old", "hb/var/gone=gone", "hb/var/from=moved", "hb/etc/mode=mode")
	before := w.listing()
	done := w.install(w.version("1.0", undoPhases))
	if back := w.undoForced(done.Receipt.ID); back.By != nil || w.listing() != before {
		t.Errorf("left the receipt %v and\n%s", back.By, w.listing())
	}
}

// An undo with force takes back uninstalls and upgrades, too, and what counts as
// installed follows it.
func TestUndoForceOfLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/bin/", "hb/lib/")
	w.install(w.version("1.0", oldPhases))
	up, err := w.upgrade(w.version("2.0", newPhases+`]`))
	if err != nil {
		t.Fatal(err)
	}
	w.make("hb/var/demo/version=mine")
	back := w.undoForced(up.Receipt.ID)
	if len(back.Left) != 1 || w.read("hb/var/demo/version") != "mine" || !w.exists("hb/bin/demo") {
		t.Errorf("left\n%s\n%s", left(back.Left), w.listing())
	}
	if got := w.installed().Package.Version; got != "1.0" {
		t.Errorf("%s is installed", got)
	}
	gone, err := w.uninstall(interp.RemoveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.make("hb/etc/demo.conf=mine")
	back = w.undoForced(gone.Receipt.ID)
	if len(back.Left) != 1 || !w.exists("hb/bin/demo") {
		t.Errorf("left\n%s\n%s", left(back.Left), w.listing())
	}
	if got := w.installed().Package.Version; got != "1.0" {
		t.Errorf("%s is installed", got)
	}
}

// 42: a receipt whose journal is damaged could never be taken back. What it
// replaced is lost and stays as it is, the rest goes.
func TestUndoForceDamaged(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"undo", "uninstall"} {
		w := newWorld(t, "hb/etc/old=old", "hb/var/gone=gone", "hb/var/from=moved", "hb/etc/mode=mode")
		done := w.install(w.version("1.0", undoPhases))
		installed := w.listing()
		if err := os.Truncate(w.at("state/receipts/"+done.Receipt.ID+"/journal"), 100); err != nil {
			t.Fatal(err)
		}
		try := func(force bool) ([]interp.Left, error) {
			if verb == "uninstall" {
				gone, err := w.uninstall(interp.RemoveOptions{Force: force})
				if err != nil {
					return nil, err
				}
				return gone.Left, nil
			}
			back, err := interp.Undo(t.Context(), done.Receipt.ID, interp.Machine{}, interp.ApplyOptions{Store: w.store}, force)
			if err != nil {
				return nil, err
			}
			return back.Left, nil
		}
		if _, err := try(false); !errors.Is(err, commit.ErrDamaged) || w.listing() != installed {
			t.Errorf("%s: %v", verb, err)
		}
		list, err := try(true)
		if err != nil {
			t.Fatal(verb, err)
		}
		want := w.at("hb/etc/old") + ": what was there before is no longer kept\n" + w.at("hb/var/gone") + ": what was there before is no longer kept"
		if got := left(list); got != want || w.exists("hb/var/demo") || w.read("hb/var/from") != "moved" || w.read("hb/etc/old") != "new" {
			t.Errorf("%s: left\n%s\n%s", verb, got, w.listing())
		}
	}
}

// What was adopted is verified and repaired like what was made.
func TestVerifyAdopted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/etc/conf=text")
	job := w.version("1.0", `"post_install_steps": [{"type": "write", "path": {"base": "etc", "path": "conf"}, "content": "text", "overwrite": true}]`)
	job.Target.Replace, job.Target.Adopt = nil, []string{w.at("hb/etc/conf")}
	done := w.install(job)
	if len(done.Receipt.Adopted) != 1 {
		t.Fatalf("adopted %v", done.Receipt.Adopted)
	}
	verify := func() string {
		t.Helper()
		found, err := interp.Verify(w.store)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, d := range found.Drifts {
			out = append(out, string(d.Kind))
		}
		return strings.Join(out, " ")
	}
	if got := verify(); got != "" {
		t.Errorf("right after: %s", got)
	}
	w.make("hb/etc/conf=tuxt")
	if got := verify(); got != "content" {
		t.Errorf("another content: %q", got)
	}
	if err := os.Remove(w.at("hb/etc/conf")); err != nil {
		t.Fatal(err)
	}
	if got := verify(); got != "missing" {
		t.Errorf("removed: %q", got)
	}
	if _, err := w.installed().Repair(t.Context(), w.now(), interp.Machine{}, interp.ApplyOptions{Store: w.store}); err != nil {
		t.Fatal(err)
	}
	if got := verify(); got != "" || w.read("hb/etc/conf") != "text" {
		t.Errorf("after the repair: %q", got)
	}
}

// Verify asks what is installed: what an uninstall left is the user's, and what it
// gave back to another package is that package's.
func TestVerifyFollowsUninstall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.of("one", `[`+write("f", "1")+`]`))
	w.install(w.version("1.0", `"post_install_steps": [`+write("f", "2")+`, `+write("own", "x")+`]`))
	w.make("hb/var/own=mine")
	if _, err := w.uninstall(interp.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	found, err := interp.Verify(w.store)
	if err != nil || len(found.Drifts) > 0 || found.Paths != 1 {
		t.Errorf("%v, %v", found, err)
	}
	w.make("hb/var/f=mine")
	if found, err = interp.Verify(w.store); err != nil || len(found.Drifts) != 1 {
		t.Errorf("%v, %v", found, err)
	}
}

// The steps of a removal alone, of something that nobody installed with steps, own
// nothing and install nothing, by either way of asking.
func TestRemovalInstallsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	job := w.version("1.0", `"post_remove_steps": [`+write("f", "1")+`]`)
	job.Removal, job.Phases = true, interp.PhasesOf(job.Document, true)
	w.must(job)
	if got := w.owner("hb/var/f"); got != "" {
		t.Errorf("f is of %q", got)
	}
	receipts, err := w.store.Receipts()
	if err != nil || len(receipts) != 1 || len(interp.Installed(receipts)) != 0 {
		t.Errorf("installed: %v, %v", interp.Installed(receipts), err)
	}
}

// A canceled apply ends in the middle of its work, and takes back what it did.
func TestApplyCanceled(t *testing.T) {
	t.Parallel()
	// The second sync is that of the commit record: then there is no way back.
	for op, nth := range map[string]int{"create": 2, "move": 2, "sync": 1} {
		w := newWorld(t)
		before := w.listing()
		var list []string
		for _, name := range []string{"a", "b", "c", "d"} {
			list = append(list, write(name, name))
		}
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		w.store.Intercept(func(c commit.Call) error {
			if c.Op == op && !c.After {
				if n++; n == nth {
					cancel()
				}
			}
			return nil
		})
		_, err := interp.Apply(ctx, w.of("demo", "["+strings.Join(list, ",")+"]"), interp.Machine{}, interp.ApplyOptions{Store: w.store})
		w.store.Intercept(nil)
		cancel()
		if n < nth || !errors.Is(err, context.Canceled) || errors.Is(err, commit.ErrBlocked) {
			t.Errorf("%s: after %d calls: %v", op, n, err)
		}
		if got := w.listing(); got != before {
			t.Errorf("%s: the tree is\n%s", op, got)
		}
		if pending, err := w.store.Pending(); err != nil || len(pending) > 0 {
			t.Errorf("%s: pending: %v, %v", op, pending, err)
		}
		w.must(w.of("demo", "["+strings.Join(list, ",")+"]"))
	}
}
