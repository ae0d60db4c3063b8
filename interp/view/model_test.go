package view

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// TestViewAgreesWithTheKernel does random operations on a view of one tree and
// on an equal real tree: they must succeed and fail alike, with the same error,
// and the changes of the view must describe the real outcome.
func TestViewAgreesWithTheKernel(t *testing.T) {
	t.Parallel()
	old := unix.Umask(0o022)
	t.Cleanup(func() { unix.Umask(old) })
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		a, b := filepath.Join(base, fmt.Sprint(n, "a")), filepath.Join(base, fmt.Sprint(n, "b"))
		for _, root := range []string{a, b} {
			if err := os.Mkdir(root, 0o755); err != nil {
				rt.Fatal(err)
			}
		}
		defer os.RemoveAll(a)
		defer os.RemoveAll(b)
		for range rapid.IntRange(0, 8).Draw(rt, "seeds") {
			op := drawOp(rt)
			_ = op.disk(a)
			_ = op.disk(b)
		}
		set, err := fsroot.New([]string{a})
		if err != nil {
			rt.Fatal(err)
		}
		defer set.Close()
		v, err := New(set, Options{Umask: 0o022})
		if err != nil {
			rt.Fatal(err)
		}
		before := snapshot(rt, a)
		for i := range rapid.IntRange(1, 10).Draw(rt, "ops") {
			op := drawOp(rt)
			v.SetStep(i + 1)
			got, want := op.view(v, a), op.disk(b)
			if (got == nil) != (want == nil) {
				rt.Fatalf("%s: the view says %v, the kernel %v", op, got, want)
			}
		}
		cs, err := v.Changes()
		if err != nil {
			rt.Fatal(err)
		}
		if got, want := model(rt, before, cs, a), snapshot(rt, b); !equal(got, want) {
			rt.Fatalf("the view ends as\n%v\nthe disk as\n%v\nchanges %v", got, want, cs)
		}
		if after := snapshot(rt, a); !equal(after, before) {
			rt.Fatalf("the disk below the view changed: %v, %v", before, after)
		}
	})
}

type operation struct{ kind, a, b string }

func (o operation) String() string { return o.kind + " " + o.a + " " + o.b }

func drawOp(t *rapid.T) operation {
	names := []string{"a", "b", "c", "a/x", "a/y", "b/x", "a/x/z", "b/../c", "l", "l/x", "m"}
	return operation{
		kind: rapid.SampledFrom([]string{"mkdir", "write", "write", "symlink", "rename", "rename", "rename", "remove", "removeall", "chmod", "copy"}).Draw(t, "kind"),
		a:    rapid.SampledFrom(names).Draw(t, "a"),
		b:    rapid.SampledFrom(names).Draw(t, "b"),
	}
}

func (o operation) view(v *View, root string) error {
	a, b := root+"/"+o.a, root+"/"+o.b
	switch o.kind {
	case "mkdir":
		return v.Mkdir(a, 0o777)
	case "write":
		return v.Write(a, []byte(o.b), 0o666)
	case "symlink":
		return v.Symlink(o.b, a)
	case "rename":
		return v.Rename(a, b)
	case "remove":
		return v.Remove(a)
	case "removeall":
		return v.RemoveAll(a)
	case "chmod":
		return v.Chmod(a, 0o750)
	}
	return v.CopyFile(a, b)
}

func (o operation) disk(root string) error {
	a, b := root+"/"+o.a, root+"/"+o.b
	switch o.kind {
	case "mkdir":
		return unix.Mkdir(a, 0o777)
	case "write":
		return os.WriteFile(a, []byte(o.b), 0o666)
	case "symlink":
		return unix.Symlink(o.b, a)
	case "rename":
		return unix.Rename(a, b)
	case "remove":
		if err := unix.Unlink(a); !errors.Is(err, unix.EISDIR) {
			return err
		}
		return unix.Rmdir(a)
	case "removeall":
		if _, err := os.Lstat(a); err != nil {
			return nil
		}
		return os.RemoveAll(a)
	case "chmod":
		return unix.Chmod(a, 0o750)
	}
	data, err := os.ReadFile(a)
	if err != nil {
		return err
	}
	info, err := os.Stat(a)
	if err != nil {
		return err
	}
	fd, err := unix.Open(b, unix.O_WRONLY|unix.O_CREAT, uint32(info.Mode().Perm()))
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, 0); err != nil {
		return err
	}
	_, err = unix.Write(fd, data)
	return err
}

type picture map[string]string

func equal(a, b picture) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

func snapshot(t *rapid.T, root string) picture {
	out := picture{}
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(p, root+"/")
		switch {
		case d.IsDir():
			out[rel] = fmt.Sprintf("dir %o", info.Mode().Perm())
		case d.Type()&os.ModeSymlink != 0:
			target, _ := os.Readlink(p)
			out[rel] = "link " + target
		default:
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			out[rel] = fmt.Sprintf("file %o %s", info.Mode().Perm(), data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// model applies a changeset to a picture.
func model(t *rapid.T, before picture, cs *changeset.Changeset, root string) picture {
	out := picture{}
	for k, v := range before {
		out[k] = v
	}
	rel := func(p string) string { return strings.TrimPrefix(p, root+"/") }
	content := func(p string) string {
		_, rest, _ := strings.Cut(before[rel(p)], " ")
		_, data, _ := strings.Cut(rest, " ")
		return data
	}
	for _, c := range cs.Changes {
		if c.Before != nil != (before[rel(c.Path)] != "") {
			t.Fatalf("%s: before is %v, but it was %q", c.Path, c.Before, before[rel(c.Path)])
		}
		if c.After == nil {
			delete(out, rel(c.Path))
			continue
		}
		switch c.After.Kind {
		case changeset.Dir:
			out[rel(c.Path)] = fmt.Sprintf("dir %o", c.After.Mode)
		case changeset.Symlink:
			out[rel(c.Path)] = "link " + c.After.Target
		case changeset.File:
			data := ""
			switch {
			case c.Content != nil && c.Content.Origin != nil:
				data = content(c.Content.Origin.Path)
			case c.Content != nil:
				data = string(c.Content.Bytes)
			case c.From != "":
				data = content(c.From)
			default:
				data = content(c.Path)
			}
			out[rel(c.Path)] = fmt.Sprintf("file %o %s", c.After.Mode, data)
		}
	}
	return out
}
