package view

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// build makes a tree from lines: "dir/", "file=content", "link -> target".
// {out} stands for a directory beside the root.
func build(t *testing.T, lines ...string) (root, out string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, out = filepath.Join(base, "root"), filepath.Join(base, "out")
	for _, dir := range []string{root, out} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(out, "secret"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		line = strings.NewReplacer("{out}", out, "{root}", root).Replace(line)
		var err error
		if name, target, ok := strings.Cut(line, " -> "); ok {
			err = os.Symlink(target, filepath.Join(root, name))
		} else if name, content, ok := strings.Cut(line, "="); ok {
			err = os.WriteFile(filepath.Join(root, name), []byte(content), 0o644)
		} else {
			err = os.MkdirAll(filepath.Join(root, line), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root, out
}

func open(t *testing.T, roots ...string) *View {
	t.Helper()
	set, err := fsroot.New(roots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	v, err := New(set, Options{Umask: 0o022, Missing: roots})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestLinksThatLeadOut tries every operation through links that leave the root,
// each of which would have worked by plain path names.
func TestLinksThatLeadOut(t *testing.T) {
	t.Parallel()
	root, out := build(t, "in/", "in/f=x", "abs -> {out}", "rel -> ../out", "file -> {out}/secret", "in/up -> ../../out",
		"via -> in/up", "new -> {out}/new", "inside -> {root}/in")
	ops := map[string]func(*View, string) error{
		"stat":     func(v *View, p string) error { _, err := v.Stat(p); return err },
		"exists":   func(v *View, p string) error { _, err := v.Exists(p); return err },
		"read":     func(v *View, p string) error { _, err := v.ReadFile(p); return err },
		"list":     func(v *View, p string) error { _, err := v.ReadDir(filepath.Dir(p)); return err },
		"mkdir":    func(v *View, p string) error { return v.Mkdir(p+"/d", 0o777) },
		"write":    func(v *View, p string) error { return v.Write(p, nil, 0o666) },
		"copyfrom": func(v *View, p string) error { return v.CopyFile(p, root+"/in/copy") },
		"copyto":   func(v *View, p string) error { return v.CopyFile(root+"/in/f", p) },
		"chmod":    func(v *View, p string) error { return v.Chmod(p, 0o777) },
		"chown":    func(v *View, p string) error { return v.Chown(p, 0, 0, true) },
		"touch":    func(v *View, p string) error { return v.Touch(p) },
		"real":     func(v *View, p string) error { _, err := v.Real(p); return err },
	}
	for _, p := range []string{"abs/secret", "rel/secret", "in/up/secret", "via/secret", "inside/up/secret"} {
		if _, err := os.ReadFile(filepath.Join(root, p)); err != nil {
			t.Fatalf("control: %s must be readable by name: %v", p, err)
		}
		for name, op := range ops {
			v := open(t, root)
			if err := op(v, filepath.Join(root, p)); !errors.Is(err, ErrOutside) {
				t.Errorf("%s %s: got %v, want ErrOutside", name, p, err)
			} else if !strings.Contains(err.Error(), "symlink") {
				t.Errorf("%s %s: the message names no link: %v", name, p, err)
			}
			if cs, err := v.Changes(); err != nil || !cs.Empty() {
				t.Errorf("%s %s: changes %v, %v", name, p, cs, err)
			}
		}
		for name, op := range map[string]func(*View, string) error{
			"remove": (*View).Remove, "removeall": (*View).RemoveAll,
			"rename": func(v *View, p string) error { return v.Rename(p, root+"/in/x") },
			"onto":   func(v *View, p string) error { return v.Rename(root+"/in/f", p) },
			"link":   func(v *View, p string) error { return v.Symlink("x", p+"2") },
		} {
			if err := op(open(t, root), filepath.Join(root, p)); !errors.Is(err, ErrOutside) {
				t.Errorf("%s %s: got %v, want ErrOutside", name, p, err)
			}
		}
	}
	for _, p := range []string{"file", "new"} {
		if err := open(t, root).Write(filepath.Join(root, p), []byte("x"), 0o666); !errors.Is(err, ErrOutside) {
			t.Errorf("write through %s: got %v, want ErrOutside", p, err)
		}
	}
	if data, _ := os.ReadFile(filepath.Join(out, "secret")); string(data) != "secret" {
		t.Error("the file outside changed")
	}
}

func TestLinksInsideWork(t *testing.T) {
	t.Parallel()
	root, _ := build(t, "a/", "a/f=x", "abs -> {root}/a", "rel -> a", "chain -> abs", "dangling -> a/new", "up -> a/../a/f")
	v := open(t, root)
	for _, p := range []string{"abs/f", "rel/f", "chain/f", "up"} {
		if data, err := v.ReadFile(filepath.Join(root, p)); err != nil || string(data) != "x" {
			t.Errorf("%s: %q, %v", p, data, err)
		}
	}
	if err := v.Write(root+"/dangling", []byte("new"), 0o666); err != nil {
		t.Fatal(err)
	}
	if data, err := v.ReadFile(root + "/a/new"); err != nil || string(data) != "new" {
		t.Errorf("written through a dangling link: %q, %v", data, err)
	}
	for range 50 {
		root += "/."
	}
	if st, err := v.Stat(root); err != nil || st.Kind != changeset.Dir {
		t.Errorf("dots: %v, %v", st, err)
	}
}

func TestLinkCircle(t *testing.T) {
	t.Parallel()
	root, _ := build(t, "x -> y", "y -> x")
	if _, err := open(t, root).Stat(root + "/x"); !errors.Is(err, unix.ELOOP) {
		t.Errorf("got %v, want ELOOP", err)
	}
}

func TestSecondRoot(t *testing.T) {
	t.Parallel()
	root, out := build(t, "l -> {out}/secret", "up -> ../out/secret")
	v := open(t, root, out)
	for _, p := range []string{"l", "up"} {
		if data, err := v.ReadFile(filepath.Join(root, p)); err != nil || string(data) != "secret" {
			t.Errorf("a link from one root into another, %s: %q, %v", p, data, err)
		}
	}
}

func TestSpelledRoot(t *testing.T) {
	t.Parallel()
	root, out := build(t, "f=x")
	alias := filepath.Join(out, "alias")
	if err := os.Symlink(root, alias); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(alias+"/f", root+"/l"); err != nil {
		t.Fatal(err)
	}
	v := open(t, alias)
	for _, p := range []string{alias + "/f", alias + "/l", root + "/l"} {
		if data, err := v.ReadFile(p); err != nil || string(data) != "x" {
			t.Errorf("%s: %q, %v", p, data, err)
		}
	}
}

func TestMissingRoot(t *testing.T) {
	t.Parallel()
	root, _ := build(t)
	missing := root + "-missing"
	v := open(t, root, missing)
	if ok, err := v.Exists(missing + "/x"); ok || err != nil {
		t.Errorf("exists: %v, %v", ok, err)
	}
	if err := v.Mkdir(missing, 0o777); err == nil {
		t.Error("a root was created")
	}
}

// TestTreeThatMoves changes the real tree behind the view's back.
func TestTreeThatMoves(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		look  func(v *View, root string) error
		move  func(root, out string) error
		again func(v *View, root string) error
	}{
		{
			"file rewritten",
			func(v *View, root string) error { _, err := v.Stat(root + "/d/f"); return err },
			func(root, _ string) error { return os.WriteFile(root+"/d/f", []byte("longer than before"), 0o644) },
			func(v *View, root string) error { _, err := v.ReadFile(root + "/d/f"); return err },
		},
		{
			"directory swapped for a link",
			func(v *View, root string) error { _, err := v.Stat(root + "/d"); return err },
			func(root, out string) error {
				return errors.Join(os.Rename(root+"/d", root+"/was"), os.Symlink(out, root+"/d"))
			},
			func(v *View, root string) error { _, err := v.ReadFile(root + "/d/secret"); return err },
		},
		{
			"directory swapped for another",
			func(v *View, root string) error { _, err := v.Stat(root + "/d"); return err },
			func(root, _ string) error {
				return errors.Join(os.Rename(root+"/d", root+"/was"), os.Mkdir(root+"/d", 0o755))
			},
			func(v *View, root string) error { _, err := v.ReadDir(root + "/d"); return err },
		},
		{
			"entry gone after it was listed",
			func(v *View, root string) error { _, err := v.ReadDir(root + "/d"); return err },
			func(root, _ string) error { return os.Remove(root + "/d/f") },
			func(v *View, root string) error { _, err := v.Stat(root + "/d/f"); return err },
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			root, out := build(t, "d/", "d/f=x")
			v := open(t, root)
			if err := tc.look(v, root); err != nil {
				t.Fatal(err)
			}
			if err := tc.move(root, out); err != nil {
				t.Fatal(err)
			}
			if err := tc.again(v, root); !errors.Is(err, ErrMoved) {
				t.Errorf("got %v, want ErrMoved", err)
			}
		})
	}
}

// TestAnswersAreRemembered: what was seen once stays so, whatever happens on
// disk, so that nothing is decided on one answer and done on another.
func TestAnswersAreRemembered(t *testing.T) {
	t.Parallel()
	root, _ := build(t, "d/")
	v := open(t, root)
	if ok, _ := v.Exists(root + "/d/f"); ok {
		t.Fatal("exists")
	}
	if err := os.WriteFile(root+"/d/f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if ok, _ := v.Exists(root + "/d/f"); ok {
		t.Error("the second look gave another answer than the first")
	}
}

func TestUnwritableDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	root, _ := build(t, "d/")
	if err := os.Chmod(root+"/d", 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(root+"/d", 0o755) })
	if err := open(t, root).Mkdir(root+"/d/x", 0o777); err == nil || !strings.Contains(err.Error(), "permission") {
		t.Errorf("got %v, want a refusal for want of permission", err)
	}
}

// TestNothingOnDisk: whatever the view is told to do, the disk stays as it is.
func TestNothingOnDisk(t *testing.T) {
	t.Parallel()
	root, _ := build(t, "d/", "d/f=x", "l -> d")
	before := listing(t, root)
	v := open(t, root)
	for _, err := range []error{
		v.Mkdir(root+"/n", 0o777), v.Write(root+"/n/f", []byte("y"), 0o666), v.Rename(root+"/d", root+"/n/d"),
		v.RemoveAll(root + "/l"), v.Chmod(root+"/n/d/f", 0o600), v.CopyFile(root+"/n/d/f", root+"/c"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := v.Changes(); err != nil {
		t.Fatal(err)
	}
	if after := listing(t, root); after != before {
		t.Errorf("the disk changed from\n%sto\n%s", before, after)
	}
}

func listing(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(p + " " + info.Mode().String() + " " + info.ModTime().String() + "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
