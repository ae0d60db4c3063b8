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

// fill makes in the upper directory of a layer over root what overlayfs makes of
// a command that turns the tree before into after.
func fill(t testing.TB, l Layer, before, after model) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	changed := map[string]bool{}
	differ := func(p string) bool {
		b, a := before[p], after[p]
		return b == nil || a == nil || b.kind != a.kind || b.mode != a.mode || b.content != a.content
	}
	for _, m := range []model{before, after} {
		for p := range m {
			for d := p; differ(p) && d != "."; d = filepath.Dir(d) {
				changed[d] = true
			}
		}
	}
	var closed []string
	for _, p := range sortedKeys(after) {
		a, b, up := after[p], before[p], filepath.Join(l.Upper, p)
		if !changed[p] {
			continue
		}
		switch a.kind {
		case changeset.Dir:
			must(os.Mkdir(up, 0o700))
			if b != nil && b.kind != changeset.Dir {
				must(unix.Setxattr(up, "user.overlay.opaque", []byte("y"), 0))
			}
			closed = append(closed, p)
		case changeset.Symlink:
			must(os.Symlink(a.content, up))
		default:
			must(os.WriteFile(up, []byte(a.content), 0o600))
			must(os.Chmod(up, goMode(a.mode)))
		}
	}
	for p := range before {
		dir := after[filepath.Dir(p)]
		if after[p] == nil && (filepath.Dir(p) == "." || dir != nil && dir.kind == changeset.Dir) {
			must(unix.Mknod(filepath.Join(l.Upper, p), unix.S_IFCHR, 0))
		}
	}
	for i := len(closed) - 1; i >= 0; i-- {
		must(os.Chmod(filepath.Join(l.Upper, closed[i]), goMode(after[closed[i]].mode)))
	}
	// What a mount leaves.
	must(os.Mkdir(filepath.Join(l.Work, "work"), 0o000))
}

// needWhiteouts skips a test where a user cannot make what overlayfs makes.
func needWhiteouts(t testing.TB) {
	t.Helper()
	dir := fastDir(t)
	if err := unix.Mknod(filepath.Join(dir, "w"), unix.S_IFCHR, 0); err != nil {
		t.Skipf("needs whiteouts without privileges (Linux 5.8): %v", err)
	}
	if err := unix.Setxattr(dir, "user.x", []byte("y"), 0); err != nil {
		t.Skipf("needs user extended attributes in %s (Linux 6.6 for tmpfs): %v", dir, err)
	}
}

func init() {
	watchCommand["layers"] = func(t testing.TB, tx *Tx, root string, before, after model) (*changeset.Captured, error) {
		list, err := tx.Layers([]string{root})
		if err != nil {
			return nil, err
		}
		fill(t, list[0], before, after)
		return tx.CaptureLayers()
	}
}

