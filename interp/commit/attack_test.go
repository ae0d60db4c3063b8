package commit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// attack is what somebody does between the making of a changeset and its
// commit. Each is first shown to matter: without it the commit succeeds.
var attacks = []struct {
	name   string
	before string
	edit   func(m model)
	attack func(root, outside string) error
	path   string // that the error names
	// The tree after the refused commit, if not the one before.
	left func(m model)
}{
	{"parent swapped for a link", `
		d/ 0755
		d/f 0644 f`,
		func(m model) { m.put("d/g", file(0o644, "g")) },
		func(root, outside string) error {
			return errors.Join(os.Rename(root+"/d", root+"/aside"), os.Symlink(outside, root+"/d"))
		}, "d/g",
		func(m model) { m.move("d", "aside"); m.put("d", link("OUTSIDE")) }},
	{"grandparent swapped for a link", `
		d/ 0755
		d/e/ 0755
		d/e/f 0644 f`,
		func(m model) { m.remove("d/e/f") },
		func(root, outside string) error {
			return errors.Join(os.Rename(root+"/d", root+"/aside"), os.Symlink(outside, root+"/d"),
				os.Mkdir(outside+"/e", 0o755), os.WriteFile(outside+"/e/f", []byte("f"), 0o644))
		}, "d/e/f",
		func(m model) { m.move("d", "aside"); m.put("d", link("OUTSIDE")) }},
	{"file swapped for a link", `f 0644 f`,
		func(m model) { m["f"].mode = 0o4755 },
		func(root, outside string) error {
			return errors.Join(os.Rename(root+"/f", root+"/aside"), os.Symlink(outside+"/secret", root+"/f"))
		}, "f",
		func(m model) { m.move("f", "aside"); m.put("f", link("OUTSIDE/secret")) }},
	{"file swapped for a hard link", `f 0644 f`,
		func(m model) { m["f"].mode = 0o4755 },
		func(root, outside string) error {
			return errors.Join(os.Rename(root+"/f", root+"/aside"), os.Link(outside+"/secret", root+"/f"))
		}, "f",
		func(m model) { m.move("f", "aside"); m.put("f", file(0o600, "secret")) }},
	{"file written to", `f 0644 f`,
		func(m model) { m.remove("f") },
		func(root, outside string) error { return os.WriteFile(root+"/f", []byte("F"), 0o644) }, "f",
		func(m model) { m.put("f", file(0o644, "F")) }},
	{"replaced file written to", `f 0644 f`,
		func(m model) { m.put("f", file(0o644, "new")) },
		func(root, outside string) error { return os.WriteFile(root+"/f", []byte("F"), 0o644) }, "f",
		func(m model) { m.put("f", file(0o644, "F")) }},
	{"entry added to a directory that is deleted", `
		d/ 0755
		d/f 0644 f`,
		func(m model) { m.remove("d") },
		func(root, outside string) error { return os.WriteFile(root+"/d/extra", []byte("x"), 0o644) }, "d/extra",
		func(m model) { m.put("d/extra", file(0o644, "x")) }},
	{"entry added to a directory that moves", `
		d/ 0755
		d/f 0644 f`,
		func(m model) { m.move("d", "e") },
		func(root, outside string) error { return os.WriteFile(root+"/d/extra", []byte("x"), 0o644) }, "d/extra",
		func(m model) { m.put("d/extra", file(0o644, "x")) }},
	{"file created at the place", `d/ 0755`,
		func(m model) { m.put("d/f", file(0o644, "mine")) },
		func(root, outside string) error { return os.WriteFile(root+"/d/f", []byte("theirs"), 0o644) }, "d/f",
		func(m model) { m.put("d/f", file(0o644, "theirs")) }},
	{"dangling link created at the place", `d/ 0755`,
		func(m model) { m.put("d/f", file(0o644, "mine")) },
		func(root, outside string) error { return os.Symlink(outside+"/made", root+"/d/f") }, "d/f",
		func(m model) { m.put("d/f", link("OUTSIDE/made")) }},
	{"source of a move gone", `f 0644 f`,
		func(m model) { m.move("f", "g") },
		func(root, outside string) error { return os.Remove(root + "/f") }, "f",
		func(m model) { m.remove("f") }},
}

