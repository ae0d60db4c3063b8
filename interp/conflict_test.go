package interp_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"steps.example/interp"
	"steps.example/interp/commit"
	"steps.example/interp/internal/fsroot"
	"steps.example/steps"
)

// of is the installation of a package whose steps are decided about path by path.
func (w *world) of(name, list string) interp.Job {
	w.t.Helper()
	job := w.job(list)
	job.Document.Name, job.Target.Name = name, name
	job.Target.Replace = nil
	return job
}

func (w *world) must(job interp.Job) *interp.Applied {
	w.t.Helper()
	done, err := w.apply(job)
	if err != nil {
		w.t.Fatal(err)
	}
	return done
}

// disputed applies a job, plans it as well, and gives the paths of the conflicts,
// relative to the world. Nothing may have changed.
func (w *world) disputed(job interp.Job) []string {
	w.t.Helper()
	before := w.listing()
	job.Store = w.store
	plan, err := interp.MakePlan(context.Background(), job, interp.Machine{})
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = w.apply(job)
	refused, ok := errors.AsType[*interp.RefusedError](err)
	if err != nil && !ok {
		w.t.Fatal(err)
	}
	var got []string
	if ok {
		got = w.conflicts(refused.Refusals)
	}
	if len(plan.Actions) == 0 && !slices.Equal(got, w.conflicts(plan.Refused)) {
		w.t.Errorf("the plan says %v, apply %v", plan.Refused, got)
	}
	if ok && w.listing() != before {
		w.t.Error("the tree is not as before")
	}
	return got
}

func (w *world) conflicts(list []interp.Refusal) []string {
	var got []string
	for _, r := range list {
		if r.Rule != "conflict" || r.Approval != "" || r.Step == 0 {
			w.t.Errorf("%+v", r)
		}
		got = append(got, strings.TrimPrefix(r.Path, w.dir+"/"))
	}
	return got
}

func (w *world) owner(p string) string {
	w.t.Helper()
	owners, err := w.store.Owners()
	if err != nil {
		w.t.Fatal(err)
	}
	o, _ := owners.Of(w.at(p))
	return o.Package.Name
}

func write(p, content string) string {
	return `{"type": "write", "path": {"base": "var", "path": "` + p + `"}, "content": "` + content + `", "overwrite": true}`
}

