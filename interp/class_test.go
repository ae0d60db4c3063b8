package interp_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"testing"

	"steps.example/interp"
	"steps.example/interp/commit"
	"steps.example/steps"
)

// TestClasses holds the classes in the schema to what the steps do: a type that
// says "yes" changes nothing the second time and is wholly taken back by undo; one
// that says otherwise has an example that shows why.
func TestClasses(t *testing.T) {
	t.Parallel()
	const (
		same    = "changes nothing"
		fails   = "fails"
		changes = "changes something"
	)
	for _, tc := range []struct {
		name, step string
		second     string
	}{
		{"mkdir", `{"type": "mkdir", "path": {"base": "var", "path": "d"}}`, fails},
		{"mkdir_p", `{"type": "mkdir_p", "path": {"base": "var", "path": "d/e"}}`, same},
		{"touch", `{"type": "touch", "path": {"base": "var", "path": "t"}}`, changes},
		{"write", `{"type": "write", "path": {"base": "var", "path": "w"}, "content": "x"}`, same},
		{"write over", `{"type": "write", "path": {"base": "var", "path": "old"}, "content": "x", "overwrite": true}`, same},
		{"move", `{"type": "move", "source": {"base": "var", "path": "old"}, "target": {"base": "var", "path": "new"}}`, fails},
		{"move_contents", `{"type": "move_contents", "source": {"base": "var", "path": "dir"}, "target": {"base": "var", "path": "into"}}`, same},
		{"move_children", `{"type": "move_children", "source": {"base": "var", "path": "dir"}, "target": {"base": "var", "path": "into"}}`, same},
		{"copy", `{"type": "copy", "source": {"base": "var", "path": "old"}, "target": {"base": "var", "path": "new"}}`, same},
		{"copy a tree", `{"type": "copy", "source": {"base": "var", "path": "dir"}, "target": {"base": "var", "path": "to/dir"}, "recursive": true}`, changes},
		{"copy not over", `{"type": "copy", "source": {"base": "var", "path": "old"}, "target": {"base": "var", "path": "new"}, "overwrite": false}`, fails},
		{"remove", `{"type": "remove", "paths": [{"base": "var", "path": "dir"}], "recursive": true}`, same},
		{"inreplace", `{"type": "inreplace", "path": {"base": "var", "path": "old"}, "before": "old", "after": "new"}`, fails},
		{"inreplace if there", `{"type": "inreplace", "path": {"base": "var", "path": "old"}, "before": "old", "after": "new", "skip_audit": true}`, same},
		{"inreplace by itself", `{"type": "inreplace", "path": {"base": "var", "path": "old"}, "before": "old", "after": "old old"}`, changes},
		{"set_permissions", `{"type": "set_permissions", "paths": [{"base": "var", "path": "dir"}], "permissions": "go-rwx"}`, same},
		{"set_permissions copied", `{"type": "set_permissions", "paths": [{"base": "var", "path": "old"}], "permissions": "u=g,g=o,o="}`, changes},
		{"symlink", `{"type": "symlink", "source": {"base": "var", "path": "old"}, "target": {"base": "var", "path": "l"}}`, fails},
		{"symlink by force", `{"type": "symlink", "source": {"base": "var", "path": "old"}, "target": {"base": "var", "path": "l"}, "force": true}`, same},
		{"link_dir", `{"type": "link_dir", "source": {"base": "var", "path": "dir"}, "target": {"base": "var", "path": "to"}}`, same},
		{"link_dir of a link", `{"type": "link_dir", "source": {"base": "var", "path": "linked"}, "target": {"base": "var", "path": "to"}}`, changes},
		{"link_children", `{"type": "link_children", "source": {"base": "var", "path": "flat"}, "target": {"base": "var", "path": "to"}}`, same},
		{"link_children of directories", `{"type": "link_children", "source": {"base": "var", "path": "dir"}, "target": {"base": "var", "path": "to"}}`, changes},
		{"warn", `{"type": "warn", "message": "x"}`, same},
		{"run", `{"type": "run", "command": {"path": "/bin/sh"}, "args": ["-c", "echo >>{{var}}/log"]}`, changes},
		{"install_gzipped_executable", `{"type": "install_gzipped_executable", "source": {"base": "var", "path": "x.gz"}, "target": {"base": "var", "path": "x"}}`, same},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "hb/var/old=old", "hb/var/dir/a=a", "hb/var/dir/sub/b=b", "hb/var/flat/a=a", "hb/var/linked/l -> ../dir", "hb/var/x.gz="+gzipped(t, "x"))
			job := w.version("1.0", `"post_install_steps": [`+tc.step+`]`)
			class := steps.Describe(job.Document.Blocks[0].Steps[0].Type())
			if class.Again == "" || class.Undo == "no" {
				t.Fatalf("class %+v", class)
			}
			if tc.name == "run" {
				w.needsRuns()
			}
			before := w.listing()
			first := w.install(job)
			after := w.listing()
			second, err := w.apply(job)
			got := same
			switch {
			case err != nil:
				got = fails
				if w.listing() != after {
					t.Error("it failed, and changed the tree")
				}
			case second.Receipt != nil:
				got = changes
				w.undo(second.Receipt.ID)
			}
			if got != tc.second || class.Again == "yes" && got != same || class.Again == "no" && got == same {
				t.Errorf("the second time it %s, want: %s; its class is %q", got, tc.second, class.Again)
			}
			if first.Receipt != nil {
				w.undo(first.Receipt.ID)
			}
			if got := w.listing(); got != before {
				t.Errorf("after undo:\n%s\nwant\n%s", got, before)
			}
		})
	}
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Every type that can be done has a class, and a reason where the class is not the
// plain one.
func TestClassesAreComplete(t *testing.T) {
	t.Parallel()
	for _, typ := range steps.Types {
		d := steps.Describe(typ)
		_, unsupported := steps.Unsupported(typ)
		if d.Doc == "" || (d.Again == "") != unsupported || (d.Undo == "") != unsupported {
			t.Errorf("%s: %+v", typ, d)
		}
		if d.Again != "" && d.Again != "yes" && d.AgainWhy == "" || d.Undo != "" && d.Undo != "yes" && d.UndoWhy == "" {
			t.Errorf("%s has no reason: %+v", typ, d)
		}
	}
}