func TestAttacks(t *testing.T) {
	for _, tc := range attacks {
		for _, when := range []string{"never", "before apply", "between check and change"} {
			t.Run(tc.name+"/"+when, func(t *testing.T) {
				t.Parallel()
				before := parse(t, tc.before)
				b := newBed(t, before)
				outside := filepath.Join(filepath.Dir(b.root), "outside")
				if err := os.Mkdir(outside, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(outside+"/secret", []byte("secret"), 0o600); err != nil {
					t.Fatal(err)
				}
				after := before.clone()
				tc.edit(after)
				cs := derive(t, b.root, before, after)
				s := b.open(t)
				strike := func() {
					if err := tc.attack(b.root, outside); err != nil {
						t.Error(err)
					}
				}
				var out state
				switch when {
				case "before apply":
					strike()
					out = dumpDisk(t, outside, nil)
					s.disk.hook = func(p Call) error {
						// Entries of a directory show only once it is taken.
						if strings.HasPrefix(p.Name, begunPrefix) && p.Op == "create" && !strings.HasPrefix(tc.name, "entry added") {
							t.Error("the first change was made before the tree was looked at")
						}
						return nil
					}
				case "between check and change":
					s.disk.hook = func(p Call) error {
						if p.Op == "create" && strings.HasPrefix(p.Name, begunPrefix) && p.After {
							strike()
							out = dumpDisk(t, outside, nil)
						}
						return nil
					}
				}
				_, err := b.apply(t, s, cs)
				if when == "never" {
					if err != nil {
						t.Fatal(err)
					}
					sameTree(t, "after", dumpDisk(t, b.root, nil), after)
					return
				}
				// A descriptor that is open already goes with its directory: the
				// change lands in the one that was looked at, wherever it is now.
				if err == nil && when == "between check and change" && strings.Contains(tc.name, "parent swapped") {
					if got := dumpDisk(t, outside, nil); fmt.Sprint(got) != fmt.Sprint(out) {
						t.Fatalf("outside changed: %v", got)
					}
					return
				}
				var movedErr *MovedError
				if !errors.Is(err, ErrMoved) || !errors.As(err, &movedErr) || errors.Is(err, ErrBlocked) {
					t.Fatalf("error: %v", err)
				}
				if strings.Count(err.Error(), "nothing was changed") > 1 {
					t.Errorf("it says twice that nothing was changed: %v", err)
				}
				if !strings.HasPrefix(movedErr.Path, b.root+"/") || !strings.Contains(err.Error(), tc.path) {
					t.Errorf("error names %s: %v", movedErr.Path, err)
				}
				want := before.clone()
				tc.left(want)
				for _, o := range want {
					o.content = strings.ReplaceAll(o.content, "OUTSIDE", outside)
				}
				sameTree(t, "left", dumpDisk(t, b.root, nil), want)
				if got := dumpDisk(t, outside, nil); fmt.Sprint(got) != fmt.Sprint(out) {
					t.Fatalf("outside changed: %v", got)
				}
				clean(t, s)
			})
		}
	}
}

// TestHardLinks moves names of one file among each other.
func TestHardLinks(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(m model)
	}{
		{"onto its twin", func(m model) { m.move("a", "b") }},
		{"swap twins", func(m model) { m.swap("a", "b") }},
		{"chain", func(m model) { m.move("b", "c"); m.move("a", "b") }},
		{"chain with another", func(m model) { m.move("b", "x"); m.move("a", "b"); m.move("x", "d/c") }},
		{"cycle with another", func(m model) { m.swap("a", "b"); m.swap("b", "other") }},
		{"delete both", func(m model) { m.remove("a"); m.remove("b") }},
		{"replace one", func(m model) { m.put("a", file(0o600, "new")) }},
		{"directory of twins", func(m model) { m.remove("e"); m.move("d", "e") }},
		{"twin into its directory", func(m model) { m.move("a", "d/t") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for n, crashed := 0, true; crashed; n++ {
				before := parse(t, `
					other 0644 other
					d/ 0755
					e/ 0755`)
				b := newBed(t, before)
				before["a"] = &obj{kind: changeset.File, mode: 0o644, content: "twin", orig: "a"}
				if err := os.WriteFile(b.root+"/a", []byte("twin"), 0o644); err != nil {
					t.Fatal(err)
				}
				for _, p := range []string{"b", "d/t", "e/t"} {
					if err := os.Link(b.root+"/a", b.root+"/"+p); err != nil {
						t.Fatal(err)
					}
					before[p] = &obj{kind: changeset.File, mode: 0o644, content: "twin", orig: p}
				}
				after := before.clone()
				tc.edit(after)
				was := dumpDisk(t, b.root, nil)
				cs := derive(t, b.root, before, after)
				s := b.open(t)
				crashed = crashing(s, n, func() {
					if _, err := b.apply(t, s, cs); err != nil {
						t.Fatal(err)
					}
				})
				s.Close()
				s = b.open(t)
				if _, err := s.Recover(RecoverOptions{}); err != nil {
					t.Fatalf("point %d: %v", n, err)
				}
				eitherWay(t, b, s, fmt.Sprint("point ", n), was, before, after, !crashed)
				s.Close()
				os.RemoveAll(b.root)
				os.RemoveAll(b.store)
			}
		})
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	b := newBed(t, model{})
	s, other := b.open(t), b.open(t)
	set := openSet(t, b.root)
	tx, err := s.Begin(set, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var locked *LockedError
	for _, f := range []func() error{
		func() error { _, err := other.Begin(set, Options{}); return err },
		func() error { _, err := other.Recover(RecoverOptions{}); return err },
		func() error { return other.Undo("20260101T000000.000000000Z") },
		func() error { _, err := s.Begin(set, Options{}); return err },
	} {
		if err := f(); !errors.As(err, &locked) || locked.PID != os.Getpid() {
			t.Fatalf("second user: %v", err)
		}
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if tx, err = other.Begin(set, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
}

func TestStoreOfOthers(t *testing.T) {
	t.Parallel()
	dir, _ := filepath.EvalSymlinks(t.TempDir())
	if err := os.Mkdir(dir+"/open", 0o755); err != nil {
		t.Fatal(err)
	}
	os.Chmod(dir+"/open", 0o755)
	if err := os.Symlink("open", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	bad := []string{dir + "/open", dir + "/link", "relative", dir + "/../x"}
	if os.Geteuid() == 0 {
		err := errors.Join(os.Mkdir(dir+"/theirs", 0o700), os.Chown(dir+"/theirs", 12345, 12345))
		switch {
		case errors.Is(err, unix.EINVAL):
			t.Log("another's directory is not tried: this user namespace knows no other user")
		case err != nil:
			t.Fatal(err)
		default:
			bad = append(bad, dir+"/theirs")
		}
	}
	for _, path := range bad {
		if s, err := OpenStore(path); err == nil {
			s.Close()
			t.Errorf("opened %s", path)
		}
	}
	if _, err := os.Lstat(dir + "/open/tx"); err == nil {
		t.Error("something was made in a refused store")
	}
}

// TestImpossible: changesets that contradict themselves are refused, and change
// nothing.
func TestImpossible(t *testing.T) {
	t.Parallel()
	before := parse(t, `
		f 0644 f
		d/ 0755
		d/g 0644 g`)
	b := newBed(t, before)
	set := openSet(t, b.root)
	stamp := func(p string) *changeset.Stamp {
		st, err := set.Lstat(filepath.Join(b.root, p))
		if err != nil {
			t.Fatal(err)
		}
		return &st
	}
	st := func(p string) (*changeset.State, *changeset.Stamp) { s := stamp(p); return s.State(), s }
	dirState := &changeset.State{Kind: changeset.Dir, Mode: 0o755, UID: -1, GID: -1}
	fileState := &changeset.State{Kind: changeset.File, Mode: 0o644, UID: -1, GID: -1}
	fBefore, fStamp := st("f")
	dBefore, dStamp := st("d")
	gBefore, gStamp := st("d/g")
	s := b.open(t)
	for name, changes := range map[string][]changeset.Change{
		"outside":       {{Path: filepath.Dir(b.root) + "/x", After: dirState}},
		"unclean":       {{Path: b.root + "/d/../x", After: dirState}},
		"root itself":   {{Path: b.root, Before: dBefore, Stamp: stamp("."), After: nil}},
		"twice":         {{Path: b.root + "/x", After: dirState}, {Path: b.root + "/x", After: dirState}},
		"no stamp":      {{Path: b.root + "/f", Before: fBefore}},
		"wrong kind":    {{Path: b.root + "/f", Before: dBefore, Stamp: fStamp}},
		"no content":    {{Path: b.root + "/x", After: &changeset.State{Kind: changeset.File, Mode: 0o644, Size: 5}}},
		"device":        {{Path: b.root + "/x", After: &changeset.State{Kind: changeset.Other}}},
		"below nothing": {{Path: b.root + "/no/x", After: dirState}},
		"below a file":  {{Path: b.root + "/f/x", After: dirState}},
		"child stays":   {{Path: b.root + "/d", Before: dBefore, Stamp: dStamp}},
		"moved twice": {{Path: b.root + "/f", Before: fBefore, Stamp: fStamp},
			{Path: b.root + "/x", After: fileState, From: b.root + "/f"}, {Path: b.root + "/y", After: fileState, From: b.root + "/f"}},
		"moved from nothing": {{Path: b.root + "/x", After: fileState, From: b.root + "/no"}},
		"below deleted": {{Path: b.root + "/d", Before: dBefore, Stamp: dStamp},
			{Path: b.root + "/d/g", Before: gBefore, Stamp: gStamp, After: fileState, Content: &changeset.Content{}}},
		"bad mode": {{Path: b.root + "/x", After: &changeset.State{Kind: changeset.Dir, Mode: 0o100755}}},
	} {
		_, err := b.apply(t, s, &changeset.Changeset{Changes: changes})
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
		if errors.Is(err, ErrBlocked) {
			t.Errorf("%s: %v", name, err)
		}
		sameTree(t, name, dumpDisk(t, b.root, nil), before)
		clean(t, s)
	}
	if _, err := b.apply(t, s, &changeset.Changeset{Changes: []changeset.Change{
		{Path: filepath.Dir(b.root) + "/x", After: dirState}}}); !errors.Is(err, fsroot.ErrOutside) {
		t.Errorf("outside: %v", err)
	}
}