// TestConflicts: what each kind of step may not do to what somebody else has, and
// that the user's word settles it.
func TestConflicts(t *testing.T) {
	t.Parallel()
	// The user has mine/ and l, package "other" has other/.
	tree := []string{"hb/var/mine/a=user's", "hb/var/mine/b=user's", "hb/var/mine/deep/c=user's", "hb/var/l -> mine/a", "hb/Cellar/demo/1.0/x=x", "hb/Cellar/demo/1.0/links/a=x", "hb/etc/demo/conf=old",
		"hb/var/stale -> ../Cellar/demo/0.9/tool", "hb/var/foreign -> ../Cellar/demo-data/x"}
	others := `[` + write("other/a", "other's") + `, ` + write("other/b", "other's") + `, {"type": "mkdir_p", "path": {"base": "var", "path": "other/empty"}},
		{"type": "symlink", "source": {"base": "relative", "path": "a"}, "target": {"base": "var", "path": "other/l"}}]`
	at := func(p string) string { return `{"base": "var", "path": "` + p + `"}` }
	for _, tc := range []struct {
		name, steps string
		want        []string
	}{
		{"new", `[` + write("other/new", "x") + `, ` + write("mine/new", "x") + `]`, nil},
		{"user's", `[` + write("mine/a", "x") + `]`, []string{"hb/var/mine/a"}},
		{"another's", `[` + write("other/a", "x") + `]`, []string{"hb/var/other/a"}},
		{"all are listed", `[` + write("mine/a", "x") + `, ` + write("other/a", "x") + `, ` + write("mine/b", "x") + `]`, []string{"hb/var/mine/a", "hb/var/mine/b", "hb/var/other/a"}},
		{"the same bytes", `[` + write("mine/a", "user's") + `]`, nil},
		{"delete", `[{"type": "remove", "paths": [` + at("mine/*") + `]}]`, []string{"hb/var/mine/a", "hb/var/mine/b"}},
		{"delete another's", `[{"type": "remove", "paths": [` + at("other") + `], "recursive": true}]`,
			[]string{"hb/var/other", "hb/var/other/a", "hb/var/other/b", "hb/var/other/empty", "hb/var/other/l"}},
		{"delete a link", `[{"type": "remove", "paths": [` + at("l") + `]}]`, []string{"hb/var/l"}},
		{"move over another's", `[{"type": "move", "source": {"base": "prefix", "path": "x"}, "target": ` + at("other/a") + `}]`, []string{"hb/var/other/a"}},
		{"move another's away", `[{"type": "move", "source": ` + at("other/a") + `, "target": {"base": "prefix", "path": "y"}}]`, []string{"hb/var/other/a"}},
		{"rename a shared directory", `[{"type": "move", "source": ` + at("mine") + `, "target": ` + at("theirs") + `}]`, []string{"hb/var/mine/a", "hb/var/mine/b", "hb/var/mine/deep/c"}},
		{"copy over", `[{"type": "copy", "source": {"base": "prefix", "path": "x"}, "target": ` + at("other/b") + `}]`, []string{"hb/var/other/b"}},
		{"through a link", `[{"type": "touch", "path": ` + at("l") + `}]`, []string{"hb/var/mine/a"}},
		{"through another's link", `[{"type": "set_permissions", "paths": [` + at("other/l") + `], "permissions": "0600"}]`, []string{"hb/var/other/a"}},
		{"mode of a tree", `[{"type": "set_permissions", "paths": [` + at("mine") + `], "permissions": "0700"}]`, []string{"hb/var/mine/a", "hb/var/mine/b", "hb/var/mine/deep/c"}},
		{"in the file", `[{"type": "inreplace", "path": ` + at("other/a") + `, "before": "other", "after": "my"}]`, []string{"hb/var/other/a"}},
		{"a link in the place", `[{"type": "symlink", "source": {"base": "relative", "path": "x"}, "target": ` + at("mine/a") + `, "force": true}]`, []string{"hb/var/mine/a"}},
		{"a link to another's", `[{"type": "symlink", "source": {"base": "relative", "path": "other/a"}, "target": ` + at("new") + `}]`, nil},
		{"links over", `[{"type": "link_children", "source": {"base": "prefix", "path": "links"}, "target": ` + at("other") + `}]`, []string{"hb/var/other/a"}},
		{"a tree of links over", `[{"type": "link_dir", "source": {"base": "prefix", "path": "links"}, "target": ` + at("mine") + `}]`, []string{"hb/var/mine/a"}},
		{"a link into the package", `[{"type": "symlink", "source": {"base": "prefix", "path": "tool"}, "target": ` + at("stale") + `, "force": true}]`, nil},
		{"a link beside the package", `[{"type": "symlink", "source": {"base": "prefix", "path": "tool"}, "target": ` + at("foreign") + `, "force": true}]`, []string{"hb/var/foreign"}},
		{"a shared directory", `[{"type": "mkdir_p", "path": ` + at("other/empty/sub") + `}]`, nil},
		{"own keg", `[{"type": "remove", "paths": [{"base": "prefix", "path": "x"}]}, {"type": "write", "path": {"base": "etc", "path": "demo/conf"}, "content": "new", "overwrite": true}]`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tree...)
			w.must(w.of("other", others))
			before := w.listing()
			if got := w.disputed(w.of("demo", tc.steps)); !slices.Equal(got, tc.want) {
				t.Fatalf("got %v, want %v", got, tc.want)
			}
			if len(tc.want) == 0 {
				return
			}
			// Taken over by name, and given back by undo.
			job := w.of("demo", tc.steps)
			for _, p := range tc.want {
				job.Target.Replace = append(job.Target.Replace, w.at(p))
			}
			done := w.must(job)
			if err := w.store.Undo(done.Receipt.ID); err != nil {
				t.Fatal(err)
			}
			if w.listing() != before {
				t.Error("undo does not give it back")
			}
			if got := w.disputed(w.of("demo", tc.steps)); !slices.Equal(got, tc.want) {
				t.Errorf("after undo: %v", got)
			}
			// Left alone, all of it.
			job = w.of("demo", tc.steps)
			for _, p := range tc.want {
				job.Target.Keep = append(job.Target.Keep, w.at(p))
			}
			job.Target.Keep = append(job.Target.Keep, w.at("hb/var/theirs"), w.at("hb/Cellar/demo/1.0/y"))
			w.must(job)
			for _, p := range tc.want {
				if !w.exists(p) {
					t.Errorf("%s is gone", p)
				}
			}
		})
	}
}

