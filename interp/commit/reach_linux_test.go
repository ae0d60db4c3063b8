package commit

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// What a command is let loose on is only what can be saved before, and where it can
// reach nothing else.
func TestOutOfReach(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do  func(tx *Tx, b bed) error
		say string
	}{
		"a relative path": {func(tx *Tx, _ bed) error { return tx.Snapshot([]string{"root"}) }, "clean absolute path"},
		"a file with a name elsewhere": {func(tx *Tx, b bed) error {
			if err := os.Link(b.root+"/f", b.root+".other"); err != nil {
				return err
			}
			return tx.Snapshot([]string{b.root})
		}, "hard link"},
		"layers of a relative path": {func(tx *Tx, _ bed) error {
			_, err := tx.Layers([]string{"root"})
			return err
		}, "clean absolute path"},
		"layers under a snapshot": {func(tx *Tx, b bed) error {
			if err := tx.Snapshot([]string{b.root}); err != nil {
				return err
			}
			_, err := tx.Layers([]string{b.root})
			return err
		}, "a snapshot is open"},
		"a directory with what is saved of it": {func(tx *Tx, b bed) error {
			return tx.Snapshot([]string{tx.w.set.Roots()[1].Path})
		}, "within the command's reach"},
		"a capture without a snapshot": {func(tx *Tx, _ bed) error { _, err := tx.Capture(); return err }, "snapshot"},
		"a capture without layers":     {func(tx *Tx, _ bed) error { _, err := tx.CaptureLayers(); return err }, "no layers"},
	} {
		b := newBedIn(t, t.TempDir(), parse(t, `f 0644 f`))
		other := otherFileSystem(t)
		if err := os.WriteFile(other+"/f", nil, 0o644); err != nil {
			t.Fatal(err)
		}
		tx, err := b.open(t).Begin(openSet(t, b.root, other), Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		if tx.w.set.Roots()[1].Path != other {
			t.Fatal(tx.w.set.Roots())
		}
		if err := tc.do(tx, b); err == nil || !strings.Contains(err.Error(), tc.say) {
			t.Errorf("%s: got %v", name, err)
		}
	}
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

// TestMounts: what is mounted below a directory is neither saved as a part of it, nor
// removed with it.
func TestMounts(t *testing.T) {
	const inside = "STEPS_TEST_MOUNTS"
	if os.Getenv(inside) == "" {
		t.Parallel()
		cmd := exec.Command(os.Args[0], "-test.run=^TestMounts$")
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
			t.Skipf("needs user namespaces: %v", err)
		}
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	mounted := func(dir string) {
		t.Helper()
		err := errors.Join(os.MkdirAll(dir, 0o755), unix.Mount("tmpfs", dir, "tmpfs", 0, ""), os.WriteFile(dir+"/kept", nil, 0o644))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if _, err := os.Lstat(dir + "/kept"); err != nil {
				t.Errorf("what was mounted is gone: %v", err)
			}
			_ = unix.Unmount(dir, unix.MNT_DETACH)
		})
	}
	before := parse(t, `
		d/ 0755
		d/f 0644 f`)
	b := newBed(t, before)
	s := b.open(t)
	begin := func() *Tx {
		t.Helper()
		tx, err := s.Begin(openSet(t, b.root), Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}

	tx, l := beginLayers(t, b, s)
	mounted(b.root + "/d/m")
	if err := os.MkdirAll(l.Upper+"/d/m", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.CaptureLayers(); err == nil || !strings.Contains(err.Error(), "another file system") {
		t.Errorf("capture of layers: %v", err)
	}

	if err := begin().Snapshot([]string{b.root}); !errors.Is(err, unix.EXDEV) {
		t.Errorf("snapshot: %v", err)
	}

	before.put("d/m", obj{kind: changeset.Dir, mode: 0o1777})
	before.put("d/m/kept", file(0o644, ""))
	for p, o := range before {
		o.orig = p
	}
	after := before.clone()
	after.remove("d")
	if err := begin().Apply(derive(t, b.root, before, after)); !errors.Is(err, unix.EXDEV) {
		t.Errorf("a directory with something mounted in it goes away: %v", err)
	}

	trash := filepath.Join(s.path, trashDir, receiptID(1))
	mounted(trash + "/slots/1/m")
	if err := s.emptyTrash(); !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.EBUSY) {
		t.Errorf("trash: %v", err)
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

// A kernel that cannot exchange two files gets another way of doing it.
func TestNoExchange(t *testing.T) {
	t.Parallel()
	before := parse(t, `f 0644 old`)
	b := newBed(t, before)
	after := before.clone()
	after.put("f", file(0o644, "new"))
	s := b.open(t)
	s.disk.hook = func(c Call) error {
		if c.Op == "exchange" {
			return unix.EINVAL
		}
		return nil
	}
	if _, err := b.apply(t, s, derive(t, b.root, before, after)); err != nil {
		t.Fatal(err)
	}
	sameTree(t, "after", dumpDisk(t, b.root, nil), after)
}

// What is given up and cannot be taken back says both, once.
func TestAbandon(t *testing.T) {
	t.Parallel()
	before := parse(t, `f 0644 f`)
	b := newBed(t, before)
	after := before.clone()
	after.remove("f")
	tx, err := b.open(t).Begin(openSet(t, b.root), Options{NoSync: true})
	if err == nil {
		err = tx.Apply(derive(t, b.root, before, after))
	}
	if err == nil {
		err = os.WriteFile(b.root+"/f", []byte("theirs"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	reason := errors.New("the reason")
	err = tx.Abandon(reason)
	if !errors.Is(err, reason) || !errors.Is(err, ErrBlocked) || !strings.Contains(err.Error(), "something else is there now") {
		t.Errorf("got %v", err)
	}
	if again := tx.Abandon(err); again != err {
		t.Errorf("again: %v", again)
	}
}

// An undo that is given up does again what it took back, but for what is in its way.
func TestUndoGivenUpAndInTheWay(t *testing.T) {
	t.Parallel()
	b := newBed(t, model{})
	after := model{}
	after.put("p", file(0o644, "p"))
	after.put("q", file(0o644, "q"))
	s := b.open(t)
	id, err := b.apply(t, s, derive(t, b.root, model{}, after))
	if err != nil {
		t.Fatal(err)
	}
	var moved []string
	s.disk.hook = func(c Call) error {
		if c.Op != "move" || c.After || c.Entry != "p" && c.Entry != "q" {
			return nil
		}
		if moved = append(moved, c.Entry); len(moved) != 2 {
			return nil
		}
		return errors.Join(os.WriteFile(filepath.Join(b.root, moved[1]), []byte("theirs"), 0), os.WriteFile(filepath.Join(b.root, moved[0]), []byte("theirs"), 0o644))
	}
	err = s.Undo(id)
	if !errors.Is(err, ErrBlocked) || !strings.Contains(err.Error(), "something else is there") {
		t.Errorf("got %v", err)
	}
	if len(moved) < 2 {
		t.Fatal("nothing was taken back")
	}
	for _, name := range moved[:2] {
		if data, err := os.ReadFile(filepath.Join(b.root, name)); string(data) != "theirs" {
			t.Errorf("%s has %q, %v", name, data, err)
		}
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

// What cannot be looked at is no drift.
func TestVerifyFails(t *testing.T) {
	t.Parallel()
	b := newBed(t, model{})
	set := openSet(t, b.root)
	path := b.root + "/" + strings.Repeat("x", 300)
	if drifts, err := verifyOne(set, path, &changeset.State{Kind: changeset.File}, nil); !errors.Is(err, unix.ENAMETOOLONG) {
		t.Errorf("got %v, %v", drifts, err)
	}
}

// What is to be copied and is gone has moved.
func TestOriginGone(t *testing.T) {
	t.Parallel()
	b := newBed(t, parse(t, `f 0644 f`))
	st, err := openSet(t, b.root).Lstat(b.root + "/f")
	if err == nil {
		err = os.Remove(b.root + "/f")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.apply(t, b.open(t), &changeset.Changeset{Changes: []changeset.Change{{
		Path: b.root + "/copy", After: st.State(), Content: &changeset.Content{Origin: &changeset.Origin{Path: b.root + "/f", Stamp: st}},
	}}})
	if !errors.Is(err, ErrMoved) {
		t.Errorf("got %v", err)
	}
}

// Before an undo that is given up does again what it took back, it is durable that it
// does: a recovery that did not know would take back the rest.
func TestUndoGivenUpDurably(t *testing.T) {
	t.Parallel()
	b := newBed(t, model{})
	after := model{}
	after.put("p", file(0o644, "p"))
	after.put("q", file(0o644, "q"))
	s := b.open(t)
	s.disk.noSync = false
	id, err := b.apply(t, s, derive(t, b.root, model{}, after))
	if err != nil {
		t.Fatal(err)
	}
	out, durable, again := 0, false, 0
	s.disk.hook = func(c Call) error {
		inTree := func(name string) bool { return name == "p" || name == "q" }
		switch {
		case c.After:
		case c.Op == "sync" || c.Op == "fsync":
			durable = true
		case c.Op == "move" && inTree(c.Entry):
			if out++; out == 2 {
				return os.WriteFile(filepath.Join(b.root, c.Entry), []byte("theirs"), 0)
			}
		case c.Op == "move" && inTree(c.NewEntry):
			// The first is the one that was found changed.
			if again++; again == 1 {
				durable = false
			} else if !durable {
				t.Error("it is done again, and that is not durable")
			}
		}
		return nil
	}
	if err := s.Undo(id); err == nil {
		t.Error("it went through")
	}
	if out < 2 || again < 2 {
		t.Errorf("%d were taken out, %d put back", out, again)
	}
}
