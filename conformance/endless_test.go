package conformance

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"steps.example/interp"
)

// endlessEnv names the directory to work in, in a child of this test.
const endlessEnv = "STEPS_CONFORMANCE_ENDLESS"

// TestIntoItself makes steps read a directory that they write into. Each must
// come to an end, well or not. They run in a child, since nothing else can stop
// one that does not.
func TestIntoItself(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]string{
		"link_dir":               `[{"type": "link_dir", "source": {"base": "var", "path": "d"}, "target": {"base": "var", "path": "d/e"}}]`,
		"link_dir, there":        `[{"type": "link_dir", "source": {"base": "var", "path": "d"}, "target": {"base": "var", "path": "d/sub"}}]`,
		"link_dir, by a link":    `[{"type": "link_dir", "source": {"base": "var", "path": "d"}, "target": {"base": "var", "path": "l/e"}}]`,
		"link_children":          `[{"type": "link_children", "source": {"base": "var", "path": "d"}, "target": {"base": "var", "path": "d/e"}}]`,
		"link_children, itself":  `[{"type": "link_children", "source": {"base": "var", "path": "d"}, "target": {"base": "var", "path": "d"}}]`,
		"copy":                   `[{"type": "copy", "source": {"base": "var", "path": "d"}, "target": {"base": "var", "path": "d/e"}, "recursive": true}]`,
		"copy, there":            `[{"type": "copy", "source": {"base": "var", "path": "d"}, "target": {"base": "var", "path": "d/sub"}, "recursive": true}]`,
		"copy, by a link":        `[{"type": "copy", "source": {"base": "var", "path": "d"}, "target": {"base": "var", "path": "l/e"}, "recursive": true}]`,
		"copy of contents":       `[{"type": "copy", "source": {"base": "var", "path": "d/."}, "target": {"base": "var", "path": "d/e"}, "recursive": true}]`,
		"move":                   `[{"type": "move", "source": {"base": "var", "path": "d"}, "target": {"base": "var", "path": "d/e"}}]`,
		"move, by a link":        `[{"type": "move", "source": {"base": "var", "path": "d"}, "target": {"base": "var", "path": "l/e"}}]`,
		"move_contents":          `[{"type": "move_contents", "source": {"base": "var", "path": "d"}, "target": {"base": "var", "path": "d/e"}}]`,
		"move_contents, there":   `[{"type": "move_contents", "source": {"base": "var", "path": "d"}, "target": {"base": "var", "path": "d/sub"}}]`,
		"move_contents, itself":  `[{"type": "move_contents", "source": {"base": "var", "path": "d"}, "target": {"base": "var", "path": "l"}}]`,
		"permissions, by a link": `[{"type": "set_permissions", "paths": [{"base": "var", "path": "d/up"}], "permissions": "0755"}]`,
		"glob, by a link":        `[{"type": "remove", "paths": [{"base": "var", "path": "**/up/**/up/**/none"}]}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runner{
				Case:  &Case{Steps: []byte(list), Phase: "install", Context: CaseContext{Kind: "formula", Name: "demo", Version: "1.0", OS: "linux"}},
				host:  interp.Machine{},
				state: "unused",
			}
			if dir := os.Getenv(endlessEnv); dir != "" {
				r.root = dir
				planOnly(t, r)
				return
			}
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			tree := Tree{
				"hb/var/d/sub/x": {Type: "file"}, "hb/var/d/y": {Type: "file"}, "hb/var/d/sub/d/z": {Type: "file"},
				"hb/var/l": {Type: "symlink", Target: "d"}, "hb/var/d/up": {Type: "symlink", Target: "."},
				"home": {Type: "dir"}, "tmp": {Type: "dir"},
			}
			if err := tree.Build(dir); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestIntoItself$/^"+filepath.Base(t.Name())+"$")
			cmd.Env = append(os.Environ(), endlessEnv+"="+dir)
			out, err := cmd.CombinedOutput()
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Fatalf("it does not end: %s", list)
			}
			if err != nil {
				t.Errorf("%v\n%.2000s", err, out)
			}
		})
	}
}

func planOnly(t *testing.T, r runner) {
	job, err := r.job()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := interp.MakePlan(t.Context(), job, r.host)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d changes, refused: %v", len(plan.Changes.Changes), plan.Refused)
}
