package scene

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"steps.example/conformance"
	"steps.example/interp/commit"
	"steps.example/interp/jail"
	"steps.example/steps"
)

func TestMain(m *testing.M) {
	if jail.IsHelper() {
		jail.Main()
		return
	}
	os.Exit(m.Run())
}

// Every step type has a scene, or a reason.
func TestComplete(t *testing.T) {
	t.Parallel()
	kinds, names := map[string]bool{}, map[string]bool{}
	for _, s := range All() {
		if names[s.Name] {
			t.Errorf("two scenes are named %s", s.Name)
		}
		names[s.Name] = true
		for _, k := range s.Kinds {
			kinds[k] = true
		}
	}
	for _, typ := range steps.Types {
		_, unsupported := steps.Unsupported(typ)
		switch excuse := Without[typ]; {
		case kinds[string(typ)] && (excuse != "" || unsupported):
			t.Errorf("%s has a scene and a reason for having none", typ)
		case !kinds[string(typ)] && excuse == "" && !unsupported:
			t.Errorf("no scene has %s", typ)
		}
	}
}

// Each scene does what it is meant to do: it changes something, leaves a store that
// is in order, and can be taken back.
func TestScenes(t *testing.T) {
	t.Parallel()
	for _, s := range All() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			if lack := s.Lacks(); lack != "" {
				t.Skip(lack)
			}
			dir := scratch(t)
			w, err := s.Make(dir)
			if err != nil {
				t.Fatal(err)
			}
			store, err := commit.OpenStore(w.State)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			if err := w.Act(context.Background(), store); err != nil {
				t.Fatal(err)
			}
			after, err := w.Take()
			if err != nil {
				t.Fatal(err)
			}
			if same := len(after.Diff(w.Before)) == 0; same != (s.Fails || s.Same) && !s.Commanded() {
				t.Errorf("the tree is as before: %t", same)
			}
			if same := len(w.Promised(after).Diff(w.Promised(w.Before))) == 0; same != (s.Fails || s.Same) {
				t.Errorf("the tree has the same in it as before: %t", same)
			}
			made, err := w.Made(store)
			if err != nil || len(made) > 1 {
				t.Fatalf("%d receipts, %v", len(made), err)
			}
			if len(made) == 1 {
				if drift, err := store.Verify(made[0]); err != nil || len(drift) > 0 {
					t.Errorf("verify: %v, %v", drift, err)
				}
				if err := w.Agree(store); err != nil {
					t.Error(err)
				}
				if err := w.Undo(store, made[0]); err != nil {
					t.Fatal(err)
				}
				back, err := w.Take()
				if err != nil {
					t.Fatal(err)
				}
				if diff := w.Promised(back).Diff(w.Promised(w.Before)); len(diff) > 0 {
					t.Errorf("undo does not give what was before: %q", diff)
				}
			}
			if diff := w.OutsideDiff(); len(diff) > 0 {
				t.Errorf("outside: %q", diff)
			}
		})
	}
}

func scratch(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conformance.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// What a snapshot tells is what can differ.
func TestDiff(t *testing.T) {
	t.Parallel()
	s := Snapshot{"f": {Kind: "file", SHA256: "x", Mode: 0o644, Ino: 3}}
	for name, change := range map[string]func(*Object){
		"kind": func(o *Object) { o.Kind = "dir" }, "content": func(o *Object) { o.SHA256 = "y" },
		"mode": func(o *Object) { o.Mode = 0o600 }, "owner": func(o *Object) { o.UID++ }, "group": func(o *Object) { o.GID++ },
		"time": func(o *Object) { o.MTime++ }, "target": func(o *Object) { o.Target = "t" }, "object": func(o *Object) { o.Ino++ },
		"names": func(o *Object) { o.Names = "f g" }, "count": func(o *Object) { o.Nlink++ }, "attributes": func(o *Object) { o.Xattrs = "a" },
	} {
		o := s["f"]
		change(&o)
		if diff := (Snapshot{"f": o}).Diff(s); len(diff) != 1 || diff[0] == "f: " {
			t.Errorf("%s: %q", name, diff)
		}
	}
	if diff := s.Diff(Snapshot{}); len(diff) != 1 {
		t.Errorf("one more: %q", diff)
	}
	if diff := (Snapshot{}).Diff(s); len(diff) != 1 {
		t.Errorf("one less: %q", diff)
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	chosen, unknown := Pick(All(), []string{"touch old", "mkdir_p deep", "touch", "no such scene"})
	var names []string
	for _, s := range chosen {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, []string{"touch old", "mkdir_p deep", "touch new"}) || !slices.Equal(unknown, []string{"no such scene"}) {
		t.Errorf("chosen %q, unknown %q", names, unknown)
	}
}
