package interp_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"steps.example/interp"
	"steps.example/interp/commit"
)

// TestKeepLaws: whatever is left alone, and whatever steps move, remove and write
// around it, is as it was; nothing that was not to be removed is lost; and undo
// takes all of it back.
func TestKeepLaws(t *testing.T) {
	t.Parallel()
	tree := []string{"hb/var/a/x=ax", "hb/var/a/y=ay", "hb/var/a/d/x=adx", "hb/var/b/x=bx", "hb/var/b/d/z=bdz", "hb/var/c=c", "hb/var/l -> a/x"}
	paths := []string{"a", "a/x", "a/y", "a/d", "a/d/x", "b", "b/x", "b/d", "b/d/z", "c", "l", "n", "n/x"}
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t, tree...)
		defer func() {
			w.store.Close()
			if err := os.RemoveAll(w.dir); err != nil {
				r.Fatal(err)
			}
		}()
		var list []string
		removes := false
		for range rapid.IntRange(1, 4).Draw(r, "steps") {
			p, q := rapid.SampledFrom(paths).Draw(r, "p"), rapid.SampledFrom(paths).Draw(r, "q")
			step := rapid.SampledFrom([]string{
				`{"type": "move", "source": {"base": "var", "path": "%s"}, "target": {"base": "var", "path": "%s"}, "overwrite": true}`,
				`{"type": "move", "source": {"base": "var", "path": "%s"}, "target": {"base": "var", "path": "%s"}, "overwrite": false}`,
				`{"type": "move_contents", "source": {"base": "var", "path": "%s"}, "target": {"base": "var", "path": "%s"}}`,
				`{"type": "remove", "paths": [{"base": "var", "path": "%s"}], "recursive": true}`,
				`{"type": "write", "path": {"base": "var", "path": "%s"}, "content": "new", "overwrite": true}`,
				`{"type": "copy", "source": {"base": "var", "path": "%s"}, "target": {"base": "var", "path": "%s"}, "recursive": true}`,
			}).Draw(r, "step")
			// Moving contents onto files of the same names replaces those.
			removes = removes || !strings.Contains(step, "false")
			args := []any{p, q}
			list = append(list, fmt.Sprintf(step, args[:strings.Count(step, "%s")]...))
		}
		job := w.job("[" + strings.Join(list, ",") + "]")
		kept := rapid.SliceOfNDistinct(rapid.SampledFrom(paths), 1, 2, rapid.ID).Draw(r, "keep")
		before, was := w.listing(), map[string]string{}
		for _, p := range kept {
			job.Target.Keep = append(job.Target.Keep, w.at("hb/var/"+p))
			was[p] = w.below("hb/var/" + p)
		}
		done, err := w.apply(job)
		if err != nil {
			// Where a later step puts something in the way of what is kept, it is
			// commit that refuses, not yet the plan.
			if _, refused := err.(*interp.RefusedError); !refused && !errors.Is(err, commit.ErrMoved) {
				r.Fatalf("%v\nsteps: %s\nkeep: %v", err, list, kept)
			}
			if w.listing() != before {
				r.Fatal("refused, and the tree is not as before")
			}
			return
		}
		for _, p := range kept {
			if now := w.below("hb/var/" + p); now != was[p] {
				r.Fatalf("%s was\n%sand is\n%ssteps: %s\nkeep: %v", p, was[p], now, list, kept)
			}
		}
		if all := w.listing(); !removes {
			for _, content := range []string{"ax", "ay", "adx", "bx", "bdz", "c"} {
				if !strings.Contains(all, " "+content+"\n") {
					r.Fatalf("%s is lost\nsteps: %s\nkeep: %v\n%s", content, list, kept, all)
				}
			}
		}
		if done.Receipt != nil {
			if err := w.store.Undo(done.Receipt.ID); err != nil {
				r.Fatal(err)
			}
		}
		if w.listing() != before {
			r.Fatal("undo does not take it back")
		}
	})
}

// below is the listing of one path and what is in it.
func (w *world) below(p string) string {
	var out strings.Builder
	name := filepath.Join("/", p)
	for line := range strings.Lines(w.listing()) {
		if at, _, _ := strings.Cut(line, " "); at == name || strings.HasPrefix(at, name+"/") {
			out.WriteString(line)
		}
	}
	return out.String()
}
