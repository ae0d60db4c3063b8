package interp_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"steps.example/steps"
)

// The faults of other interpreters of this format, as reported, that a typed
// step could repeat. Those of the decoder, the jail and the commit are tested
// where those are.

// 1: a re-run of an overwriting move deleted what the first run had moved.
func TestFaultMoveDeletesWhatItMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/Cellar/demo/1.0/a=A")
	move := `[{"type": "move", "source": {"base": "prefix", "path": "a"}, "target": {"base": "var", "path": "a"}, "overwrite": true}]`
	if _, err := w.apply(w.job(move)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.apply(w.job(move)); err == nil {
		t.Error("the second run went through without a source")
	}
	if got := w.read("hb/var/a"); got != "A" {
		t.Errorf("hb/var/a holds %q", got)
	}
}

// 2: guards were honoured by three types of steps only.
func TestFaultGuardsIgnored(t *testing.T) {
	t.Parallel()
	guard := `, "guards": [{"condition": "unless_exists", "id": "1", "base": "etc", "path": "mine"}]}`
	for _, step := range []string{
		`{"type": "mkdir", "path": {"base": "var", "path": "n"}`,
		`{"type": "mkdir_p", "path": {"base": "var", "path": "n"}`,
		`{"type": "touch", "path": {"base": "var", "path": "n"}`,
		`{"type": "write", "path": {"base": "etc", "path": "mine"}, "content": "theirs", "overwrite": true`,
		`{"type": "move", "source": {"base": "var", "path": "s"}, "target": {"base": "etc", "path": "mine"}, "overwrite": true`,
		`{"type": "move_contents", "source": {"base": "var", "path": "d"}, "target": {"base": "etc", "path": "."}`,
		`{"type": "move_children", "source": {"base": "var", "path": "d"}, "target": {"base": "etc", "path": "."}`,
		`{"type": "copy", "source": {"base": "var", "path": "s"}, "target": {"base": "etc", "path": "mine"}`,
		`{"type": "remove", "paths": [{"base": "etc", "path": "mine"}]`,
		`{"type": "inreplace", "path": {"base": "etc", "path": "mine"}, "before": "mine", "after": "theirs"`,
		`{"type": "symlink", "source": {"base": "var", "path": "s"}, "target": {"base": "etc", "path": "mine"}, "force": true`,
		`{"type": "link_dir", "source": {"base": "var", "path": "d"}, "target": {"base": "etc", "path": "."}`,
		`{"type": "link_children", "source": {"base": "var", "path": "d"}, "target": {"base": "etc", "path": "."}`,
		`{"type": "set_permissions", "paths": [{"base": "etc", "path": "mine"}], "permissions": "0600"`,
		`{"type": "warn", "message": "hello"`,
		`{"type": "run", "command": {"path": "/bin/false"}`,
		`{"type": "install_gzipped_executable", "source": {"base": "var", "path": "s"}, "target": {"base": "etc", "path": "mine"}`,
		`{"type": "init_data_dir", "path": {"base": "var", "path": "n"}, "using": "postgresql_initdb"`,
		`{"type": "update_mime_database", "path": {"base": "homebrew_prefix", "path": "share/mime"}`,
		`{"type": "terminate_process", "name": "no-such-process"`,
		`{"type": "set_ownership", "paths": [{"base": "etc", "path": "mine"}]`,
	} {
		w := newWorld(t, "hb/etc/mine=mine", "hb/var/s=s", "hb/var/d/mine=theirs")
		before := w.listing()
		done, err := w.apply(w.job("[" + step + guard + "]"))
		if err != nil {
			t.Errorf("%s: %v", step, err)
			continue
		}
		if after := w.listing(); after != before || len(done.Warnings) > 0 {
			t.Errorf("%s: done although its guard does not hold", step)
		}
	}
}