// What a command leaves behind goes through the same check, and what the package
// made a step before is its own.
func TestConflictOfCommand(t *testing.T) {
	t.Parallel()
	needJail(t)
	for _, capture := range []interp.CaptureMode{"", interp.CaptureSnapshot} {
		w := newWorld(t, "hb/var/mine=user's")
		w.capture = capture
		w.must(w.of("other", `[`+write("theirs", "other's")+`]`))
		job := w.of("demo", `[`+write("own", "x")+`,
			{"type": "run", "command": {"path": "/bin/sh"}, "args": ["-c", "cd {W}/hb/var && echo y >own && echo y >new && echo y >mine && rm theirs"]}]`)
		if got, want := w.disputed(job), []string{"hb/var/mine", "hb/var/theirs"}; !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
		job.Target.Keep, job.Target.Replace = []string{w.at("hb/var/mine")}, []string{w.at("hb/var/t*")}
		done := w.must(job)
		if got := w.read("hb/var/own") + w.read("hb/var/new") + w.read("hb/var/mine"); got != "y\ny\nuser's" || w.exists("hb/var/theirs") {
			t.Error(got)
		}
		if s := done.Receipt.Spared; len(s) != 1 || s[0].Path != w.at("hb/var/mine") || s[0].Steps[0] != 2 {
			t.Errorf("the receipt says %v", s)
		}
		if err := w.store.Undo(done.Receipt.ID); err != nil || w.owner("hb/var/theirs") != "other" || w.owner("hb/var/own") != "" {
			t.Error(err)
		}
	}
}

// A package's own things are its own in every version, but not what the user put
// in their place.
func TestConflictOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.of("demo", `[`+write("a", "1")+`, {"type": "symlink", "source": {"base": "relative", "path": "a"}, "target": {"base": "var", "path": "l"}}]`))
	next := w.of("demo", `[`+write("a", "2")+`, {"type": "symlink", "source": {"base": "relative", "path": "b"}, "target": {"base": "var", "path": "l"}, "force": true}]`)
	next.Target.Version = "2.0"
	w.must(next)
	if err := os.Remove(w.at("hb/var/l")); err != nil {
		t.Fatal(err)
	}
	w.make("hb/var/l=a script of mine")
	again := w.of("demo", `[{"type": "symlink", "source": {"base": "relative", "path": "c"}, "target": {"base": "var", "path": "l"}, "force": true}]`)
	if got := w.disputed(again); !slices.Equal(got, []string{"hb/var/l"}) {
		t.Errorf("got %v", got)
	}
	// A cask of the same name is another package.
	cask := w.of("demo", `[`+write("a", "3")+`]`)
	cask.Document.Layout, cask.Target.Layout = "generic", "generic"
	cask.Target.Dirs = map[string]string{"prefix_root": w.at("hb"), "home": w.at("home"), "temp": w.at("tmp")}
	if got := w.disputed(cask); !slices.Equal(got, []string{"hb/var/a"}) {
		t.Errorf("got %v", got)
	}
}

// What only got another mode is not the package's to delete.
func TestConflictAfterModify(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/var/mine=user's")
	job := w.of("demo", `[{"type": "set_permissions", "paths": [{"base": "var", "path": "mine"}], "permissions": "0600"}]`)
	job.Target.Replace = []string{w.at("hb/var/mine")}
	w.must(job)
	if got := w.disputed(w.of("demo", `[{"type": "remove", "paths": [{"base": "var", "path": "mine"}]}]`)); !slices.Equal(got, []string{"hb/var/mine"}) {
		t.Errorf("got %v", got)
	}
	if got := w.disputed(w.of("demo", `[{"type": "set_permissions", "paths": [{"base": "var", "path": "mine"}], "permissions": "0640"}]`)); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/var/same=x", "hb/var/kept=x", "hb/var/differs=mine", "hb/var/l -> same", "hb/Cellar/demo/1.0/f=x", "hb/var/copied=x")
	list := `[` + write("same", "x") + `, ` + write("differs", "x") + `,
		{"type": "write", "path": {"base": "var", "path": "kept"}, "content": "x"},
		{"type": "copy", "source": {"base": "prefix", "path": "f"}, "target": {"base": "var", "path": "copied"}},
		{"type": "symlink", "source": {"base": "relative", "path": "same"}, "target": {"base": "var", "path": "l"}, "force": true}]`
	job := w.of("demo", list)
	job.Target.Adopt = []string{w.at("hb/var")}
	if got := w.disputed(job); !slices.Equal(got, []string{"hb/var/differs"}) {
		t.Errorf("got %v", got)
	}
	job.Target.Keep = []string{w.at("hb/var/differs")}
	done := w.must(job)
	var adopted []string
	for _, a := range done.Receipt.Adopted {
		adopted = append(adopted, strings.TrimPrefix(a.Path, w.dir+"/hb/var/"))
	}
	if !slices.Equal(adopted, []string{"kept", "copied", "l", "same"}) {
		t.Errorf("adopted %v", adopted)
	}
	for p, want := range map[string]string{"same": "demo", "kept": "demo", "copied": "demo", "l": "demo", "differs": ""} {
		if got := w.owner("hb/var/" + p); got != want {
			t.Errorf("%s is of %q", p, got)
		}
	}
	// Nothing is adopted twice, and undo of what changed nothing gives it up.
	if again := w.must(job); again.Receipt != nil {
		t.Errorf("a second receipt: %+v", again.Receipt)
	}
	before := w.listing()
	if err := w.store.Undo(done.Receipt.ID); err != nil {
		t.Fatal(err)
	}
	if w.listing() != before || w.owner("hb/var/same") != "" {
		t.Error("undo of an adoption")
	}
}

