package commit

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"context"
	"maps"

	"steps.example/interp/changeset"
)

// execute changes the tree on disk from one model to another by plain means,
// as a command would.
func execute(t testing.TB, root string, before, after model) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(before), treeOrder) {
		real, b, a := filepath.Join(root, p), before[p], after[p]
		if b == nil {
			continue // went with its directory
		}
		if b.kind == changeset.Dir {
			must(os.Chmod(real, 0o700))
		}
		if a == nil || a.kind != b.kind || a.kind == changeset.Symlink && *a != *b {
			loosen(real)
			must(os.RemoveAll(real))
			for q := range before {
				if _, err := os.Lstat(filepath.Join(root, q)); err != nil {
					delete(before, q)
				}
			}
		}
	}
	paths := slices.SortedFunc(maps.Keys(after), treeOrder)
	for _, p := range paths {
		real, b, a := filepath.Join(root, p), before[p], after[p]
		switch a.kind {
		case changeset.Dir:
			if b == nil {
				must(os.Mkdir(real, 0o700))
			}
		case changeset.Symlink:
			if b == nil {
				must(os.Symlink(a.content, real))
			}
		case changeset.File:
			if b == nil || b.content != a.content {
				if b != nil {
					must(os.Chmod(real, 0o600))
				}
				must(os.WriteFile(real, []byte(a.content), 0o600))
			}
			must(os.Chmod(real, goMode(a.mode)))
		}
	}
	for _, p := range slices.Backward(paths) {
		if after[p].kind == changeset.Dir {
			must(os.Chmod(filepath.Join(root, p), goMode(after[p].mode)))
		}
	}
}

// TestCapture lets a command change the tree inside a transaction, crashes at
// every point around it, and takes it back in every way.
func TestCapture(t *testing.T) {
	for _, sc := range scenarios {
		for _, way := range []string{"undo", "roll back"} {
			t.Run(sc.name+"/"+way, func(t *testing.T) {
				t.Parallel()
				for n, crashed := 0, true; crashed; n++ {
					crashed = captureOnce(t, sc, way, n, false)
				}
			})
		}
	}
}

func captureOnce(t *testing.T, sc scenario, way string, n int, noFlags bool) bool {
	before := parse(t, sc.before)
	b := newBed(t, before)
	defer os.RemoveAll(b.root)
	defer os.RemoveAll(b.store)
	defer loosen(b.root)
	mid := earlier(before)
	after := mid.clone()
	sc.edit(after)
	after.remove("early/g")
	for _, o := range after {
		o.mtime = 0
	}
	final := after.clone()
	for p, o := range final {
		o.orig = p
	}
	final.put("later", file(0o644, "later"))
	s := b.open(t)
	s.disk.noFlags = noFlags
	set := openSet(t, b.root)
	defer set.Close()
	crashed := crashing(s, n, func() {
		tx, err := s.Begin(set, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, p := range []string{"a", "a/f", "b", "d", "e", "f", "g", "l", "x", "ro", "rw", "mv", "mv2",
			"del", "t", "s1", "s2", "t1", "t2", "old", "early"} {
			paths = append(paths, filepath.Join(b.root, p))
		}
		if err := tx.Apply(derive(t, b.root, before, mid)); err != nil {
			t.Fatal(err)
		}
		if err := tx.Snapshot(paths); err != nil {
			t.Fatal(err)
		}
		execute(t, b.root, mid.clone(), after)
		got, err := tx.Capture()
		if err != nil {
			t.Fatal(err)
		}
		sameTree(t, "captured", dumpDisk(t, b.root, nil), mid)
		checkCaptured(t, b.root, got.Changes, mid, after)
		if err := tx.Apply(got.Changes); err != nil {
			t.Fatal(err)
		}
		sameTree(t, "ran", dumpDisk(t, b.root, nil), after)
		if err := tx.Snapshot(paths); err != nil {
			t.Fatal(err)
		}
		if again, err := tx.Capture(); err != nil || !again.Changes.Empty() {
			t.Fatalf("captured twice: %v, %v", again, err)
		}
		onDisk := after.clone()
		for p, o := range onDisk {
			o.orig = p
		}
		if err := tx.Apply(derive(t, b.root, onDisk, final)); err != nil {
			t.Fatal(err)
		}
		if way == "roll back" {
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			return
		}
		if _, err := tx.Commit(&Receipt{}); err != nil {
			t.Fatal(err)
		}
	})
	s.Close()
	s = b.open(t)
	s.disk.noFlags = noFlags
	defer s.Close()
	if _, err := s.Recover(RecoverOptions{}); err != nil {
		t.Fatalf("point %d: recover: %v", n, err)
	}
	nothingLeft(t, s)
	receipts, err := s.Receipts()
	if err != nil {
		t.Fatal(err)
	}
	if len(receipts) == 1 {
		sameTree(t, "after", dumpDisk(t, b.root, nil), final)
		if drifts, err := s.Verify(receipts[0]); err != nil || len(drifts) > 0 {
			t.Fatalf("verify: %v, %v", drifts, err)
		}
		if err := s.Undo(receipts[0].ID); err != nil {
			t.Fatalf("point %d: undo: %v", n, err)
		}
	} else if !crashed && way == "undo" {
		t.Fatal("no receipt")
	}
	sameTree(t, "before", dumpDisk(t, b.root, nil), before)
	return crashed
}

// earlier is the tree as typed steps left it before the command: most files are
// other ones, and there is a new directory.
func earlier(before model) model {
	mid := before.clone()
	for p, o := range mid {
		if dir := mid[filepath.Dir(p)]; o.kind == changeset.File && (dir == nil || dir.mode&0o200 != 0) {
			mid.put(p, file(o.mode, "earlier "+o.content))
		}
	}
	mid.mkdir("early", 0o755)
	mid.put("early/f", file(0o644, "early"))
	mid.put("early/g", file(0o644, "early, not for long"))
	return mid
}

// checkCaptured compares a captured changeset with what was done.
func checkCaptured(t *testing.T, root string, cs *changeset.Changeset, before, after model) {
	t.Helper()
	got := map[string]bool{}
	for _, c := range cs.Changes {
		rel, err := filepath.Rel(root, c.Path)
		if err != nil {
			t.Fatal(err)
		}
		got[rel] = true
		if (c.Before == nil) != (before[rel] == nil) || (c.After == nil) != (after[rel] == nil) {
			t.Fatalf("%s: %v → %v", rel, c.Before, c.After)
		}
		if c.After != nil && c.After.Kind == changeset.File && c.After.SHA256 != hashHex([]byte(after[rel].content)) {
			t.Fatalf("%s: wrong hash", rel)
		}
	}
	for _, m := range []model{before, after} {
		for p := range m {
			b, a := before[p], after[p]
			if (b == nil || a == nil || b.kind != a.kind || b.mode != a.mode || b.content != a.content) && !got[p] {
				t.Fatalf("%s: not captured", p)
			}
		}
	}
}

// TestCaptureUnrestorable: what cannot be made again is an error, and the rest
// is taken back.
func TestCaptureUnrestorable(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]func(fifo string) error{
		"removed": os.Remove,
		"replaced": func(fifo string) error {
			return errors.Join(os.Rename(fifo, fifo+".old"), mkfifo(fifo), os.Remove(fifo+".old"))
		},
	} {
		t.Run(name, func(t *testing.T) { captureUnrestorable(t, command) })
	}
}