// 6: an upgrade or a wrong package directory that is a link sent changes outside.
// Paths are physical: the link is followed inside only.
func TestFaultLinkedPackageDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/Cellar/other -> {W}/outside")
	job := w.job(`[{"type": "remove", "paths": [{"path": "{{HOMEBREW_CELLAR}}/other/secret"}]}]`)
	if _, err := w.apply(job); err == nil || !strings.Contains(err.Error(), "leads out") {
		t.Errorf("got %v", err)
	}
	if got := w.read("outside/secret"); got != "secret" {
		t.Error("the file outside was touched")
	}
}

// A copy confined its target and not its source.
func TestFaultCopySource(t *testing.T) {
	t.Parallel()
	for _, step := range []string{
		`{"type": "copy", "source": {"path": "{W}/outside/secret"}, "target": {"base": "var", "path": "x"}}`,
		`{"type": "copy", "source": {"path": "{W}/outside"}, "target": {"base": "var", "path": "x"}, "recursive": true}`,
		`{"type": "copy", "source": {"base": "var", "path": "l"}, "target": {"base": "var", "path": "x"}}`,
		`{"type": "copy", "source": {"base": "var", "path": "d/secret"}, "target": {"base": "var", "path": "x"}}`,
		`{"type": "move", "source": {"path": "{W}/outside/secret"}, "target": {"base": "var", "path": "x"}}`,
		`{"type": "inreplace", "path": {"path": "{W}/outside/secret"}, "before": "s", "after": "x"}`,
		`{"type": "run", "command": {"path": "/bin/cat"}, "stdin_path": {"path": "{W}/outside/secret"}, "stdout_path": {"base": "var", "path": "x"}}`,
	} {
		w := newWorld(t, "hb/var/l -> {W}/outside/secret", "hb/var/d -> {W}/outside")
		if _, err := w.apply(w.job("[" + step + "]")); err == nil || w.exists("hb/var/x") {
			t.Errorf("%s: went through, or %v", step, err)
		}
	}
}

// 24: set_permissions after a link step met the link, not a plain file.
func TestFaultPermissionsOfALink(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/Cellar/demo/1.0/libexec/tool=x")
	job := w.job(`[{"type": "symlink", "source": {"base": "libexec", "path": "tool"}, "target": {"base": "bin", "path": "tool"}},
		{"type": "set_permissions", "paths": [{"base": "bin", "path": "tool"}], "permissions": "0755"}]`)
	if _, err := w.apply(job); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(w.at("hb/Cellar/demo/1.0/libexec/tool"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// A guard cache keyed by id alone let one block's scope answer for another's.
func TestFaultGuardCacheById(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/etc/a=x")
	one := w.job(`[{"type": "touch", "path": {"base": "var", "path": "one"}, "guards": [{"condition": "if_exists", "id": "1", "base": "etc", "path": "a"}]},
		{"type": "touch", "path": {"base": "var", "path": "two"}, "guards": [{"condition": "if_exists", "id": "1", "base": "etc", "path": "b"}]},
		{"type": "touch", "path": {"base": "etc", "path": "b"}}]`)
	// A second block of the same phase asks anew, although its guard is equal.
	two := w.job(`[{"type": "touch", "path": {"base": "var", "path": "three"}, "guards": [{"condition": "if_exists", "id": "1", "base": "etc", "path": "b"}]}]`)
	one.Document.Blocks = append(one.Document.Blocks, two.Document.Blocks...)
	if _, err := w.apply(one); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"one": true, "two": false, "three": true} {
		if w.exists("hb/var/"+name) != want {
			t.Errorf("%s: exists is %v", name, !want)
		}
	}
}

// Steps and tokens that an interpreter lacks were skipped in silence.
func TestFaultSilentSkips(t *testing.T) {
	t.Parallel()
	for _, step := range []string{
		`{"type": "configure_gcc_runtime"}`, `{"type": "bootstrap_cpython"}`,
		`{"type": "change_dylib_id", "source": {"base": "lib", "path": "x"}, "id": "y"}`,
	} {
		w := newWorld(t)
		before := w.listing()
		_, err := w.apply(w.job(`[{"type": "touch", "path": {"base": "var", "path": "x"}}, ` + step + `]`))
		if err == nil || !strings.Contains(err.Error(), "step 2") || !strings.Contains(err.Error(), "not supported yet") {
			t.Errorf("%s: %v", step, err)
		}
		if w.listing() != before {
			t.Errorf("%s: the step before it was done", step)
		}
	}
	// One that is for another system is no reason to refuse.
	w := newWorld(t)
	if _, err := w.apply(w.job(`[{"type": "configure_clang_system", "guards": [{"condition": "on", "value": "macos", "id": "1"}]}]`)); err != nil {
		t.Error(err)
	}
}

// Brace alternatives matched one path twice, which then was not "exactly one".
func TestFaultBracesMatchTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/Cellar/demo/1.0/share/a=A")
	job := w.job(`[{"type": "copy", "source": {"base": "share", "path": "{a,[a]}"}, "target": {"base": "var", "path": "x"}, "source_glob": true}]`)
	if _, err := w.apply(job); err != nil || w.read("hb/var/x") != "A" {
		t.Error(err)
	}
}

// A globbed link was linked by its pattern, and so led nowhere.
func TestFaultGlobLinkedVerbatim(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/Cellar/demo/1.0/share/man1/a.1=x", "hb/Cellar/demo/1.0/share/man1/b.1=x")
	job := w.job(`[{"type": "symlink", "source": {"base": "share", "path": "man1/*.1"}, "target": {"base": "var", "path": "man1"}, "source_glob": true}]`)
	if _, err := w.apply(job); err != nil || w.read("hb/var/man1/a.1") != "x" || w.read("hb/var/man1/b.1") != "x" {
		t.Error(err)
	}
}

// inreplace on a link to a shared file: only the package's own name changes.
func TestFaultInreplaceFailsItsAuditAfterWriting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/etc/c=x", "hb/etc/l -> c")
	before := w.listing()
	if _, err := w.apply(w.job(`[{"type": "inreplace", "path": {"base": "etc", "path": "l"}, "before": "nope", "after": "y"}]`)); err == nil {
		t.Error("an audit that fails must fail")
	}
	if w.listing() != before {
		t.Error("the link became a file although nothing matched")
	}
}