// The owners are those of the receipts: after undo, after recovery of a
// transaction that was killed, after a receipt was dropped.
func TestOwnersFollowReceipts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.must(w.of("one", `[`+write("f", "1")+`]`))
	job := w.of("two", `[`+write("f", "2")+`]`)
	job.Target.Replace = []string{w.at("hb/var/f")}
	second := w.must(job)
	if got := w.owner("hb/var/f"); got != "two" {
		t.Errorf("f is of %q", got)
	}
	if err := w.store.Undo(second.Receipt.ID); err != nil {
		t.Fatal(err)
	}
	if got := w.owner("hb/var/f"); got != "one" {
		t.Errorf("after undo f is of %q", got)
	}
	// A transaction that nobody ended, as a killed process leaves it.
	set, err := fsroot.New([]string{w.at("hb"), w.at("home"), w.at("tmp")})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	other, err := commit.OpenStore(w.store.Path())
	if err != nil {
		t.Fatal(err)
	}
	job.Store = w.store
	plan, err := interp.MakePlan(context.Background(), job, interp.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := other.Begin(set, commit.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Apply(plan.Changes); err != nil {
		t.Fatal(err)
	}
	other.Close()
	if _, err := w.apply(w.of("three", `[`+write("g", "3")+`]`)); !errors.Is(err, commit.ErrInterrupted) {
		t.Errorf("got %v", err)
	}
	if _, err := w.store.Recover(commit.RecoverOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := w.owner("hb/var/f"); got != "one" || w.read("hb/var/f") != "1" {
		t.Errorf("after recovery f is of %q", got)
	}
	if err := w.store.Drop(first.Receipt.ID); err != nil {
		t.Fatal(err)
	}
	if got := w.owner("hb/var/f"); got != "" {
		t.Errorf("after its receipt was dropped f is of %q", got)
	}
}

// A pattern that cannot be one, or a path that is not absolute, is no choice.
func TestChoicesAreChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, p := range []string{"rel", "/a/../b", "/a[", ""} {
		for _, set := range []func(*interp.Target){
			func(t *interp.Target) { t.Replace = []string{p} },
			func(t *interp.Target) { t.Adopt = []string{p} },
			func(t *interp.Target) { t.Keep = []string{p} },
		} {
			job := w.of("demo", `[`+write("f", "1")+`]`)
			set(&job.Target)
			if _, err := w.apply(job); err == nil {
				t.Errorf("%q went through", p)
			}
		}
	}
}

// What another package has adopted, taken over or used stays when the first one goes,
// and what goes with a package belongs to nobody afterwards.
func TestOwnersAfterUninstall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := `[{"type": "mkdir_p", "path": {"base": "var", "path": "d"}}, ` + write("d/shared", "x") + `, ` + write("d/own", "x") + `, ` + write("d/edited", "x") + `]`
	first := w.of("one", list)
	first.Document.Schema = steps.SchemaVersion
	w.must(first)
	second := w.of("two", `[`+write("d/shared", "x")+`]`)
	second.Target.Adopt = []string{w.at("hb/var/d/shared")}
	w.must(second)
	w.make("hb/var/d/edited=mine")
	installed, err := interp.Find(w.store, "one", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := installed.Remove(context.Background(), second.Target, interp.Machine{}, interp.ApplyOptions{Store: w.store}, interp.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]string{"d/shared": "two", "d/own": "", "d/edited": "", "d": "two"} {
		if got := w.owner("hb/var/" + p); got != want {
			t.Errorf("%s is of %q", p, got)
		}
		if w.exists("hb/var/"+p) != (p != "d/own") {
			t.Errorf("%s is there, or not", p)
		}
	}
	if got := w.disputed(w.of("one", list)); !slices.Equal(got, []string{"hb/var/d/edited"}) {
		t.Errorf("got %v", got)
	}
}