func captureUnrestorable(t *testing.T, command func(fifo string) error) {
	before := parse(t, `f 0644 f`)
	b := newBed(t, before)
	fifo := filepath.Join(b.root, "fifo")
	if err := mkfifo(fifo); err != nil {
		t.Fatal(err)
	}
	s := b.open(t)
	tx, err := s.Begin(openSet(t, b.root), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Snapshot([]string{filepath.Join(b.root, "f"), fifo}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(command(fifo), os.WriteFile(filepath.Join(b.root, "f"), []byte("changed"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Capture(); err == nil || errors.Is(err, ErrBlocked) || !strings.Contains(err.Error(), "nothing that could be made again") {
		t.Fatal(err)
	}
	_ = os.Remove(fifo) // the command's
	sameTree(t, "before", dumpDisk(t, b.root, nil), before)
}

// TestCaptureTwin: a directory that a command made in the place of an equal one of the
// same transaction is taken back with it.
func TestCaptureTwin(t *testing.T) {
	t.Parallel()
	b := newBed(t, model{})
	s := b.open(t)
	after := model{}
	after.put("d", obj{kind: changeset.Dir, mode: 0o755})
	tx, err := s.Begin(openSet(t, b.root), Options{NoSync: true})
	if err == nil {
		err = tx.Apply(derive(t, b.root, model{}, after))
	}
	if err == nil {
		err = tx.Snapshot([]string{b.root})
	}
	if err == nil {
		err = errors.Join(os.Rename(b.root+"/d", b.root+"/old"), os.Mkdir(b.root+"/d", 0o755), os.Remove(b.root+"/old"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Capture(); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	sameTree(t, "before", dumpDisk(t, b.root, nil), model{})
}

// TestCaptureUnreadable: a command that locks its owner out, and fails, is
// taken back all the same.
func TestCaptureUnreadable(t *testing.T) {
	t.Parallel()
	before := parse(t, `
		d/ 0755
		d/f 0644 f
		d/e/ 0755
		d/e/g 0644 g`)
	b := newBed(t, before)
	s := b.open(t)
	tx, err := s.Begin(openSet(t, b.root), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Snapshot([]string{filepath.Join(b.root, "d")}); err != nil {
		t.Fatal(err)
	}
	for _, f := range []func() error{
		func() error { return os.Mkdir(filepath.Join(b.root, "d/new"), 0o000) },
		func() error { return os.WriteFile(filepath.Join(b.root, "d/h"), []byte("h"), 0o000) },
		func() error { return os.Chmod(filepath.Join(b.root, "d/f"), 0o000) },
		func() error { return os.Chmod(filepath.Join(b.root, "d/e"), 0o000) },
		func() error { return os.Chmod(filepath.Join(b.root, "d"), 0o000) },
	} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	sameTree(t, "before", dumpDisk(t, b.root, nil), before)
	clean(t, s)
}

// TestCaptureDropsCopies: a receipt keeps copies of what the command changed,
// and of nothing else.
func TestCaptureDropsCopies(t *testing.T) {
	t.Parallel()
	b := newBed(t, parse(t, `
		same 0644 same
		changed 0644 old`))
	s := b.open(t)
	tx, err := s.Begin(openSet(t, b.root), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := tx.Snapshot([]string{b.root}); err != nil {
			t.Fatal(err)
		}
		if slots, _ := os.ReadDir(tx.w.slots[0].path); len(slots) != 2 {
			t.Fatalf("an unchanged file was copied again: %v", slots)
		}
		if got, err := tx.Capture(); err != nil || !got.Changes.Empty() {
			t.Fatal(got, err)
		}
	}
	if err := tx.Snapshot([]string{b.root}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.root, "changed"), []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := tx.Capture()
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Apply(got.Changes); err != nil {
		t.Fatal(err)
	}
	id, err := tx.Commit(&Receipt{})
	if err != nil {
		t.Fatal(err)
	}
	if slots, err := os.ReadDir(filepath.Join(b.store, receiptsDir, id, slotsName)); err != nil || len(slots) != 1 {
		t.Fatalf("kept: %v, %v", slots, err)
	}
}

// TestCaptureWithoutFlags has a file system that cannot exchange.
func TestCaptureWithoutFlags(t *testing.T) {
	t.Parallel()
	for _, sc := range scenarios {
		for _, way := range []string{"undo", "roll back"} {
			for n := 0; captureOnce(t, sc, way, n, true); n += 17 {
			}
			captureOnce(t, sc, way, 1<<30, true)
		}
	}
}

// TestStopped: a caller that wants no more gets the tree back as it was.
func TestStopped(t *testing.T) {
	t.Parallel()
	before := parse(t, `
		d/ 0755
		d/f 0644 f`)
	after := before.clone()
	after.put("d/g", file(0o644, "g"))
	for _, when := range []string{"snapshot", "capture"} {
		b := newBed(t, before.clone())
		s := b.open(t)
		done := make(chan struct{})
		tx, err := s.Begin(openSet(t, b.root), Options{Done: done})
		if err != nil {
			t.Fatal(err)
		}
		if when == "snapshot" {
			close(done)
			err = tx.Snapshot([]string{b.root})
		} else {
			if err := tx.Snapshot([]string{b.root}); err != nil {
				t.Fatal(err)
			}
			execute(t, b.root, before.clone(), after)
			close(done)
			_, err = tx.Capture()
		}
		if !errors.Is(err, context.Canceled) || errors.Is(err, ErrBlocked) {
			t.Errorf("%s: %v", when, err)
		}
		sameTree(t, when, dumpDisk(t, b.root, nil), before)
		nothingLeft(t, s)
	}
}

// A second snapshot saves what was changed since the first.
func TestSecondSnapshot(t *testing.T) {
	t.Parallel()
	before := parse(t, `f 0644 f`)
	b := newBed(t, before)
	for p, o := range before {
		o.orig = p
	}
	mid := before.clone()
	mid.put("f", file(0o644, "mid"))
	tx, err := b.open(t).Begin(openSet(t, b.root), Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(tx.Snapshot([]string{b.root}))
	_, err = tx.Capture()
	must(err)
	must(tx.Apply(derive(t, b.root, before, mid)))
	must(tx.Snapshot([]string{b.root}))
	must(os.WriteFile(b.root+"/f", []byte("by the command"), 0o644))
	_, err = tx.Capture()
	must(err)
	sameTree(t, "mid", dumpDisk(t, b.root, nil), mid)
	must(tx.Rollback())
	sameTree(t, "before", dumpDisk(t, b.root, nil), before)
}

// A copy that is not there, or leads elsewhere, is not put back for the original.
func TestCopies(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"gone": os.Remove, "a link": func(path string) error {
			return errors.Join(os.Remove(path), os.Symlink("/etc/hostname", path))
		},
	} {
		b := newBed(t, parse(t, `f 0644 f`))
		s := b.open(t)
		tx, err := s.Begin(openSet(t, b.root), Options{NoSync: true})
		if err == nil {
			err = tx.Snapshot([]string{b.root})
		}
		copies, _ := filepath.Glob(filepath.Join(s.path, openDir, tx.ID(), slotsName, "*"))
		if err != nil || len(copies) != 1 {
			t.Fatalf("%v, %v", copies, err)
		}
		if err := errors.Join(spoil(copies[0]), os.Remove(b.root+"/f")); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Capture(); !errors.Is(err, ErrBlocked) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := os.Lstat(b.root + "/f"); err == nil {
			t.Errorf("%s: something else was put back", name)
		}
	}
}