// Metacharacters in the name of the prefix itself are no pattern.
func TestFaultGlobInThePrefix(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "we[i]rd {x}/hb/var/a.log=x", "we[i]rd {x}/hb/var/b.txt=x")
	job := w.job(`[{"type": "remove", "paths": [{"base": "var", "path": "*.log"}]}]`)
	job.Target.Dirs["homebrew_prefix"] = w.at("we[i]rd {x}/hb")
	if _, err := w.apply(job); err != nil {
		t.Fatal(err)
	}
	if w.exists("we[i]rd {x}/hb/var/a.log") || !w.exists("we[i]rd {x}/hb/var/b.txt") {
		t.Error(w.listing())
	}
}

// "remove .*" took "." along.
func TestFaultDotStar(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/var/d/.hidden=x", "hb/var/d/kept=x")
	if _, err := w.apply(w.job(`[{"type": "remove", "paths": [{"base": "var", "path": "d/.*"}], "recursive": true}]`)); err != nil {
		t.Fatal(err)
	}
	if w.exists("hb/var/d/.hidden") || !w.exists("hb/var/d/kept") {
		t.Error(w.listing())
	}
}

// Braces spelled a way up that no check of the document had seen.
func TestFaultBracesClimb(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/etc/mine=x")
	_, err := w.apply(w.job(`[{"type": "remove", "paths": [{"base": "var", "path": "{.,x}{.,y}/etc/mine"}], "recursive": true}]`))
	if err == nil || !w.exists("hb/etc/mine") {
		t.Errorf("got %v; mine exists: %v", err, w.exists("hb/etc/mine"))
	}
}

// A packager's revision is part of the directory's name, not of the version.
func TestFaultRevisionInVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/Cellar/demo/1.2_3/")
	job := w.job(`[{"type": "write", "path": {"base": "prefix", "path": "v"}, "content": "{{version}} {{version.major_minor}}"}]`)
	job.Target.Version = "1.2_3"
	if _, err := w.apply(job); err != nil {
		t.Fatal(err)
	}
	if got := w.read("hb/Cellar/demo/1.2_3/v"); got != "1.2 1.2" {
		t.Errorf("got %q", got)
	}
}

