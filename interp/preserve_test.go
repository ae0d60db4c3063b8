package interp_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"steps.example/interp"
)

// configure is version n of demo, whose only step writes etc/c.
func (w *world) configure(version, preserve, content string) interp.Job {
	w.t.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		w.t.Fatal(err)
	}
	job := w.of("demo", fmt.Sprintf(`[{"type": "write", "path": {"base": "etc", "path": "c"}, "content": %s, "preserve": %q}]`, text, preserve))
	job.Target.Version = version
	return job
}

// etc lists what is in etc: "name=content" or "name -> target".
func (w *world) etc() string {
	w.t.Helper()
	names, err := os.ReadDir(w.at("hb/etc"))
	if err != nil {
		w.t.Fatal(err)
	}
	var list []string
	for _, e := range names {
		p := "hb/etc/" + e.Name()
		if target, err := os.Readlink(w.at(p)); err == nil {
			list = append(list, e.Name()+" -> "+target)
		} else if e.IsDir() {
			list = append(list, e.Name()+"/")
		} else {
			list = append(list, e.Name()+"="+w.read(p))
		}
	}
	return strings.Join(list, " | ")
}

// TestPreserve: version 1 writes the base, the user does something, version 2 comes.
func TestPreserve(t *testing.T) {
	t.Parallel()
	const base, next = "a\nb\nc\nd\n", "a\nb\nc\nD\n"
	const marked = "<<<<<<< yours\nmine\n||||||| the package's, before\na\nb\nc\nd\n=======\na\nb\nc\nD\n>>>>>>> the package's, now\n"
	for _, tc := range []struct {
		name, user, preserve, next, want string
	}{
		{"untouched, keep", "", "keep", next, "c=" + next},
		{"untouched, merge", "", "merge", next, "c=" + next},
		{"changed, keep", "c=mine", "keep", next, "c=mine"},
		{"changed, replace", "c=mine", "replace", next, "c=" + next},
		{"changed, rename_old", "c=mine", "rename_old", next, "c=" + next + " | c.steps-old=mine"},
		{"changed, rename_new", "c=mine", "rename_new", next, "c=mine | c.steps-new=" + next},
		{"changed, merge", "c=A\nb\nc\nd\n", "merge", next, "c=A\nb\nc\nD\n"},
		{"changed, merge with CRLF", "c=A\r\nb\r\nc\r\nd\r\n", "merge", next, "c=A\r\nb\r\nc\r\nD\r\n"},
		{"changed, merge without final newline", "c=A\nb\nc\nd", "merge", "a\nB\nc\nd\n", "c=A\nb\nc\nd | c.steps-new=<<<<<<< yours\nA\nb\n||||||| the package's, before\na\nb\n=======\na\nB\n>>>>>>> the package's, now\nc\nd"},
		{"changed, merge conflict", "c=mine\n", "merge", next, "c=mine\n | c.steps-new=" + marked},
		{"binary, merge", "c=A\x00\n", "merge", next, "c=A\x00\n | c.steps-new=" + next},
		{"changed, nothing new", "c=mine", "rename_old", base, "c=mine"},
		{"changed alike", "c=" + next, "rename_new", next, "c=" + next},
		{"removed, keep", "-", "keep", next, ""},
		{"removed, merge", "-", "merge", next, "c.steps-new=" + next},
		{"removed, replace", "-", "replace", base, "c=" + base},
		{"removed, nothing new", "-", "merge", base, ""},
		{"names taken", "c.steps-new=0 c.steps-new.1=1 c=mine", "rename_new", next, "c=mine | c.steps-new=0 | c.steps-new.1=1 | c.steps-new.2=" + next},
		{"names taken, one is it", "c.steps-new=0 c.steps-new.1=" + strings.TrimSpace("n") + " c=mine", "rename_new", "n", "c=mine | c.steps-new=0 | c.steps-new.1=n"},
		{"old names taken", "c.steps-old=0 c=mine", "rename_old", "n", "c=n | c.steps-old=0 | c.steps-old.1=mine"},
		{"a directory in the name", "c.steps-old/ c=mine", "rename_old", "n", "c=n | c.steps-old/ | c.steps-old.1=mine"},
		{"a link, keep", "l->elsewhere", "keep", next, "c -> elsewhere"},
		{"a link, merge", "l->elsewhere", "merge", next, "c -> elsewhere | c.steps-new=" + next},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.must(w.configure("1.0", tc.preserve, base))
			if tc.user == "-" || strings.HasPrefix(tc.user, "l->") {
				if err := os.Remove(w.at("hb/etc/c")); err != nil {
					t.Fatal(err)
				}
			}
			switch link, found := strings.CutPrefix(tc.user, "l->"); {
			case found:
				w.make("hb/etc/c -> " + link)
			case tc.user != "-" && tc.user != "":
				for _, line := range strings.Split(tc.user, " ") {
					w.make("hb/etc/" + line)
				}
			}
			before := w.listing()
			done := w.must(w.configure("2.0", tc.preserve, tc.next))
			if got := w.etc(); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
			// Once more changes nothing.
			after := w.listing()
			w.must(w.configure("2.0", tc.preserve, tc.next))
			if w.listing() != after {
				t.Errorf("a second apply: %q", w.etc())
			}
			// All receipts together have nothing against what is the user's.
			if found, err := interp.Verify(w.store); err != nil || len(found.Drifts) > 0 {
				t.Errorf("verify: %+v, %v", found, err)
			}
			if done.Receipt == nil {
				return
			}
			if drift, err := w.store.Verify(done.Receipt); err != nil || len(drift) > 0 {
				t.Errorf("verify: %v, %v", drift, err)
			}
			if err := w.store.Undo(done.Receipt.ID); err != nil || w.listing() != before {
				t.Errorf("undo: %v, %q", err, w.etc())
			}
		})
	}
}

