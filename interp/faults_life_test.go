package interp_test

import (
	"errors"
	"os"
	"testing"

	"steps.example/interp"
)

// 23: changing owners printed a line for each file of a tree, and stopped half-way.
// One reason is given, before anything happens.
func TestFaultOwnershipOfATree(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may change owners")
	}
	w := newWorld(t, "hb/var/app/a=a", "hb/var/app/b=b", "hb/var/app/c=c")
	before := w.listing()
	job := w.version("1.0", `"post_install_steps": [
 {"type": "write", "path": {"base": "var", "path": "first"}, "content": "x"},
 {"type": "set_ownership", "paths": [{"base": "var", "path": "app"}], "user": "root"}]`)
	job.Target.Approved = []string{"ownership", "sudo"}
	_, err := w.apply(job)
	var refused *interp.RefusedError
	if !errors.As(err, &refused) || len(refused.Refusals) != 1 {
		t.Errorf("error %v", err)
	}
	if got := w.listing(); got != before {
		t.Errorf("the tree changed:\n%s", got)
	}
}

// 25: steps acted with another identity than the one that installed the rest. What
// they make belongs to the effective user, and comes back so.
func TestFaultIdentity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	done := w.install(w.version("1.0", `"post_install_steps": [{"type": "mkdir_p", "path": {"base": "var", "path": "d"}}, {"type": "write", "path": {"base": "var", "path": "d/f"}, "content": "x"}]`))
	for _, c := range done.Receipt.Changeset.Changes {
		drift, err := w.store.Verify(done.Receipt)
		if err != nil || len(drift) > 0 {
			t.Fatal(err, drift)
		}
		if c.After.UID != os.Geteuid() && c.After.UID != -1 {
			t.Errorf("%s belongs to %d", c.Path, c.After.UID)
		}
	}
}

// 39: an initialiser ran before the links that it needs were there. Steps are done
// in the document's order, a command sees what the steps before it made, and a
// failure of it leaves neither.
func TestFaultOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/share/", "hb/Cellar/demo/1.0/share/template=template")
	w.needsRuns()
	before := w.listing()
	const links = `{"type": "link_children", "source": {"base": "share", "path": "."}, "target": {"base": "homebrew_prefix", "path": "share/demo"}}`
	init := func(command string) string {
		return `"post_install_steps": [` + links + `, {"type": "run", "command": {"path": "/bin/sh"}, "args": ["-c", "` + command + `"]}]`
	}
	if _, err := w.apply(w.version("1.0", init("cat {{HOMEBREW_PREFIX}}/share/demo/template >{{var}}/data; exit 1"))); err == nil {
		t.Error("went through")
	}
	if got := w.listing(); got != before {
		t.Errorf("the tree is\n%s", got)
	}
	w.install(w.version("1.0", init("cat {{HOMEBREW_PREFIX}}/share/demo/template >{{var}}/data")))
	if got := w.read("hb/var/data"); got != "template" {
		t.Errorf("the command saw %q", got)
	}
}

// 43: what a first phase had moved away was missing for a later one, and for the
// next time. Both phases are one transaction, and a later version starts from what
// is there.
func TestFaultSourceMovedOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/Cellar/demo/1.0/stage/tool=1", "hb/Cellar/demo/2.0/stage/tool=2")
	phases := `"pre_install_steps": [{"type": "move_contents", "source": {"base": "prefix", "path": "stage"}, "target": {"base": "var", "path": "demo"}}],
 "post_install_steps": [{"type": "symlink", "source": {"base": "var", "path": "demo/tool"}, "target": {"base": "var", "path": "tool"}, "force": true, "uninstall": true}],
 "post_remove_steps": [{"type": "remove", "paths": [{"base": "var", "path": "demo"}], "recursive": true}]`
	w.install(w.version("1.0", phases))
	if _, err := w.upgrade(w.version("2.0", phases)); err != nil {
		t.Fatal(err)
	}
	if got := w.read("hb/var/tool"); got != "2" {
		t.Errorf("the tool is %q", got)
	}
	removed, err := w.uninstall(interp.RemoveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if w.exists("hb/var/demo") || w.exists("hb/var/tool") {
		t.Errorf("left %s, tree\n%s", left(removed.Left), w.listing())
	}
}
