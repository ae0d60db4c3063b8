package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"steps.example/interp"
	"steps.example/interp/changeset"
	"steps.example/interp/commit"
)

// TestLaws draws a tree and a document of steps that are idempotent one by one,
// and holds the interpreter to what it promises of any document:
//
//   - a plan changes nothing, and says what apply then does;
//   - apply does all of it, or fails and changes nothing, and then the plan had
//     refused;
//   - where no step touches what another one made, a second plan is empty;
//   - verify is clean after apply, and sees any change to what was made;
//   - undo restores what was before, and refuses where something changed since.
func TestLaws(t *testing.T) {
	t.Parallel()
	scratch, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		l := newLaw(t, filepath.Join(scratch, fmt.Sprint(n)))
		defer l.close()
		// What never ends cannot be stopped from outside; say what it was.
		endless := time.AfterFunc(time.Minute, func() { panic("still at it after a minute: " + string(l.Steps)) })
		defer endless.Stop()
		l.check()
	})
}

// law is one drawn tree and document.
type law struct {
	*rapid.T
	runner
	store *commit.Store
	// apart: each step has a directory to itself.
	apart bool
}

func newLaw(t *rapid.T, dir string) *law {
	l := &law{T: t, apart: rapid.Bool().Draw(t, "apart")}
	count := rapid.IntRange(1, 6).Draw(t, "steps")
	tree := Tree{
		"hb/share/src/one":     {Type: "file", Mode: "0644", Content: "one x"},
		"hb/share/src/two":     {Type: "file", Mode: "0755", Content: "two"},
		"hb/share/src/sub/one": {Type: "file", Mode: "0600", Content: "xx"},
		"hb/share/flat/a":      {Type: "file", Mode: "0644", Content: "flat"},
		"hb/share/flat/new":    {Type: "file", Mode: "0644", Content: "flat"},
		"home":                 {Type: "dir", Mode: "0755"},
		"tmp":                  {Type: "dir", Mode: "0755"},
		"Applications":         {Type: "dir", Mode: "0755"},
	}
	var list []json.RawMessage
	for i := range count {
		area := "s0"
		if l.apart {
			area = fmt.Sprintf("s%d", i)
		}
		if _, drawn := tree["hb/var/"+area]; !drawn {
			drawObjects(t, tree, "hb/var/"+area)
		}
		list = append(list, drawStep(t, area))
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	l.runner = runner{
		Case:  &Case{Steps: text, Phase: "install", Context: CaseContext{Kind: "formula", Name: "demo", Version: "1.0", OS: "linux"}},
		host:  interp.Machine{},
		root:  filepath.Join(dir, "root"),
		state: filepath.Join(dir, "state"),
	}
	if err := os.MkdirAll(l.root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := tree.Build(l.root); err != nil {
		t.Fatal(err)
	}
	l.before = l.tree()
	if l.store, err = commit.OpenStore(l.state); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *law) close() {
	l.store.Close()
	if err := RemoveAll(filepath.Dir(l.root)); err != nil {
		l.Fatal(err)
	}
}

var names = []string{"a", "b", "c", "a/a", "a/b", "b/a", "a/b/c"}

// drawObjects puts objects below dir. Links lead to their neighbours, or nowhere.
func drawObjects(t *rapid.T, tree Tree, dir string) {
	tree[dir] = Entry{Type: "dir", Mode: "0755"}
	for _, name := range names {
		if parent, ok := tree[filepath.Join(dir, filepath.Dir(name))]; !ok || parent.Type != "dir" {
			continue
		}
		p := dir + "/" + name
		switch rapid.IntRange(0, 6).Draw(t, "object") {
		case 0, 1:
			tree[p] = Entry{Type: "dir", Mode: rapid.SampledFrom([]string{"0755", "0755", "0700", "0750", "2755", "0555"}).Draw(t, "mode")}
		case 2, 3:
			tree[p] = Entry{
				Type: "file", Mode: rapid.SampledFrom([]string{"0644", "0755", "0400", "0600"}).Draw(t, "mode"),
				Content: rapid.SampledFrom([]string{"", "x", "axbxc", "plain", "written"}).Draw(t, "content"),
			}
		case 4:
			tree[p] = Entry{Type: "symlink", Target: rapid.SampledFrom([]string{"a", "b", "c", "nowhere", "."}).Draw(t, "target")}
		}
	}
}

// drawStep draws a step that makes no difference when it is done twice, and
// changes nothing outside the directory area of var.
func drawStep(t *rapid.T, area string) json.RawMessage {
	name := rapid.SampledFrom(append([]string{"new", "a/new", "new/deep"}, names...)).Draw(t, "path")
	at := fmt.Sprintf(`{"base": "var", "path": %q}`, area+"/"+name)
	share := func(p string) string { return fmt.Sprintf(`{"base": "homebrew_prefix", "path": "share/%s"}`, p) }
	text := rapid.SampledFrom([]string{"written", "", "x"}).Draw(t, "text")
	link := rapid.SampledFrom([]string{
		`{"base": "relative", "path": "b"}`, `{"base": "relative", "path": "nowhere"}`, share("src"), share("src/one"),
	}).Draw(t, "link")
	mode := rapid.SampledFrom([]string{"0755", "0700", "0750", "0711", "1755"}).Draw(t, "mode")
	yes := rapid.Bool().Draw(t, "yes")
	return json.RawMessage(rapid.SampledFrom([]string{
		fmt.Sprintf(`{"type": "mkdir_p", "path": %s}`, at),
		fmt.Sprintf(`{"type": "write", "path": %s, "content": %q, "overwrite": %t}`, at, text, yes),
		fmt.Sprintf(`{"type": "symlink", "source": %s, "target": %s, "force": true}`, link, at),
		fmt.Sprintf(`{"type": "link_dir", "source": %s, "target": %s}`, share("src"), at),
		fmt.Sprintf(`{"type": "link_children", "source": %s, "target": %s, "prefix": "p-"}`, share("flat"), at),
		fmt.Sprintf(`{"type": "link_children", "source": %s, "target": %s}`, share("flat"), at),
		fmt.Sprintf(`{"type": "set_permissions", "paths": [%s], "permissions": %q, "non_recursive": %t}`, at, mode, yes),
		fmt.Sprintf(`{"type": "remove", "paths": [%s], "recursive": %t}`, at, yes),
		fmt.Sprintf(`{"type": "copy", "source": %s, "target": %s}`, share("src/two"), at),
		fmt.Sprintf(`{"type": "inreplace", "path": %s, "before": "x", "after": "yy", "skip_audit": true}`, at),
	}).Draw(t, "step"))
}

func (l *law) tree() Tree {
	tree, err := ReadTree(l.root)
	if err != nil {
		l.Fatal(err)
	}
	return tree
}

// same fails unless got is want.
func (l *law) same(got, want Tree, when string) {
	if diff := got.Diff(want); len(diff) > 0 {
		l.Fatalf("%s:\n  %s\nsteps: %s", when, strings.Join(diff, "\n  "), l.Steps)
	}
}

func (l *law) plan() *interp.Plan {
	job, err := l.job()
	if err != nil {
		l.Fatal(err)
	}
	plan, err := interp.MakePlan(l.Context(), job, l.host)
	if err != nil {
		l.Fatal(err)
	}
	return plan
}

func (l *law) check() {
	plan := l.plan()
	l.same(l.tree(), l.before, "the plan changed the tree")
	job, err := l.job()
	if err != nil {
		l.Fatal(err)
	}
	done, err := interp.Apply(l.Context(), job, l.host, interp.ApplyOptions{Store: l.store, Expect: plan.Digest()})
	if err != nil {
		l.same(l.tree(), l.before, "apply failed and changed the tree")
		if len(plan.Refused) == 0 {
			l.Fatalf("the plan refused nothing, and apply failed: %v\nsteps: %s", err, l.Steps)
		}
		return
	}
	if len(plan.Refused) > 0 {
		l.Fatalf("apply did what the plan refused: %v", plan.Refused)
	}
	after := l.tree()
	l.same(l.model(plan.Changes), after, "the plan says something else than what apply did")
	if l.apart {
		if again := l.plan(); !again.Changes.Empty() {
			l.Fatalf("the second plan still changes %s\nsteps: %s", verbs(again.Changes), l.Steps)
		}
	}
	if done.Receipt == nil {
		l.same(after, l.before, "there is no receipt, and the tree changed")
		return
	}
	if drift, err := l.store.Verify(done.Receipt); err != nil || len(drift) > 0 {
		l.Fatalf("verify after apply: %v, %v\nsteps: %s", drift, err, l.Steps)
	}
	if len(done.Receipt.Changeset.Changes) > 0 && rapid.Bool().Draw(l.T, "mutate") {
		l.mutated(done.Receipt)
		return
	}
	if err := l.store.Undo(done.Receipt.ID); err != nil {
		l.Fatalf("undo: %v\nsteps: %s", err, l.Steps)
	}
	l.same(l.tree(), l.before, "undo did not restore the tree")
	if err := l.leftNothing(); err != nil {
		l.Fatal(err)
	}
}

func verbs(cs *changeset.Changeset) string {
	var out []string
	for i := range cs.Changes {
		c := &cs.Changes[i]
		out = append(out, fmt.Sprintf("%s %s (%s, was %s)", c.Verb(), c.Path, c.After, c.Before))
	}
	return strings.Join(out, ", ")
}

// mutated changes one of the paths that r made: verify sees it, and undo refuses
// and leaves it.
func (l *law) mutated(r *commit.Receipt) {
	c := rapid.SampledFrom(r.Changeset.Changes).Draw(l.T, "victim")
	how := mutations(&c)
	m := how[rapid.IntRange(0, len(how)-1).Draw(l.T, "mutation")]
	if err := m.spoil(c.Path, filepath.Join(filepath.Dir(l.root), "aside")); errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
		return
	} else if err != nil {
		l.Fatal(err)
	}
	is := l.tree()
	if drift, err := l.store.Verify(r); err != nil || !found(drift, &c, m) {
		l.Fatalf("%s: %s, and verify finds %v, %v\nsteps: %s", c.Path, m.name, drift, err, l.Steps)
	}
	var drift *commit.DriftError
	if err := l.store.Undo(r.ID); !errors.As(err, &drift) {
		l.Fatalf("%s: %s, and undo says %v\nsteps: %s", c.Path, m.name, err, l.Steps)
	}
	l.same(l.tree(), is, "undo refused and changed the tree")
}