func beginLayers(t testing.TB, b bed, s *Store) (*Tx, Layer) {
	t.Helper()
	tx, err := s.Begin(openSet(t, b.root), Options{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := tx.Layers([]string{b.root})
	if err != nil {
		t.Fatal(err)
	}
	return tx, list[0]
}

// TestLayersCrash stops a transaction with a layer at every point, and recovers.
func TestLayersCrash(t *testing.T) {
	needWhiteouts(t)
	for _, sc := range scenarios {
		for _, way := range []string{"undo", "roll back"} {
			t.Run(sc.name+"/"+way, func(t *testing.T) {
				t.Parallel()
				for n, crashed := 0, true; crashed; n++ {
					crashed = layersOnce(t, sc, way, n, errCrash)
				}
			})
		}
		t.Run(sc.name+"/fault", func(t *testing.T) {
			t.Parallel()
			for n, failed := 0, true; failed; n++ {
				failed = layersOnce(t, sc, "undo", n, errFault)
			}
		})
	}
}

// layersOnce runs a command with a layer. At the n-th point the process ends, or
// the n-th call fails.
func layersOnce(t *testing.T, sc scenario, way string, n int, how error) (struck bool) {
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
	set := openSet(t, b.root)
	defer set.Close()
	run := func() error {
		tx, err := s.Begin(set, Options{})
		if err != nil {
			return err
		}
		if err := tx.Apply(derive(t, b.root, before, mid)); err != nil {
			return err
		}
		list, err := tx.Layers([]string{b.root})
		if errors.Is(err, ErrNoLayers) && how == errFault {
			return tx.Rollback()
		}
		if err != nil {
			return err
		}
		fill(t, list[0], mid, after)
		got, err := tx.CaptureLayers()
		if err != nil {
			return err
		}
		sameTree(t, "captured", dumpDisk(t, b.root, nil), mid)
		checkCaptured(t, b.root, got.Changes, mid, after)
		if err := tx.Apply(got.Changes); err != nil {
			return err
		}
		sameTree(t, "applied", dumpDisk(t, b.root, nil), after)
		onDisk := after.clone()
		for p, o := range onDisk {
			o.orig = p
		}
		if err := tx.Apply(derive(t, b.root, onDisk, final)); err != nil {
			return err
		}
		if way == "roll back" {
			return tx.Rollback()
		}
		_, err = tx.Commit(&Receipt{})
		return err
	}
	if how == errCrash {
		struck = crashing(s, n, func() {
			if err := run(); err != nil {
				t.Fatal(err)
			}
		})
	} else {
		struck = faulting(s, n, func() {
			if err := run(); err != nil && !errors.Is(err, errFault) {
				t.Fatalf("fault %d: %v", n, err)
			}
		})
	}
	recoverTo(t, b, s, fmt.Sprint("point ", n), before, final, !struck && way == "undo")
	return struck
}

// TestNoLayers: where layers do not go the reason is given, and the transaction
// goes on with a snapshot.
func TestNoLayers(t *testing.T) {
	t.Parallel()
	before := parse(t, `
		d/ 0755
		d/e/ 0755
		f 0644 f
		l -> d`)
	b := newBed(t, before)
	at := func(names ...string) (list []string) {
		for _, n := range names {
			list = append(list, filepath.Join(b.root, n))
		}
		return list
	}
	for _, tc := range []struct {
		name, say string
		dirs      []string
	}{
		{name: "nested", dirs: at("d", "d/e"), say: "one within the other"},
		{name: "twice", dirs: at("d", "d"), say: "one within the other"},
		{name: "a file", dirs: at("d", "f"), say: "no directory"},
		{name: "a link", dirs: at("l"), say: "no directory"},
		{name: "missing", dirs: at("none"), say: "no directory"},
		{name: "through a link", dirs: at("l/e"), say: "no directory"},
	} {
		s := b.open(t)
		tx, err := s.Begin(openSet(t, b.root), Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.Layers(tc.dirs)
		if !errors.Is(err, ErrNoLayers) || !strings.Contains(err.Error(), tc.say) {
			t.Errorf("%s: %v", tc.name, err)
		}
		if err := tx.Snapshot(at("d")); err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if got, err := tx.Capture(); err != nil || !got.Changes.Empty() {
			t.Fatalf("%s: %v, %v", tc.name, got, err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	mine := changeset.Stamp{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	for name, st := range map[string]changeset.Stamp{
		"user":  {UID: mine.UID + 1, GID: mine.GID},
		"group": {UID: mine.UID, GID: mine.GID + 1},
	} {
		if err := lowerFault(-1, b.root, st); errors.Is(err, ErrNoLayers) == (os.Geteuid() == 0) {
			t.Errorf("of another %s: %v", name, err)
		}
	}
	mounts, err := mountPoints()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mounts {
		dir := filepath.Dir(m)
		if dir == "/" {
			continue
		}
		if err := lowerFault(-1, dir, mine); !errors.Is(err, ErrNoLayers) || !strings.Contains(err.Error(), "another file system") {
			t.Errorf("above %s: %v", m, err)
		}
		if err := lowerFault(-1, m[:len(m)-1], mine); strings.HasPrefix(fmt.Sprint(err), ErrNoLayers.Error()+": "+m) {
			t.Errorf("beside %s: %v", m, err)
		}
	}
	if got := unescape(`/a\040b\134c\\x\08`); got != `/a b\c\\x\08` {
		t.Errorf("unescape: %q", got)
	}
}

// TestStateWithin: a command that could reach the state directory is refused,
// whichever way it would be watched.
func TestStateWithin(t *testing.T) {
	t.Parallel()
	b := newBed(t, parse(t, `d/ 0755`))
	link := filepath.Join(filepath.Dir(b.root), "link")
	if err := os.Symlink(filepath.Join(b.root, "d"), link); err != nil {
		t.Fatal(err)
	}
	for _, store := range []string{filepath.Join(b.root, "state"), filepath.Join(link, "state")} {
		b.store = store
		s := b.open(t)
		for _, dir := range []string{b.root, filepath.Join(b.root, "d")} {
			if dir != b.root && store == filepath.Join(b.root, "state") {
				dir = filepath.Join(store, openDir)
			}
			tx, err := s.Begin(openSet(t, b.root), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Layers([]string{dir}); !errors.Is(err, ErrNoLayers) || !strings.Contains(err.Error(), "state directory") {
				t.Errorf("layers on %s, state in %s: %v", dir, store, err)
			}
			if err := tx.Snapshot([]string{dir}); err == nil || !strings.Contains(err.Error(), "state directory") {
				t.Errorf("snapshot of %s, state in %s: %v", dir, store, err)
			}
			nothingLeft(t, s)
		}
		s.Close()
	}
}

// TestLayersOrder: what is watched is captured or given up before anything else.
func TestLayersOrder(t *testing.T) {
	t.Parallel()
	needWhiteouts(t)
	before := parse(t, `f 0644 f`)
	b := newBed(t, before)
	s := b.open(t)
	for name, f := range map[string]func(tx *Tx) error{
		"apply":         func(tx *Tx) error { return tx.Apply(&changeset.Changeset{Changes: make([]changeset.Change, 1)}) },
		"commit":        func(tx *Tx) error { _, err := tx.Commit(&Receipt{}); return err },
		"snapshot":      func(tx *Tx) error { return tx.Snapshot([]string{b.root}) },
		"layers":        func(tx *Tx) error { _, err := tx.Layers([]string{b.root}); return err },
		"capture":       func(tx *Tx) error { _, err := tx.Capture(); return err },
		"capture again": func(tx *Tx) error { tx.CaptureLayers(); _, err := tx.CaptureLayers(); return err },
	} {
		tx, _ := beginLayers(t, b, s)
		if err := f(tx); err == nil {
			t.Errorf("%s: accepted", name)
		}
		tx.Rollback()
		nothingLeft(t, s)
	}
	// Given up, and watched again.
	tx, l := beginLayers(t, b, s)
	if err := tx.DropLayers(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(l.Upper); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if _, err := tx.Layers([]string{b.root}); err != nil {
		t.Fatal(err)
	}
	got, err := tx.CaptureLayers()
	if err != nil || !got.Changes.Empty() {
		t.Fatal(got, err)
	}
	if _, err := tx.Layers([]string{b.root}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, s)
}

// TestLayersElsewhere: where no layer can be in the store there may be one on the
// file system of the tree, out of the command's reach.
func TestLayersElsewhere(t *testing.T) {
	t.Parallel()
	needWhiteouts(t)
	before := parse(t, `
		d/ 0755
		d/f 0644 f`)
	for _, way := range []string{"within reach", "commit", "crash"} {
		b := bed{otherFileSystem(t), filepath.Join(t.TempDir(), "store")}
		before.clone().make(t, b.root)
		after := before.clone()
		after.put("d/f", file(0o644, "changed"))
		s := b.open(t)
		s.disk.hook = func(p Call) error {
			if p.Op == "setxattr" && strings.HasPrefix(p.Name, b.store) {
				return unix.ENOTSUP
			}
			if way == "crash" && p.Name == receiptName {
				panic(errCrash)
			}
			return nil
		}
		tx, err := s.Begin(openSet(t, b.root), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if way == "within reach" {
			if _, err := tx.Layers([]string{b.root}); !errors.Is(err, ErrNoLayers) || !strings.Contains(err.Error(), "extended attributes") {
				t.Errorf("%v", err)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			nothingLeft(t, s)
			continue
		}
		list, err := tx.Layers([]string{filepath.Join(b.root, "d")})
		if errors.Is(err, ErrNoLayers) {
			t.Skipf("needs user extended attributes in %s: %v", b.root, err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(list[0].Upper, b.root+"/"+slotDirStart) {
			t.Fatalf("upper directory %s", list[0].Upper)
		}
		fill(t, list[0], model{"f": before["d/f"]}, model{"f": after["d/f"]})
		got, err := tx.CaptureLayers()
		if err == nil {
			err = tx.Apply(got.Changes)
		}
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() { _ = recover() }()
			if _, err := tx.Commit(&Receipt{}); err != nil {
				t.Error(err)
			}
		}()
		recoverTo(t, b, s, way, before, after, way == "commit")
		if entries, err := os.ReadDir(b.root); err != nil || len(entries) != 1 {
			t.Errorf("%s: left in the tree: %v, %v", way, entries, err)
		}
	}
}

// A user's layer can be only over what is his own.
func TestLayerOverAnothers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may have a layer over everything")
	}
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	st, err := fsroot.StampFD(int(dir.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if err := lowerFault(int(dir.Fd()), dir.Name(), st); err != nil {
		t.Error(err)
	}
	st.UID++
	if err := lowerFault(int(dir.Fd()), dir.Name(), st); !errors.Is(err, ErrNoLayers) {
		t.Errorf("got %v", err)
	}
}

// The directory below a layer must be the one that the command saw.
func TestLayerOverAnother(t *testing.T) {
	t.Parallel()
	needWhiteouts(t)
	b := newBed(t, parse(t, `
		d/ 0755
		d/f 0644 f`))
	tx, err := b.open(t).Begin(openSet(t, b.root), Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Layers([]string{b.root + "/d"}); err != nil {
		t.Fatal(err)
	}
	if err := replaceDir(b.root + "/d"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.CaptureLayers(); !errors.Is(err, ErrMoved) {
		t.Errorf("got %v", err)
	}
}
