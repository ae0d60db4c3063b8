package conformance

import (
	"errors"
	"path/filepath"
	"testing"

	"steps.example/interp"
	"steps.example/interp/commit"
)

// TestPlantedLinksGrantNothing applies two packages, with nothing approved. The
// first puts a link where a directory that all may write to is missing. The
// second writes where the link leads, by another name: the link must not have
// carried the right there.
func TestPlantedLinksGrantNothing(t *testing.T) {
	t.Parallel()
	before := Tree{
		"hb/etc": {Type: "dir", Mode: "0755"}, "hb/Cellar/other/1.0": {Type: "dir", Mode: "0755"},
		"home/.profile": {Type: "file", Mode: "0644"}, "tmp": {Type: "dir", Mode: "0755"},
	}
	const (
		inHome   = `[{"type": "write", "path": {"base": "home", "path": ".profile"}, "content": "evil", "overwrite": true}]`
		inCellar = `[{"type": "write", "path": {"base": "homebrew_prefix", "path": "Cellar/other/1.0/evil"}, "content": "evil"}]`
	)
	for name, tc := range map[string]struct{ first, second string }{
		"home, asked for at once": {`[]`, inHome},
		"include leads home":      {`[{"type": "symlink", "source": {"base": "home", "path": "."}, "target": {"base": "homebrew_prefix", "path": "include"}}]`, inHome},
		"include leads to the prefix": {
			`[{"type": "symlink", "source": {"base": "relative", "path": "."}, "target": {"base": "homebrew_prefix", "path": "include"}}]`, inCellar,
		},
		"the rack leads to the Cellar": {
			`[{"type": "symlink", "source": {"base": "relative", "path": "."}, "target": {"base": "homebrew_prefix", "path": "Cellar/demo"}}]`, inCellar,
		},
		"etc becomes a link home": {
			`[{"type": "remove", "paths": [{"base": "etc", "path": "."}], "recursive": true},
			  {"type": "symlink", "source": {"base": "home", "path": "."}, "target": {"base": "homebrew_prefix", "path": "etc"}}]`, inHome,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			root := filepath.Join(dir, "root")
			if err := (Tree{"root": {Type: "dir", Mode: "0755"}}).Build(dir); err != nil {
				t.Fatal(err)
			}
			if err := before.Build(root); err != nil {
				t.Fatal(err)
			}
			store, err := commit.OpenStore(filepath.Join(dir, "state"))
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			apply := func(list string) error {
				r := runner{Case: &Case{
					Steps: []byte(list), Phase: "install",
					Context: CaseContext{Kind: "formula", Name: "demo", Version: "1.0", OS: "linux"},
				}, root: root}
				job, err := r.job()
				if err != nil {
					t.Fatal(err)
				}
				job.Target.Approved = nil
				_, err = interp.Apply(t.Context(), job, interp.Machine{}, interp.ApplyOptions{Store: store})
				return err
			}
			if err := apply(tc.first); err != nil {
				t.Logf("the first is refused already: %v", err)
			}
			var refused *interp.RefusedError
			if err := apply(tc.second); !errors.As(err, &refused) {
				t.Errorf("it was written, though nobody approved: %v", err)
			}
		})
	}
}