// The environment and arguments of a command have their tokens filled, and
// reach it as they are, not escaped for a shell.
func TestFaultEnvironment(t *testing.T) {
	t.Parallel()
	needJail(t)
	w := newWorld(t)
	job := w.job(`[{"type": "run", "command": {"path": "/bin/sh"}, "args": ["-c", "printf '%s|%s|%s|%s' \"$A\" \"$B\" \"$1\" \"$HOME\"", "sh", "{{var}}"],
		"env": {"A": "a b {{name}}", "B": ""}, "stdout_path": {"base": "var", "path": "out"}}]`)
	if _, err := w.apply(job); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(w.read("hb/var/out"), "|")
	if len(got) != 4 || got[0] != "a b demo" || got[1] != "" || got[2] != w.at("hb/var") {
		t.Errorf("got %q", got)
	}
	if home, err := os.UserHomeDir(); err == nil && len(got) == 4 && got[3] == home {
		t.Error("the command sees the user's home directory")
	}
}

// One step's network access, and its writable paths, are no other step's.
func TestFaultGrantsForTheWholeBlock(t *testing.T) {
	t.Parallel()
	needJail(t)
	w := newWorld(t, "home/mine/")
	job := w.job(`[{"type": "run", "command": {"path": "/bin/sh"}, "args": ["-c", "echo x >{W}/home/mine/a"], "writable_paths": [{"base": "home", "path": "mine"}]},
		{"type": "run", "command": {"path": "/bin/sh"}, "args": ["-c", "echo x >{W}/home/mine/b"]}]`)
	job.Target.Approved = []string{"write:home"}
	before := w.listing()
	_, err := w.apply(job)
	if err == nil || !strings.Contains(err.Error(), "step 2") {
		t.Errorf("got %v, want step 2 to fail", err)
	}
	if w.listing() != before {
		t.Error("the tree is not as before")
	}
}

// A command that writes where its package has no say is refused afterwards,
// even if its step declared the path.
func TestCapturedChangesAreJudged(t *testing.T) {
	t.Parallel()
	needJail(t)
	w := newWorld(t, "home/mine/")
	before := w.listing()
	job := w.job(`[{"type": "run", "command": {"path": "/bin/sh"}, "args": ["-c", "echo x >{W}/home/mine/a"], "writable_paths": [{"base": "home", "path": "mine"}]}]`)
	if _, err := w.apply(job); err == nil || !strings.Contains(err.Error(), "write:home") {
		t.Errorf("got %v, want a refusal that names write:home", err)
	}
	if w.listing() != before {
		t.Error("the tree is not as before")
	}
}

// The store itself is never a package's to change.
func TestStoreIsProtected(t *testing.T) {
	t.Parallel()
	needJail(t)
	w := newWorld(t)
	for _, step := range []string{
		`{"type": "write", "path": {"path": "{W}/state/receipts/x"}, "content": "x"}`,
		`{"type": "run", "command": {"path": "/bin/true"}, "writable_paths": [{"path": "{W}"}]}`,
		`{"type": "run", "command": {"path": "/bin/true"}, "writable_paths": [{"path": "{W}/state/tx"}]}`,
	} {
		job := w.job("[" + step + "]")
		job.Target.Dirs["home"] = w.dir
		job.Target.Approved = []string{"write:home"}
		if _, err := w.apply(job); err == nil {
			t.Errorf("%s went through", step)
		}
	}
}

// Each phase of a cask is found by its own blocks.
func TestPhasesAreSelected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	job := w.job(`[{"type": "touch", "path": {"base": "var", "path": "post"}}]`)
	job.Document.Blocks = append(job.Document.Blocks, steps.Block{
		Phase: "pre_remove_steps", Steps: w.job(`[{"type": "touch", "path": {"base": "var", "path": "remove"}}]`).Document.Blocks[0].Steps,
	})
	if _, err := w.apply(job); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(w.exists("hb/var/post"), w.exists("hb/var/remove")); got != "true false" {
		t.Error(got)
	}
}