// tool makes a program of another formula that appends a line to a log in its
// argument.
func (w *world) tool(name string) {
	w.t.Helper()
	w.make("hb/opt/" + name + "=#!/bin/sh\necho rebuilt >>\"$1/cache\"\n")
	if err := os.Chmod(w.at("hb/opt/"+name), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// What rebuilds caches is done once for several packages, is not lost until it is
// done, and comes back when its undo takes the cache back.
func TestTriggers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/share/schemas/", "hb/share/mime/")
	w.needsRuns()
	w.tool("glib/bin/glib-compile-schemas")
	w.tool("shared-mime-info/bin/update-mime-database")
	run := func() (*interp.Applied, error) {
		return interp.RunTriggers(t.Context(), w.now(), interp.Machine{}, interp.ApplyOptions{Store: w.store})
	}
	if done, err := run(); err != nil || done != nil {
		t.Errorf("something was pending: %v, %v", done, err)
	}
	apply := func(name, steps string) {
		t.Helper()
		job := w.version("1.0", `"post_install_steps": [`+steps+`]`)
		job.Document.Name, job.Target.Name = name, name
		done, err := interp.Apply(t.Context(), job, interp.Machine{}, interp.ApplyOptions{Store: w.store, Defer: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(done.Triggers) == 0 || done.Receipt == nil {
			t.Errorf("%s put nothing off", name)
		}
	}
	apply("one", `{"type": "compile_gsettings_schemas", "path": {"base": "homebrew_prefix", "path": "share/schemas"}}`)
	apply("two", `{"type": "write", "path": {"base": "var", "path": "two"}, "content": "2"},
		{"type": "compile_gsettings_schemas", "path": {"path": "{{HOMEBREW_PREFIX}}/share/schemas"}},
		{"type": "update_mime_database", "path": {"base": "homebrew_prefix", "path": "share/mime"}},
		{"type": "update_mime_database", "path": {"base": "homebrew_prefix", "path": "share/never"}, "guards": [{"condition": "if_exists", "id": "1", "base": "var", "path": "never"}]}`)
	if w.exists("hb/share/schemas/cache") {
		t.Error("the cache was rebuilt at once")
	}
	pending := func() int {
		t.Helper()
		store, err := commit.OpenStore(w.at("state")) // another process
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		receipts, err := store.TriggerReceipts()
		if err != nil {
			t.Fatal(err)
		}
		return len(interp.PendingTriggers(receipts))
	}
	if n := pending(); n != 2 {
		t.Errorf("%d packages wait", n)
	}
	done, err := run()
	if err != nil {
		t.Fatal(err)
	}
	if a, b := w.read("hb/share/schemas/cache"), w.read("hb/share/mime/cache"); a != "rebuilt\n" || b != "rebuilt\n" {
		t.Errorf("the caches hold %q and %q", a, b)
	}
	if n := pending(); n != 0 {
		t.Errorf("%d packages still wait", n)
	}
	w.undo(done.Receipt.ID)
	if n := pending(); n != 2 || w.exists("hb/share/schemas/cache") {
		t.Errorf("after undo %d packages wait", n)
	}
	// One that fails stays pending, with all others.
	w.make("hb/opt/glib/bin/glib-compile-schemas=#!/bin/sh\nexit 1\n")
	if _, err := run(); err == nil || pending() != 2 || w.exists("hb/share/mime/cache") {
		t.Errorf("error %v, %d wait", err, pending())
	}
}

// A cache that was rebuilt for everybody after a package had made it is no drift of
// that package's. What an uninstalled package asked for is tried once, and does not
// stand in the way of what others asked for; what was taken back asks for nothing.
func TestTriggersOfTheRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/share/schemas/others=x", "hb/share/mime/others=x")
	w.needsRuns()
	w.tool("glib/bin/glib-compile-schemas")
	w.tool("shared-mime-info/bin/update-mime-database")
	opt := interp.ApplyOptions{Store: w.store}
	apply := func(name, step string, later bool) *interp.Applied {
		t.Helper()
		job := w.version("1.0", `"post_install_steps": [{"type": "write", "path": {"base": "var", "path": "`+name+`"}, "content": "x"}, `+step+`]`)
		job.Document.Name, job.Target.Name = name, name
		done, err := interp.Apply(t.Context(), job, interp.Machine{}, interp.ApplyOptions{Store: w.store, Defer: later})
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	run := func() (*interp.Applied, error) {
		return interp.RunTriggers(t.Context(), w.now(), interp.Machine{}, opt)
	}
	pending := func() int {
		t.Helper()
		receipts, err := w.store.TriggerReceipts()
		if err != nil {
			t.Fatal(err)
		}
		return len(interp.PendingTriggers(receipts))
	}
	const schemas = `{"type": "compile_gsettings_schemas", "path": {"base": "homebrew_prefix", "path": "share/schemas"}}`
	const mime = `{"type": "update_mime_database", "path": {"base": "homebrew_prefix", "path": "share/mime"}}`
	apply("one", schemas, false)
	apply("two", schemas, true)
	if done, err := run(); err != nil || done == nil {
		t.Fatal(done, err)
	}
	if found, err := interp.Verify(w.store); err != nil || len(found.Drifts) > 0 {
		t.Errorf("verify: %v, %v", found, err)
	}
	inst, err := interp.Find(w.store, "one", "")
	if err != nil {
		t.Fatal(err)
	}
	removed, err := inst.Remove(t.Context(), w.now(), interp.Machine{}, opt, interp.RemoveOptions{})
	if err != nil || len(removed.Triggers) != 1 || pending() != 1 {
		t.Fatalf("removed %v, %v; %d wait", removed, err, pending())
	}
	apply("three", mime, true)
	w.make("hb/opt/glib/bin/glib-compile-schemas=#!/bin/sh\nexit 1\n")
	done, err := run()
	if err == nil || done == nil || pending() != 0 || w.read("hb/share/mime/cache") != "rebuilt\n" {
		t.Errorf("triggers: %v, %v; %d wait", done, err, pending())
	}
	w.undo(done.Receipt.ID)
	if pending() != 1 {
		t.Errorf("after undo %d wait", pending())
	}
	four := apply("four", mime, true)
	w.make("hb/var/four=changed")
	if _, err := interp.Undo(t.Context(), four.Receipt.ID, interp.Machine{}, opt, true); err != nil {
		t.Fatal(err)
	}
	if pending() != 1 {
		t.Errorf("what was taken back still asks: %d wait", pending())
	}
}
