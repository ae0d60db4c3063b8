package interp_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"steps.example/interp"
	"steps.example/interp/commit"
	"steps.example/steps"
)

// faultTests name, for the kinds of faults that are about data, ownership and
// upgrades, the tests that this project does not have them. Each says which
// numbers it is for, as its comment begins.
var faultTests = map[int]string{
	1:  "TestFaultMoveDeletesWhatItMoved TestFaultMoveTwiceOverAnothers",
	2:  "TestFaultGuardsIgnored TestFaultConfigurationOverwritten",
	3:  "TestFaultUsersDirectoryRelocated",
	4:  "TestFaultUpgradeDestroysTheApp",
	5:  "TestUpgradeFails",
	6:  "TestFaultLinkedPackageDirectory TestFaultLinkedKeg",
	23: "TestFaultOwnershipOfATree TestFaultOwnershipDenied",
	24: "TestFaultPermissionsOfALink",
	25: "TestFaultIdentity",
	38: "TestFaultWrittenTwice",
	39: "TestFaultOrder",
	40: "TestRemovalReplaysTheStored TestFaultSnapshotInThePackage",
	41: "TestFaultPriorLinks",
	42: "TestUninstallForce TestUndoForceDamaged TestRemovalReplaysTheStored",
	43: "TestFaultSourceMovedOut TestFaultMovedOutOfTheKeg",
}

// TestFaultsAreTested: the table above is true.
func TestFaultsAreTested(t *testing.T) {
	t.Parallel()
	comments := map[string]string{}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				comments[f.Name.Name] = f.Doc.Text()
			}
		}
	}
	for number, tests := range faultTests {
		for _, name := range strings.Fields(tests) {
			numbers, _, _ := strings.Cut(comments[name], ":")
			found := false
			for _, n := range strings.Split(numbers, ", ") {
				found = found || n == fmt.Sprint(number)
			}
			if !found {
				t.Errorf("%d: the comment of %s begins with %q", number, name, numbers)
			}
		}
	}
}

// 4: an upgrade uninstalled the old application before it knew that it could have
// the new one. The old one is whole, in its place, whatever fails and when.
func TestFaultUpgradeDestroysTheApp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "apps/", "hb/Caskroom/demo/1.0/Demo.app/Contents/MacOS/demo=1", "hb/Caskroom/demo/1.0/Demo.app/Contents/Info.plist=1")
	cask := func(version, more string) interp.Job {
		doc, err := steps.Decode(fmt.Appendf(nil, `{"schema": 1, "layout": "homebrew-cask", "name": "demo", "version": %q,
 "preflight_steps": [{"type": "move", "source": {"base": "staged_path", "path": "Demo.app"}, "target": {"base": "appdir", "path": "Demo.app"}}%s],
 "uninstall_postflight_steps": [{"type": "remove", "paths": [{"base": "appdir", "path": "Demo.app"}], "recursive": true}]}`, version, more), steps.DefaultLimits)
		if err != nil {
			t.Fatal(err)
		}
		job := w.job(`[]`)
		job.Document, job.Phases = doc, interp.PhasesOf(doc, false)
		job.Target.Layout, job.Target.Version, job.Target.Dirs["appdir"] = doc.Layout, version, w.at("apps")
		return job
	}
	w.install(cask("1.0", ""))
	before := w.listing()
	// What was downloaded is not there, or not all of it, or the end fails.
	for _, further := range []string{"", "hb/Caskroom/demo/2.0/README=2", "hb/Caskroom/demo/2.0/Demo.app/Contents/MacOS/demo=2"} {
		if further != "" {
			w.make(further)
			before = w.listing()
		}
		if _, err := w.upgrade(cask("2.0", `, {"type": "mkdir", "path": {"base": "appdir", "path": "no/such/parent"}}`)); err == nil {
			t.Errorf("with %q it went through", further)
		}
		if got := w.listing(); got != before || w.installed().Package.Version != "1.0" {
			t.Errorf("with %q the tree is\n%s\nwant\n%s", further, got, before)
		}
	}
	if _, err := w.upgrade(cask("2.0", "")); err != nil || w.read("apps/Demo.app/Contents/MacOS/demo") != "2" {
		t.Error(err, w.listing())
	}
}

// 23: even root was denied to change the owner of an application, file by file. It
// is one message, that says which and why, and nothing was changed.
func TestFaultOwnershipDenied(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gets as far as the first file; see TestFaultOwnershipOfATree")
	}
	w := newWorld(t, "hb/var/app/a=a", "hb/var/app/b=b", "hb/var/app/c=c")
	before := w.listing()
	job := w.version("1.0", `"post_install_steps": [
 {"type": "write", "path": {"base": "var", "path": "first"}, "content": "x"},
 {"type": "set_ownership", "paths": [{"base": "var", "path": "app"}], "user": "nobody"}]`)
	job.Target.Approved = []string{"ownership", "sudo"}
	asked := 0
	w.store.Intercept(func(c commit.Call) error {
		if c.Op == "chown" && !c.After {
			asked++
			return unix.EPERM
		}
		return nil
	})
	_, err := w.apply(job)
	w.store.Intercept(nil)
	if err == nil || asked != 1 || strings.Count(err.Error(), w.at("hb/var/app")) != 1 || !strings.Contains(err.Error(), "operation not permitted") {
		t.Errorf("asked %d times: %v", asked, err)
	}
	if got := w.listing(); got != before {
		t.Errorf("the tree changed:\n%s", got)
	}
}

// 40: steps came from an old copy inside the package and brought back what had been
// given up. Only the document that was given, and verified, counts.
func TestFaultSnapshotInThePackage(t *testing.T) {
	t.Parallel()
	old := `{"schema": 1, "layout": "homebrew-formula", "name": "demo", "version": "1.0", "post_install_steps": [` + write("base", "old") + `]}`
	w := newWorld(t, "hb/Cellar/demo/1.0/.brew/demo.json="+old, "hb/Cellar/demo/1.0/.brew/demo.rb=old", "hb/Cellar/demo/1.0/document.json="+old)
	w.install(w.version("1.0", `"post_install_steps": [`+write("new", "new")+`]`))
	if w.exists("hb/var/base") || w.read("hb/var/new") != "new" {
		t.Error(w.listing())
	}
	if _, err := w.uninstall(interp.RemoveOptions{}); err != nil || w.exists("hb/var/new") {
		t.Error(err, w.listing())
	}
}

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
