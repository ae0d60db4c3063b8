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
