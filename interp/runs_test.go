package interp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"steps.example/interp/commit"
)

// TestRunsBetweenSteps mixes typed steps with commands that change, replace,
// remove and create the same few paths, and ends well or not: a failure takes
// everything back, and so does undo.
func TestRunsBetweenSteps(t *testing.T) {
	t.Parallel()
	needJail(t)
	base := newWorld(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		w := &world{t: t, dir: filepath.Join(base.dir, fmt.Sprint(n))}
		for _, line := range []string{"hb/var/a=old a", "hb/var/d/x=old x", "hb/var/l -> a", "hb/etc/", "home/", "tmp/", "hb/Cellar/demo/1.0/"} {
			w.make(line)
		}
		defer os.RemoveAll(w.dir)
		store, err := commit.OpenStore(w.at("state"))
		if err != nil {
			rt.Fatal(err)
		}
		defer store.Close()
		w.store = store
		before := w.listing()

		names := rapid.SampledFrom([]string{"a", "b", "d", "d/x", "d/y", "l"})
		var list []string
		for range rapid.IntRange(1, 5).Draw(rt, "steps") {
			p, q := names.Draw(rt, "p"), names.Draw(rt, "q")
			list = append(list, rapid.SampledFrom([]string{
				fmt.Sprintf(`{"type": "write", "path": {"base": "var", "path": %q}, "content": "typed", "overwrite": true}`, p),
				fmt.Sprintf(`{"type": "remove", "paths": [{"base": "var", "path": %q}], "recursive": true}`, p),
				fmt.Sprintf(`{"type": "mkdir_p", "path": {"base": "var", "path": %q}}`, p),
				fmt.Sprintf(`{"type": "move", "source": {"base": "var", "path": %q}, "target": {"base": "var", "path": %q}, "overwrite": true}`, p, q),
				sh("echo more >>%s", p), sh("rm -rf %s", p), sh("mkdir -p %s", p), sh("mv -f %s %s 2>/dev/null", p, q),
				sh("chmod 0700 %s", p), sh("ln -sfn target %s", p), sh("echo new >t; mv -f t %s 2>/dev/null", p),
			}).Draw(rt, "step"))
		}
		if rapid.Bool().Draw(rt, "fails") {
			list = append(list, `{"type": "run", "command": {"path": "/bin/false"}}`)
		}
		doc := "[" + strings.Join(list, ",\n") + "]"
		done, err := w.apply(w.job(doc))
		if err == nil && done.Receipt != nil {
			if drift, err := store.Verify(done.Receipt); err != nil || len(drift) > 0 {
				rt.Fatalf("verify after apply: %v, %v\n%s", drift, err, doc)
			}
			if err := store.Undo(done.Receipt.ID); err != nil {
				rt.Fatalf("undo: %v\n%s", err, doc)
			}
		}
		if after := w.listing(); after != before {
			rt.Fatalf("apply said %v; the tree is not as before, but\n%s\nand was\n%s\n%s", err, after, before, doc)
		}
	})
}

// sh is a run step that works in var and may fail.
func sh(script string, names ...any) string {
	return fmt.Sprintf(`{"type": "run", "command": {"path": "/bin/sh"}, "args": ["-c", %q], "chdir": {"base": "var", "path": "."}, "allow_failure": true}`,
		fmt.Sprintf(script, names...))
}
