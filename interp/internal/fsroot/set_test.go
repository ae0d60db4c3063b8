package fsroot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

// tree makes what the lines describe below a new directory: "dir/",
// "file=content", "link -> target", "fifo|". {D} stands for that directory.
func tree(t testing.TB, lines ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		line = strings.ReplaceAll(line, "{D}", dir)
		name, content, file := strings.Cut(line, "=")
		link, target, symlink := strings.Cut(line, " -> ")
		fifo, _, isFIFO := strings.Cut(line, "|")
		var err error
		switch {
		case symlink:
			err = os.Symlink(target, filepath.Join(dir, link))
		case file:
			err = os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644)
		case isFIFO:
			err = unix.Mkfifo(filepath.Join(dir, fifo), 0o644)
		default:
			err = os.MkdirAll(filepath.Join(dir, line), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func openSet(t testing.TB, roots ...string) *Set {
	t.Helper()
	s, err := New(roots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func isLinkError(err error) bool { return errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) }

func TestNewRoots(t *testing.T) {
	t.Parallel()
	dir := tree(t, "r/sub/", "s/", "file=x", "l -> r", "ll -> l", "dangling -> nowhere", "circle -> circle", "top -> /")
	at := func(p string) string { return filepath.Join(dir, p) }
	for _, tc := range []struct {
		name  string
		roots []string
		want  []string // physical paths, none for an error
		fails bool
	}{
		{"none", nil, nil, false},
		{"two", []string{at("r"), at("s")}, []string{at("r"), at("s")}, false},
		{"not clean", []string{at("s") + "/../r/"}, []string{at("r")}, false},
		{"through a link", []string{at("l")}, []string{at("r")}, false},
		{"through links", []string{at("ll/sub")}, []string{at("r/sub")}, false},
		{"missing", []string{at("none"), at("none/below"), at("r")}, []string{at("r")}, false},
		{"a dangling link", []string{at("dangling")}, nil, false},
		{"a file", []string{at("file")}, nil, true},
		{"below a file", []string{at("file/sub")}, nil, true},
		{"a link in a circle", []string{at("circle")}, nil, true},
		{"relative", []string{"r"}, nil, true},
		{"empty", []string{""}, nil, true},
		{"the whole file system", []string{"/"}, nil, true},
		{"the whole file system, spelled otherwise", []string{"//../."}, nil, true},
		{"the whole file system, through a link", []string{at("top")}, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, err := New(tc.roots)
			if (err != nil) != tc.fails {
				t.Fatalf("error %v, want one: %t", err, tc.fails)
			}
			if err != nil {
				return
			}
			defer s.Close()
			var got []string
			for _, r := range s.Roots() {
				got = append(got, r.Path)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("roots %q, want %q", got, tc.want)
			}
		})
	}
}

// TestRootThroughLink: below it only the physical path leads anywhere.
func TestRootThroughLink(t *testing.T) {
	t.Parallel()
	dir := tree(t, "r/sub/", "l -> r")
	s := openSet(t, filepath.Join(dir, "l"))
	if r := s.Roots()[0]; r.Path != filepath.Join(dir, "r") || r.Spelled != filepath.Join(dir, "l") {
		t.Errorf("root %+v", r)
	}
	if _, err := s.OpenDir(filepath.Join(dir, "r/sub")); err != nil {
		t.Error(err)
	}
	if _, err := s.OpenDir(filepath.Join(dir, "l/sub")); !errors.Is(err, ErrOutside) {
		t.Errorf("the spelled path: %v, want %v", err, ErrOutside)
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	dir := tree(t, "a/in/", "ab/")
	s := openSet(t, filepath.Join(dir, "a"), filepath.Join(dir, "a/in"))
	for _, tc := range []struct {
		path, root, rel string
	}{
		{"a", "a", "."},
		{"a/x/y", "a", "x/y"},
		{"a/in", "a/in", "."},
		{"a/in/x", "a/in", "x"},
		{"a/inner", "a", "inner"},
		{"ab", "", ""},
		{"", "", ""},
	} {
		r, rel, ok := s.Locate(filepath.Join(dir, tc.path))
		if ok != (tc.root != "") || ok && (r.Path != filepath.Join(dir, tc.root) || rel != tc.rel) {
			t.Errorf("%q: %v, %q, %t; want root %q, %q", tc.path, r, rel, ok, tc.root, tc.rel)
		}
	}
	if _, _, ok := s.Locate("/"); ok {
		t.Error("the root directory is inside")
	}
}

func TestOpenParent(t *testing.T) {
	t.Parallel()
	dir := tree(t, "r/in/", "r/sub/", "file=x")
	r := filepath.Join(dir, "r")
	s := openSet(t, r, filepath.Join(r, "in"))
	for _, p := range []string{"sub", "missing", "in"} {
		d, name, err := s.OpenParent(filepath.Join(r, p))
		if err != nil || d.Path != r || name != p {
			t.Errorf("%s: %v, %q, %v", p, d, name, err)
		}
	}
	if _, _, err := s.OpenParent(r); err == nil {
		t.Error("the parent of a root was opened")
	}
	if _, _, err := s.OpenParent(filepath.Join(dir, "file")); !errors.Is(err, ErrOutside) {
		t.Errorf("beside a root: %v", err)
	}
	if _, _, err := s.OpenParent("/"); err == nil {
		t.Error("the parent of / was opened")
	}
}

// openers are both ways to open a directory below another.
var openers = map[string]func(int, string) (int, error){"openBeneath": openBeneath, "openByComponent": openByComponent}

// TestLinksRefused puts a link in each component. That the path itself leads
// somewhere proves that it is the link that is refused.
func TestLinksRefused(t *testing.T) {
	t.Parallel()
	dir := tree(t,
		"r/a/b/c/", "out/b/c/",
		"r/l1 -> {D}/out", "r/l2 -> ../out", "r/a/l -> b", "r/a/b/l -> c", "r/self -> .", "r/a/up -> ../..", "r/proc -> /proc/self/cwd",
	)
	r := filepath.Join(dir, "r")
	paths := []string{
		"l1", "l1/b", "l1/b/c", "l2", "l2/b", "a/l", "a/l/c", "a/b/l", "self", "self/a", "a/up", "a/up/out", "a/up/r", "proc",
	}
	for how, open := range openers {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := openSet(t, r)
			fd := s.roots[0].dir.fd
			for _, p := range paths {
				if info, err := os.Stat(filepath.Join(r, p)); err != nil || !info.IsDir() {
					t.Errorf("%s leads to no directory, which proves nothing: %v", p, err)
				}
				if got, err := open(fd, p); !isLinkError(err) {
					t.Errorf("%s: %d, %v; want ELOOP or ENOTDIR", p, got, err)
				}
			}
		})
	}
	t.Run("OpenDir", func(t *testing.T) {
		t.Parallel()
		s := openSet(t, r)
		for range 2 { // the second time with parents in the cache
			for _, p := range paths {
				if _, err := s.OpenDir(filepath.Join(r, p)); !isLinkError(err) {
					t.Errorf("%s: %v", p, err)
				}
			}
			for _, p := range []string{"a", "a/b", "a/b/c"} {
				if _, err := s.OpenDir(filepath.Join(r, p)); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// TestOpenersAgree compares both ways on every short path over a tree with
// everything in it: they open the same directory or both refuse.
func TestOpenersAgree(t *testing.T) {
	t.Parallel()
	dir := tree(t, "r/a/a/", "r/a/f=x", "r/a/l -> a", "r/f=x", "r/l -> a", "r/o -> ..", "r/p|", "a/")
	s := openSet(t, filepath.Join(dir, "r"))
	fd := s.roots[0].dir.fd
	names := []string{"a", "f", "l", "o", "p", "none", ".."}
	paths := slices.Clone(names)
	for _, x := range names {
		for _, y := range names {
			paths = append(paths, x+"/"+y)
		}
	}
	opened := 0
	for _, p := range paths {
		if slices.Contains(strings.Split(p, "/"), "..") && p != ".." && !strings.HasPrefix(p, "../") {
			continue // not a physical path: nobody may ask
		}
		one, err1 := openBeneath(fd, p)
		two, err2 := openByComponent(fd, p)
		if (err1 == nil) != (err2 == nil) {
			t.Errorf("%s: %v and %v", p, err1, err2)
		}
		if err1 != nil || err2 != nil {
			// The kernel says ELOOP of a link where the walk finds no directory.
			if IsMissing(err1) != IsMissing(err2) && !isLinkError(err1) {
				t.Errorf("%s: fails with %v and with %v", p, err1, err2)
			}
			continue
		}
		opened++
		st1, _ := StampFD(one)
		st2, _ := StampFD(two)
		if st1 != st2 {
			t.Errorf("%s: two different directories", p)
		}
		unix.Close(one)
		unix.Close(two)
	}
	if opened != 2 { // a and a/a
		t.Errorf("%d paths were opened, want 2", opened)
	}
}

// TestOpenByComponentIsStrict: what is no physical path is refused.
func TestOpenByComponentIsStrict(t *testing.T) {
	t.Parallel()
	dir := tree(t, "r/a/b/")
	s := openSet(t, filepath.Join(dir, "r"))
	for _, p := range []string{"", ".", "..", "a/..", "a/../a", "a//b", "/a", "a/", "./a"} {
		if fd, err := openByComponent(s.roots[0].dir.fd, p); err != unix.EXDEV {
			t.Errorf("%q: %d, %v; want EXDEV", p, fd, err)
		}
	}
}

// TestNeverAboveTheRoot tries paths with dots, which nobody should ask for.
func TestNeverAboveTheRoot(t *testing.T) {
	t.Parallel()
	dir := tree(t, "r/a/", "out/")
	r := filepath.Join(dir, "r")
	s := openSet(t, r)
	for range 2 {
		for _, p := range []string{"/..", "/../out", "/a/../../out", "/a/../..", "/a/.."} {
			d, err := s.OpenDir(r + p)
			if err != nil {
				continue
			}
			if st, _ := d.Stamp(); st != stampAt(t, r) && st != stampAt(t, filepath.Join(r, "a")) {
				t.Errorf("%s was opened", p)
			}
		}
	}
	if _, err := s.OpenDir(filepath.Join(dir, "out")); !errors.Is(err, ErrOutside) {
		t.Errorf("outside: %v", err)
	}
}

func stampAt(t testing.TB, path string) changeset.Stamp {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return StampOf(&st)
}

// TestCacheEviction opens more directories than are kept, twice, in an order
// that lets parents go before their children.
func TestCacheEviction(t *testing.T) {
	t.Parallel()
	dir := tree(t, "r/")
	r := filepath.Join(dir, "r")
	var paths []string
	for i := range maxOpen + 50 {
		p := filepath.Join(r, fmt.Sprint(i), "sub")
		if err := os.MkdirAll(p, 0o755); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, filepath.Dir(p), p)
	}
	s := openSet(t, r)
	check := func(p string) {
		t.Helper()
		d, err := s.OpenDir(p)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := d.Stamp(); err != nil || !st.SameObject(stampAt(t, p)) {
			t.Fatalf("%s: another directory, %v", p, err)
		}
		if len(s.cache) > maxOpen || s.lru.Len() != len(s.cache) {
			t.Fatalf("%d directories are open, %d in the list; at most %d may", len(s.cache), s.lru.Len(), maxOpen)
		}
	}
	for _, p := range paths {
		check(p)
	}
	for _, p := range slices.Backward(paths) {
		check(p)
	}
	// One that is used all the time stays.
	first := s.cache[paths[0]].Value.(*Dir)
	for _, p := range paths {
		check(p)
		check(paths[0])
	}
	if s.cache[paths[0]].Value.(*Dir) != first {
		t.Error("the directory that was used all the time was opened again")
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	dir := tree(t, "r/a/b/", "r/ab/", "r/c/b/")
	r := filepath.Join(dir, "r")
	s := openSet(t, r)
	open := func(p string) changeset.Stamp {
		t.Helper()
		d, err := s.OpenDir(filepath.Join(r, p))
		if err != nil {
			t.Fatal(err)
		}
		st, err := d.Stamp()
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	a, b, ab, cb := open("a"), open("a/b"), open("ab"), open("c/b")
	if err := unix.Renameat(unix.AT_FDCWD, r+"/a", unix.AT_FDCWD, r+"/old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(r+"/c", r+"/a"); err != nil {
		t.Fatal(err)
	}
	s.Forget(filepath.Join(r, "a"))
	if open("a").SameObject(a) || open("a/b").SameObject(b) || !open("a/b").SameObject(cb) {
		t.Error("what was forgotten is still what it was")
	}
	if _, kept := s.cache[filepath.Join(r, "ab")]; !kept || !open("ab").SameObject(ab) {
		t.Error("a name that only begins alike was forgotten")
	}
	s.Forget("/")
	if len(s.cache) != 0 || s.lru.Len() != 0 {
		t.Errorf("%d are kept after all were forgotten", len(s.cache))
	}
	open("ab")
}

func TestLstat(t *testing.T) {
	t.Parallel()
	dir := tree(t, "r/a/", "r/a/f=abc", "r/l -> a", "r/p|", "out/")
	r := filepath.Join(dir, "r")
	s := openSet(t, r)
	for p, kind := range map[string]changeset.Kind{"": changeset.Dir, "a": changeset.Dir, "a/f": changeset.File, "l": changeset.Symlink, "p": changeset.Other} {
		st, err := s.Lstat(filepath.Join(r, p))
		if err != nil || st.Kind() != kind || st != stampAt(t, filepath.Join(r, p)) {
			t.Errorf("%q: %+v, %v", p, st, err)
		}
	}
	for _, p := range []string{"none", "none/x", "a/f/x"} {
		if _, err := s.Lstat(filepath.Join(r, p)); !IsMissing(err) {
			t.Errorf("%q: %v", p, err)
		}
	}
	if _, err := s.Lstat(filepath.Join(r, "l/f")); !isLinkError(err) {
		t.Errorf("through a link: %v", err)
	}
	if _, err := s.Lstat(filepath.Join(dir, "out")); !errors.Is(err, ErrOutside) {
		t.Errorf("outside: %v", err)
	}
}

func TestNewLeaksNothing(t *testing.T) {
	dir := tree(t, "r/", "file=x")
	open := func() int {
		n := 0
		for fd := range 1024 {
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
				n++
			}
		}
		return n
	}
	before := open()
	for range 20 {
		if _, err := New([]string{filepath.Join(dir, "r"), filepath.Join(dir, "file")}); err == nil {
			t.Fatal("a file was taken for a root")
		}
	}
	if after := open(); after >= before+20 {
		t.Errorf("%d descriptors are open, %d were", after, before)
	}
	for range 20 {
		s := openSet(t, filepath.Join(dir, "r"))
		s.Close()
	}
	if after := open(); after >= before+40 {
		t.Errorf("%d descriptors are open after Close, %d were", after, before)
	}
}
