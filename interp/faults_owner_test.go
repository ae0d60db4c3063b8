package interp_test

import (
	"slices"
	"testing"
)

// The kinds of faults 1 to 6 and 38 to 43 of other implementations, as far as they
// are about what belongs to whom, and about configuration.

// 1: a move done twice deleted what the first had moved, here over another's file.
func TestFaultMoveTwiceOverAnothers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/Cellar/demo/1.0/data=mine", "hb/var/data=user's")
	list := `[{"type": "move", "source": {"base": "prefix", "path": "data"}, "target": {"base": "var", "path": "data"}, "overwrite": true, "force": true}]`
	if got := w.disputed(w.of("demo", list)); !slices.Equal(got, []string{"hb/var/data"}) {
		t.Fatalf("got %v", got)
	}
	job := w.of("demo", list)
	job.Target.Replace = []string{w.at("hb/var/data")}
	w.must(job)
	w.must(w.of("demo", list))
	if got := w.read("hb/var/data"); got != "mine" || w.owner("hb/var/data") != "demo" {
		t.Errorf("got %q of %q", got, w.owner("hb/var/data"))
	}
}

// 2: a step whose guard was not asked overwrote the user's configuration; and the
// configuration of another package is no better a target.
func TestFaultConfigurationOverwritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/etc/app.conf=user's", "hb/Cellar/demo/1.0/app.conf=package's")
	guarded := w.of("demo", `[{"type": "copy", "source": {"base": "prefix", "path": "app.conf"}, "target": {"base": "etc", "path": "app.conf"},
		"guards": [{"condition": "unless_exists", "id": "1", "base": "etc", "path": "app.conf"}]}]`)
	w.must(guarded)
	if got := w.disputed(w.of("demo", `[{"type": "copy", "source": {"base": "prefix", "path": "app.conf"}, "target": {"base": "etc", "path": "app.conf"}}]`)); !slices.Equal(got, []string{"hb/etc/app.conf"}) {
		t.Errorf("got %v", got)
	}
	if got := w.read("hb/etc/app.conf"); got != "user's" {
		t.Errorf("got %q", got)
	}
}

// 3: steps could relocate a directory of the user's, although they were allowed to
// write in it.
func TestFaultUsersDirectoryRelocated(t *testing.T) {
	t.Parallel()
	for _, step := range []string{
		`{"type": "move", "source": {"base": "home", "path": "Library"}, "target": {"base": "home", "path": "Elsewhere"}}`,
		`{"type": "move_contents", "source": {"base": "home", "path": "Library"}, "target": {"base": "home", "path": "Elsewhere"}}`,
		`{"type": "remove", "paths": [{"base": "home", "path": "Library"}], "recursive": true}`,
	} {
		w := newWorld(t, "home/Library/Mail/inbox=letters", "home/Library/prefs=mine")
		job := w.of("demo", `[`+step+`]`)
		job.Target.Approved = []string{"write:home"}
		if got := w.disputed(job); !slices.Equal(got, []string{"home/Library/Mail/inbox", "home/Library/prefs"}) {
			t.Errorf("%s: got %v", step, got)
		}
	}
}

// 6: a package's directory that is a link sent what was done to it elsewhere. What
// is there is not the package's own.
func TestFaultLinkedKeg(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/var/users/1.0/file=user's", "hb/Cellar/linked -> ../var/users")
	for _, step := range []string{
		`{"type": "remove", "paths": [{"base": "prefix", "path": "file"}]}`,
		`{"type": "write", "path": {"base": "prefix", "path": "file"}, "content": "x", "overwrite": true}`,
		`{"type": "move_contents", "source": {"base": "prefix", "path": "."}, "target": {"base": "etc", "path": "linked"}}`,
	} {
		if got := w.disputed(w.of("linked", `[`+step+`]`)); !slices.Equal(got, []string{"hb/var/users/1.0/file"}) {
			t.Errorf("%s: got %v", step, got)
		}
	}
}

// 38: what a package writes twice, or anew with the next version, is its own, and
// no reason to refuse.
func TestFaultWrittenTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := `[` + write("specs", "one") + `, ` + write("specs", "two") + `]`
	w.must(w.of("demo", list))
	if done := w.must(w.of("demo", list)); done.Receipt != nil {
		t.Error("the second time changes something")
	}
	w.must(w.of("demo", `[`+write("specs", "three")+`]`))
	if got := w.read("hb/var/specs"); got != "three" {
		t.Errorf("got %q", got)
	}
}

// 41: links of a version before were neither replaced nor taken over.
func TestFaultPriorLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/bin/", "hb/bin/found -> ../Cellar/demo/2.0/bin/found", "hb/bin/stale -> ../Cellar/demo/0.9/bin/stale")
	link := func(version, name string) string {
		return `{"type": "symlink", "source": {"base": "relative", "path": "../Cellar/demo/` + version + `/bin/` + name + `"}, "target": {"base": "homebrew_prefix", "path": "bin/` + name + `"}, "force": true}`
	}
	w.must(w.of("demo", `[`+link("1.0", "tool")+`]`))
	next := w.of("demo", `[`+link("2.0", "tool")+`, `+link("2.0", "found")+`, `+link("2.0", "stale")+`]`)
	next.Target.Version, next.Target.Adopt = "2.0", []string{w.at("hb/bin/found")}
	w.must(next)
	for _, name := range []string{"tool", "found", "stale"} {
		if got := w.owner("hb/bin/" + name); got != "demo" {
			t.Errorf("%s is of %q", name, got)
		}
	}
	if got := w.disputed(w.of("other", `[`+link("9", "tool")+`]`)); !slices.Equal(got, []string{"hb/bin/tool"}) {
		t.Errorf("got %v", got)
	}
}

// 43: what one step moved out of the package's own directory is still the
// package's for the next, and for the next version.
func TestFaultMovedOutOfTheKeg(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/Cellar/demo/1.0/sdk/tool=1", "hb/Cellar/demo/2.0/sdk/tool=2")
	list := `[{"type": "remove", "paths": [{"base": "homebrew_prefix", "path": "share/sdk"}], "recursive": true},
		{"type": "move", "source": {"base": "prefix", "path": "sdk"}, "target": {"base": "homebrew_prefix", "path": "share/sdk"}},
		{"type": "inreplace", "path": {"base": "homebrew_prefix", "path": "share/sdk/tool"}, "before": "(.)", "after": "v\\1", "regexp": true}]`
	w.must(w.of("demo", list))
	next := w.of("demo", list)
	next.Target.Version = "2.0"
	w.must(next)
	if got := w.read("hb/share/sdk/tool"); got != "v2" {
		t.Errorf("got %q", got)
	}
}
