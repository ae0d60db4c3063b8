package commit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// obj is an object of a model tree. A content is never edited: a file that is
// written to becomes another object, as it does in a view.
type obj struct {
	kind    changeset.Kind
	mode    uint32
	content string // or a link's target
	mtime   int64  // 0: not part of the state
	orig    string // where it is on disk before; "" for a new one
}

// model is a tree in memory, by path relative to its root.
type model map[string]*obj

func (m model) clone() model {
	out := model{}
	for p, o := range m {
		c := *o
		out[p] = &c
	}
	return out
}

// parse makes a model from lines: "dir/ 0755", "file 0644 text", "link -> target".
func parse(t testing.TB, text string) model {
	m := model{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if name, target, ok := strings.Cut(line, " -> "); ok {
			m[name] = &obj{kind: changeset.Symlink, content: target}
			continue
		}
		fields := strings.SplitN(line, " ", 3)
		var mode uint32
		if _, err := fmt.Sscanf(fields[1], "%o", &mode); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		if name, ok := strings.CutSuffix(fields[0], "/"); ok {
			m[name] = &obj{kind: changeset.Dir, mode: mode}
			continue
		}
		m[fields[0]] = &obj{kind: changeset.File, mode: mode, content: fields[2]}
	}
	return m
}

// make builds the model on disk and marks its objects as being there.
func (m model) make(t testing.TB, root string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	paths := slices.SortedFunc(maps.Keys(m), treeOrder)
	for _, p := range paths {
		o, real := m[p], filepath.Join(root, p)
		switch o.kind {
		case changeset.Dir:
			must(os.Mkdir(real, 0o700))
		case changeset.File:
			must(os.WriteFile(real, []byte(o.content), 0o600))
			must(os.Chmod(real, goMode(o.mode)))
		case changeset.Symlink:
			must(os.Symlink(o.content, real))
		}
		o.orig = p
	}
	for _, p := range slices.Backward(paths) {
		if m[p].kind == changeset.Dir {
			must(os.Chmod(filepath.Join(root, p), goMode(m[p].mode)))
		}
	}
}

func goMode(mode uint32) fs.FileMode {
	out := fs.FileMode(mode & 0o777)
	if mode&changeset.SetUID != 0 {
		out |= fs.ModeSetuid
	}
	if mode&changeset.SetGID != 0 {
		out |= fs.ModeSetgid
	}
	if mode&changeset.Sticky != 0 {
		out |= fs.ModeSticky
	}
	return out
}

// dump renders the model as [dumpDisk] renders a tree.
func (m model) dump() map[string]string {
	out := map[string]string{}
	for p, o := range m {
		if o.kind == changeset.Symlink {
			out[p] = fmt.Sprintf("symlink %q", o.content)
		} else {
			out[p] = fmt.Sprintf("%s %04o %q", o.kind, o.mode, o.content)
		}
		if o.mtime != 0 && o.kind == changeset.File {
			out[p] += fmt.Sprint(" ", o.mtime)
		}
	}
	return out
}

// state is a tree on disk, and the inode numbers in it.
type state struct {
	tree map[string]string
	ino  map[string]uint64
}