// A third version is merged with the second one, not with what became of it.
func TestPreserveBases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.configure("1", "merge", "a\nb\nc\nd\ne\n"))
	w.make("hb/etc/c=a\nb\nc\nd\nE\n")
	w.must(w.configure("2", "merge", "A\nb\nc\nd\ne\n"))
	w.must(w.configure("3", "merge", "A\nb\nC\nd\ne\n"))
	if got := w.etc(); got != "c=A\nb\nC\nd\nE\n" {
		t.Errorf("got %q", got)
	}
	// A conflict is not taken for a merge the next time.
	w.make("hb/etc/c=mine\n")
	w.must(w.configure("4", "merge", "A\nb\nC\nd\n4\n"))
	w.must(w.configure("5", "merge", "A\nb\nC\nd\n5\n"))
	if got := w.read("hb/etc/c"); got != "mine\n" || !w.exists("hb/etc/c.steps-new.1") {
		t.Errorf("got %q", w.etc())
	}
}

// Another's file is not the package's, whatever preserve says.
func TestPreserveConflicts(t *testing.T) {
	t.Parallel()
	for preserve, want := range map[string][]string{
		"keep": nil, "rename_new": nil, "merge": nil,
		"replace": {"hb/etc/c"}, "rename_old": {"hb/etc/c"},
	} {
		w := newWorld(t, "hb/etc/c=user's")
		if got := w.disputed(w.configure("1", preserve, "x")); !slices.Equal(got, want) {
			t.Errorf("%s: got %v", preserve, got)
		}
		if w.exists("hb/etc/c") && len(want) == 0 && w.read("hb/etc/c") != "user's" {
			t.Errorf("%s: the file was changed", preserve)
		}
	}
	w := newWorld(t, "hb/etc/c/x=1")
	if _, err := w.apply(w.configure("1", "merge", "x")); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("got %v", err)
	}
	if got := w.disputed(w.configure("1", "keep", "x")); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

// What is put beside a secret is as secret.
func TestPreserveMode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ preserve, beside string }{{"rename_new", "c.steps-new"}, {"rename_old", "c.steps-old"}, {"merge", "c.steps-new"}} {
		w := newWorld(t)
		w.must(w.configure("1", tc.preserve, "1\n"))
		w.make("hb/etc/c=mine\n")
		if err := os.Chmod(w.at("hb/etc/c"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.must(w.configure("2", tc.preserve, "2\n"))
		for _, name := range []string{"c", tc.beside} {
			info, err := os.Stat(w.at("hb/etc/" + name))
			if err != nil || info.Mode() != 0o600 {
				t.Errorf("%s: %s: %v, %v", tc.preserve, name, info.Mode(), err)
			}
		}
	}
}

// copy is the same for each file and link of a tree.
func TestPreserveCopy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/Cellar/demo/1.0/conf/a=1\n2\n3\n", "hb/Cellar/demo/1.0/conf/d/b=1", "hb/Cellar/demo/1.0/conf/l -> a", "hb/Cellar/demo/2.0/conf/a=1\n2\n4\n", "hb/Cellar/demo/2.0/conf/d/b=2", "hb/Cellar/demo/2.0/conf/l -> d/b")
	install := func(version, preserve string) interp.Job {
		job := w.of("demo", `[{"type": "copy", "source": {"base": "prefix", "path": "conf/."}, "target": {"base": "etc", "path": "app"}, "recursive": true, "preserve": "`+preserve+`"},
			{"type": "copy", "source": {"base": "prefix", "path": "conf/a"}, "target": {"base": "etc", "path": "single"}, "preserve": "`+preserve+`"}]`)
		job.Target.Version = version
		return job
	}
	w.must(install("1.0", "merge"))
	w.make("hb/etc/app/a=0\n2\n3\n")
	w.make("hb/etc/single=mine\n")
	w.must(install("2.0", "merge"))
	for p, want := range map[string]string{"app/a": "0\n2\n4\n", "app/d/b": "2", "app/l": "2", "single": "mine\n"} {
		if got := w.read("hb/etc/" + p); got != want {
			t.Errorf("%s: got %q", p, got)
		}
	}
	if !w.exists("hb/etc/single.steps-new") || w.exists("hb/etc/app/a.steps-new") || w.exists("hb/etc/app/l.steps-new") {
		t.Error(w.listing())
	}
}