func dumpDisk(t testing.TB, root string, want model) state {
	t.Helper()
	s := state{map[string]string{}, map[string]uint64{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		rel, _ := filepath.Rel(root, path)
		if strings.HasPrefix(rel, slotDirStart) {
			return fs.SkipDir // what a receipt keeps
		}
		s.ino[rel] = st.Ino
		mode := uint32(st.Mode) & changeset.PermMask
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			s.tree[rel] = fmt.Sprintf("symlink %q", target)
			return err
		case d.IsDir():
			s.tree[rel] = fmt.Sprintf("dir %04o %q", mode, "")
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			s.tree[rel] = fmt.Sprintf("file %04o %q", mode, data)
			if o := want[rel]; o != nil && o.mtime != 0 {
				s.tree[rel] += fmt.Sprint(" ", info.ModTime().UnixNano())
			}
		default:
			s.tree[rel] = "other"
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// derive makes the changeset that leads from the tree before, which is on disk
// at root, to the model after.
func derive(t testing.TB, root string, before, after model) *changeset.Changeset {
	t.Helper()
	set, err := fsroot.New([]string{root})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	cs := &changeset.Changeset{}
	paths := map[string]bool{}
	for p := range before {
		paths[p] = true
	}
	for p := range after {
		paths[p] = true
	}
	away := map[string]bool{}
	for p, o := range after {
		away[o.orig] = away[o.orig] || p != o.orig
	}
	for p := range paths {
		b, a := before[p], after[p]
		c := changeset.Change{Path: filepath.Join(root, p)}
		if b != nil {
			st, err := set.Lstat(c.Path)
			if err != nil {
				t.Fatal(err)
			}
			c.Stamp, c.Before = &st, st.State()
			if b.kind == changeset.Symlink {
				c.Before.Target = b.content
			}
			if b.kind == changeset.File {
				c.Before.SHA256 = hashHex([]byte(b.content))
			}
		}
		if a != nil {
			c.After = &changeset.State{Kind: a.kind, Mode: a.mode, UID: -1, GID: -1, MTime: a.mtime}
			switch a.kind {
			case changeset.File:
				c.After.Size, c.After.SHA256 = int64(len(a.content)), hashHex([]byte(a.content))
				if a.orig == "" {
					c.Content = &changeset.Content{Bytes: []byte(a.content)}
				}
			case changeset.Symlink:
				c.After.Target, c.After.Mode = a.content, 0
			}
			if a.orig != "" && (a.orig != p || dirGone(after, away, p)) {
				c.From = filepath.Join(root, a.orig)
			}
		}
		if b != nil && a != nil && c.From == "" && (a.orig == p || a.kind == changeset.Dir && b.kind == changeset.Dir) &&
			a.mode == b.mode && a.mtime == b.mtime && !away[p] && (a.orig != p || !dirGone(after, away, p)) {
			continue
		}
		cs.Changes = append(cs.Changes, c)
	}
	slices.SortFunc(cs.Changes, func(a, b changeset.Change) int { return cmp.Compare(a.Path, b.Path) })
	return cs
}

// dirGone reports whether a directory above p is another object than before.
func dirGone(after model, away map[string]bool, p string) bool {
	for d := filepath.Dir(p); d != "."; d = filepath.Dir(d) {
		if o := after[d]; o == nil || o.orig != "" && o.orig != d || o.orig == "" && away[d] {
			return true
		}
	}
	return false
}

func openSet(t testing.TB, roots ...string) *fsroot.Set {
	t.Helper()
	set, err := fsroot.New(roots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	return set
}

// bed is a root and a store, in a directory of their own.
type bed struct {
	root, store string
}

// fastDir is in memory where that is to be had: tests that stop at thousands of
// points learn nothing from a disk. TestKill and TestRandomChangesets use one.
func fastDir(t testing.TB) string {
	if dir, err := os.MkdirTemp("/dev/shm", "steps-commit"); err == nil {
		t.Cleanup(func() { loosen(dir); os.RemoveAll(dir) })
		return dir
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func newBed(t testing.TB, before model) bed {
	t.Helper()
	return newBedIn(t, fastDir(t), before)
}

func newBedIn(t testing.TB, dir string, before model) bed {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := bed{filepath.Join(dir, "root"), filepath.Join(dir, "store")}
	if err := os.Mkdir(b.root, 0o755); err != nil {
		t.Fatal(err)
	}
	before.make(t, b.root)
	t.Cleanup(func() { loosen(dir) })
	return b
}

// loosen makes everything removable for t.TempDir.
func loosen(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
			if err != nil {
				loosen(path)
			}
		}
		return nil
	})
}

// open opens the store without syncs.
func (b bed) open(t testing.TB) *Store {
	t.Helper()
	s, err := OpenStore(b.store)
	if err != nil {
		t.Fatal(err)
	}
	s.disk.noSync = true
	t.Cleanup(s.Close)
	return s
}

// apply commits a changeset.
func (b bed) apply(t testing.TB, s *Store, cs *changeset.Changeset) (string, error) {
	t.Helper()
	set, err := fsroot.New([]string{b.root})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	tx, err := s.Begin(set, Options{})
	if err != nil {
		return "", err
	}
	if err := tx.Apply(cs); err != nil {
		return "", err
	}
	return tx.Commit(&Receipt{Package: Package{Name: "p", Version: "1"}})
}

func sameTree(t testing.TB, what string, got state, want model) {
	t.Helper()
	if diff := gocmp.Diff(want.dump(), got.tree); diff != "" {
		t.Fatalf("%s: (-want +got)\n%s", what, diff)
	}
}

// sameObjects checks that what should be the object of before is that one.
func sameObjects(t testing.TB, what string, before, got state, want model) {
	t.Helper()
	for p, o := range want {
		if o.orig != "" && got.ino[p] != before.ino[o.orig] {
			t.Fatalf("%s: %s is not the object that was at %s", what, p, o.orig)
		}
	}
}

// clean checks that a store has nothing open.
func clean(t testing.TB, s *Store) {
	t.Helper()
	pending, err := s.Pending()
	if err != nil || len(pending) != 0 {
		t.Fatalf("pending: %v, %v", pending, err)
	}
	if ids, _ := s.ids(trashDir); len(ids) != 0 {
		t.Fatalf("trash: %v", ids)
	}
}

// edit is one step on a model, as a view would do it.
func (m model) remove(p string) {
	for q := range m {
		if q == p || strings.HasPrefix(q, p+"/") {
			delete(m, q)
		}
	}
}

func (m model) move(from, to string) {
	got := model{}
	for q, o := range m {
		if q == from || strings.HasPrefix(q, from+"/") {
			got[to+q[len(from):]] = o
		}
	}
	m.remove(from)
	m.remove(to)
	maps.Copy(m, got)
}

func (m model) swap(a, b string) {
	m.move(a, "swapping")
	m.move(b, a)
	m.move("swapping", b)
}

func (m model) put(p string, o obj) {
	m.remove(p)
	m[p] = &o
}

// mkdir makes a directory; one that was there on disk stays the same object.
func (m model) mkdir(p string, mode uint32) {
	m[p] = &obj{kind: changeset.Dir, mode: mode}
}

var errCrash = errors.New("crash")

// baseTime is a time that nothing gets by itself.
var baseTime = time.Unix(1_500_000_000, 0)

// scenario is a tree and what is done to it.
type scenario struct {
	name   string
	before string
	edit   func(m model)
}

func file(mode uint32, content string) obj {
	return obj{kind: changeset.File, mode: mode, content: content}
}

func link(target string) obj { return obj{kind: changeset.Symlink, content: target} }

var scenarios = []scenario{
	{"create", `a/ 0755`, func(m model) {
		m.put("a/f", file(0o644, "one"))
		m.put("l", link("a/f"))
		m.mkdir("d", 0o755)
		m.mkdir("d/e", 0o555)
		m.put("d/e/f", file(0o4755, "two"))
		m.put("d/l", link("nowhere"))
	}},
	{"replace and delete", `
		a/ 0755
		a/f 0644 old
		a/g 0600 gone
		l -> a/f
		d/ 0755
		d/e/ 0750
		d/e/f 0644 deep
		d/l -> e`, func(m model) {
		m.put("a/f", file(0o755, "new"))
		m.remove("a/g")
		m.put("l", link("d"))
		m.remove("d")
	}},
	{"moves", `
		a/ 0755
		a/f 0644 one
		a/g 0644 two
		a/sub/ 0755
		a/sub/x 0644 x
		b/ 0755
		s1 0644 first
		s2 0644 second
		t1/ 0755
		t1/i 0644 i
		t2/ 0700
		t2/j 0644 j`, func(m model) {
		m.move("a", "b/a2")
		m.put("b/a2/new", file(0o600, "new"))
		m.remove("b/a2/g")
		m.move("b/a2/f", "f")
		m["b/a2/sub"].mode = 0o700
		m.swap("s1", "s2")
		m.swap("t1", "t2")
	}},
	{"kinds", `
		f 0644 file
		d/ 0755
		d/x 0644 x
		d/y/ 0755
		d/y/z -> t
		l -> f
		e/ 0755
		e/i 0644 i`, func(m model) {
		m.remove("f")
		m.mkdir("f", 0o755)
		m.put("f/in", file(0o644, "in"))
		m.move("d/x", "x")
		m.put("d", file(0o644, "was dir"))
		m.put("l", file(0o600, "was link"))
		m.move("e", "f/e")
		m.put("e", link("f/e"))
	}},
	{"attributes", `
		ro/ 0555
		ro/f 0644 f
		rw/ 0755
		rw/f 0644 f
		mv/ 0555
		mv/sub/ 0555
		mv/sub/f 0444 f
		del/ 0555
		del/f 0444 f
		t 0644 touched`, func(m model) {
		m["ro"].mode = 0o755
		m.put("ro/g", file(0o644, "g"))
		m["rw"].mode = 0o555
		m.put("rw/f", file(0o600, "changed"))
		m.move("mv", "mv2")
		m.move("mv2/sub/f", "f")
		m.remove("del")
		m["t"].mode, m["t"].mtime = 0o6755, 1_000_000_000_123_456_789
	}},
	{"aside and again", `
		d/ 0755
		d/f 0644 f
		d/k/ 0755
		d/k/g 0644 g`, func(m model) {
		m.move("d", "old")
		m.mkdir("d", 0o700)
		m.move("old/k", "d/k")
		m.put("d/f", file(0o644, "f"))
	}},
}

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

// nothingLeft checks that a store has nothing but receipts, and these no layers
// or scraps beyond what undo needs.
func nothingLeft(t testing.TB, s *Store) {
	t.Helper()
	clean(t, s)
	err := filepath.WalkDir(s.path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == layersName {
			err = fmt.Errorf("%s is still there", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{openDir, trashDir} {
		entries, err := os.ReadDir(filepath.Join(s.path, dir))
		if err != nil || len(entries) > 0 {
			t.Fatalf("%s: %v, %v", dir, entries, err)
		}
	}
}

func sortedKeys(m model) []string {
	var list []string
	for p := range m {
		list = append(list, p)
	}
	slices.SortFunc(list, treeOrder)
	return list
}
