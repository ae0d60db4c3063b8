package commit

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

// TestLayerAttacks: what makes it uncertain what a command did is refused, and
// the tree is before. Each is first shown to matter: without it all goes well.
func TestLayerAttacks(t *testing.T) {
	needWhiteouts(t)
	setxattr := func(path, name, value string) error { return unix.Setxattr(path, name, []byte(value), 0) }
	for _, tc := range []struct {
		name   string
		attack func(root string, l Layer, outside string) error
		say    string
	}{
		{"upper swapped for a link", func(_ string, l Layer, outside string) error {
			return errors.Join(os.Rename(l.Upper, l.Upper+"2"), os.Symlink(outside, l.Upper))
		}, "not the directory that was made"},
		{"upper swapped for another directory", func(_ string, l Layer, outside string) error {
			return errors.Join(os.Rename(l.Upper, l.Upper+"2"), os.Mkdir(l.Upper, 0o755))
		}, "not the directory that was made"},
		{"what upper is in swapped for a link", func(_ string, l Layer, outside string) error {
			dir := filepath.Dir(l.Upper)
			return errors.Join(os.Rename(dir, dir+"2"), os.Symlink(dir+"2", dir))
		}, "not the directory that was made"},
		{"upper gone", func(_ string, l Layer, _ string) error { return os.RemoveAll(l.Upper) }, "not the directory that was made"},
		{"file below written to", func(root string, _ Layer, _ string) error {
			return os.WriteFile(root+"/f", []byte("somebody else's"), 0o644)
		}, "somebody else changed it"},
		{"file below replaced", func(root string, _ Layer, _ string) error {
			return errors.Join(os.WriteFile(root+"/new", []byte("f"), 0o644), os.Rename(root+"/new", root+"/f"))
		}, "somebody else changed it"},
		{"removed file written to", func(root string, _ Layer, _ string) error {
			return os.WriteFile(root+"/d/gone", []byte("somebody else's"), 0o644)
		}, "somebody else changed it"},
		{"removed file removed", func(root string, _ Layer, _ string) error { return os.Remove(root + "/d/gone") }, "not there"},
		{"directory below swapped for a link", func(root string, _ Layer, outside string) error {
			return errors.Join(os.Rename(root+"/d", root+"/d2"), os.Symlink(outside, root+"/d"))
		}, "somebody else changed it"},
		{"hard link below", func(root string, l Layer, _ string) error {
			return os.WriteFile(l.Upper+"/twin", []byte("changed"), 0o644)
		}, "hard link"},
		{"redirect", func(_ string, l Layer, _ string) error {
			return setxattr(l.Upper+"/d", "user.overlay.redirect", "/etc")
		}, "user.overlay.redirect"},
		{"metacopy", func(_ string, l Layer, _ string) error { return setxattr(l.Upper+"/f", "user.overlay.metacopy", "") }, "user.overlay.metacopy"},
		{"root's opaque", func(_ string, l Layer, _ string) error {
			return setxattr(l.Upper+"/d", "trusted.overlay.opaque", "y")
		}, "trusted.overlay.opaque"},
		{"whiteout in an attribute", func(_ string, l Layer, _ string) error {
			return setxattr(l.Upper+"/f", "user.overlay.whiteout", "y")
		}, "user.overlay.whiteout"},
		{"directory with such whiteouts", func(_ string, l Layer, _ string) error {
			return setxattr(l.Upper+"/d", "user.overlay.opaque", "x")
		}, `unknown value "x"`},
		{"opaque file", func(_ string, l Layer, _ string) error { return setxattr(l.Upper+"/f", "user.overlay.opaque", "y") }, "opaque"},
		{"whiteout of nothing", func(_ string, l Layer, _ string) error {
			return unix.Mknod(l.Upper+"/nothing", unix.S_IFCHR, 0)
		}, "not there"},
		{"too many", func(_ string, l Layer, _ string) error {
			for i := range 20 {
				if err := os.WriteFile(l.Upper+"/"+string(rune('A'+i)), nil, 0o644); err != nil {
					return err
				}
			}
			return nil
		}, "at most"},
		{"too many in one that is removed", func(root string, l Layer, _ string) error {
			return unix.Mknod(l.Upper+"/many", unix.S_IFCHR, 0)
		}, "at most"},
		{"too deep", func(_ string, l Layer, _ string) error { return deep(l.Upper, 3000) }, "longer than"},
		{"fifo instead of another", func(root string, l Layer, _ string) error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Bind(fd, &unix.SockaddrUnix{Name: short(l.Upper) + "/fifo"})
		}, "replaced by another"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(tc.name, "root's ") && os.Geteuid() != 0 {
				t.Skip("only root can set such attributes")
			}
			for _, attacked := range []bool{false, true} {
				before := parse(t, `
					f 0644 f
					twin 0644 twin
					many/ 0755
					d/ 0755
					d/gone 0644 gone`)
				for i := range 20 {
					before.put("many/"+string(rune('a'+i)), file(0o644, ""))
				}
				b := newBed(t, before)
				outside := filepath.Join(filepath.Dir(b.root), "outside")
				if err := errors.Join(os.Mkdir(outside, 0o755), os.WriteFile(outside+"/secret", []byte("secret"), 0o600),
					os.Link(b.root+"/twin", outside+"/twin"), mkfifo(b.root+"/fifo")); err != nil {
					t.Fatal(err)
				}
				was, out := dumpDisk(t, b.root, nil).tree, dumpDisk(t, outside, nil)
				after := before.clone()
				after.put("f", file(0o644, "changed"))
				after.remove("d/gone")
				s := b.open(t)
				if s.maxFound = 15; tc.name == "too deep" {
					s.maxFound = 0
				}
				tx, l := beginLayers(t, b, s)
				fill(t, l, before, after)
				if !attacked {
					got, err := tx.CaptureLayers()
					if err == nil {
						err = tx.Apply(got.Changes)
					}
					if err != nil {
						t.Fatalf("without the attack: %v", err)
					}
					if err := tx.Rollback(); err != nil {
						t.Fatal(err)
					}
					s.Close()
					continue
				}
				if err := tc.attack(b.root, l, outside); err != nil {
					t.Fatal(err)
				}
				found := dumpDisk(t, b.root, nil).tree
				if _, err := tx.CaptureLayers(); err == nil || !strings.Contains(err.Error(), tc.say) || errors.Is(err, ErrBlocked) {
					t.Errorf("capture: %v", err)
				}
				if got := dumpDisk(t, b.root, nil).tree; !reflect.DeepEqual(got, found) {
					t.Errorf("the tree changed: %v, was %v", got, was)
				}
				if got := dumpDisk(t, outside, nil); !reflect.DeepEqual(got.tree, out.tree) {
					t.Errorf("outside changed: %v", got)
				}
				nothingLeft(t, s)
				s.Close()
			}
		})
	}
}

// deep makes directories in each other, more than there are descriptors or than
// a path can name.
func deep(dir string, n int) error {
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	for range n {
		if err != nil {
			return err
		}
		if err = unix.Mkdirat(at, "deeper", 0o755); err != nil {
			break
		}
		var next int
		next, err = unix.Openat(at, "deeper", unix.O_PATH|unix.O_DIRECTORY, 0)
		unix.Close(at)
		at = next
	}
	return errors.Join(err, unix.Close(at))
}

// short names a directory by descriptor: the path of a socket may not be long.
// The descriptor is left to the end of the process.
func short(dir string) string {
	fd, err := unix.Open(dir, unix.O_PATH, 0)
	if err != nil {
		panic(err)
	}
	return procFD(fd)
}

// TestSnapshotBounds: a command that leaves too much is refused and taken back.
func TestSnapshotBounds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		make func(root string) error
		say  string
	}{
		{"too deep", func(root string) error { return deep(root+"/d", 3000) }, "longer than"},
		{"too many", func(root string) error {
			for i := range 20 {
				if err := os.WriteFile(root+"/d/"+string(rune('A'+i)), nil, 0o644); err != nil {
					return err
				}
			}
			return nil
		}, "at most"},
		{"too many in all", func(root string) error {
			for i := range 20 {
				if err := os.Mkdir(root+"/"+strings.Repeat("x/", i)+"x", 0o755); err != nil {
					return err
				}
			}
			return nil
		}, "more than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			before := parse(t, `
				d/ 0755
				d/f 0644 f`)
			b := newBed(t, before)
			s := b.open(t)
			if s.maxFound = 10; tc.name == "too deep" {
				s.maxFound = 0
			}
			tx, err := s.Begin(openSet(t, b.root), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := tx.Snapshot([]string{b.root}); err != nil {
				t.Fatal(err)
			}
			if err := tc.make(b.root); err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Capture(); err == nil || !strings.Contains(err.Error(), tc.say) || errors.Is(err, ErrBlocked) {
				t.Errorf("capture: %v", err)
			}
			sameTree(t, "before", dumpDisk(t, b.root, nil), before)
			nothingLeft(t, s)
		})
	}
}

// TestCapturedContent: what was judged is what is applied. A file that is not
// what it was when it was captured is refused, as is one whose layer is gone.
func TestCapturedContent(t *testing.T) {
	t.Parallel()
	needWhiteouts(t)
	for _, way := range []string{"layers", "snapshot"} {
		for _, tc := range []struct {
			name   string
			attack func(tx *Tx, path string) error
			fine   bool
		}{
			{"none", func(*Tx, string) error { return nil }, true},
			{"written to", func(_ *Tx, p string) error { return os.WriteFile(p, []byte("CHANGED"), 0o644) }, false},
			{"same size and times", func(_ *Tx, p string) error {
				return errors.Join(os.WriteFile(p, []byte("CHANGED"), 0o644), os.Chtimes(p, baseTime, baseTime))
			}, false},
			{"swapped for a link", func(_ *Tx, p string) error { return errors.Join(os.Remove(p), os.Symlink("/etc/passwd", p)) }, false},
			{"swapped for a fifo", func(_ *Tx, p string) error { return errors.Join(os.Remove(p), mkfifo(p)) }, false},
			{"gone", func(_ *Tx, p string) error { return os.Remove(p) }, false},
			{"layers dropped", func(tx *Tx, _ string) error { return tx.DropLayers() }, way == "snapshot"},
		} {
			t.Run(way+"/"+tc.name, func(t *testing.T) {
				t.Parallel()
				before := parse(t, `f 0644 f`)
				b := newBed(t, before)
				after := before.clone()
				after.put("f", file(0o644, "changed"))
				s := b.open(t)
				var tx *Tx
				var got *changeset.Captured
				if way == "layers" {
					var l Layer
					tx, l = beginLayers(t, b, s)
					fill(t, l, before, after)
					if err := os.Chtimes(filepath.Join(l.Upper, "f"), baseTime, baseTime); err != nil {
						t.Fatal(err)
					}
					var err error
					if got, err = tx.CaptureLayers(); err != nil {
						t.Fatal(err)
					}
				} else {
					var err error
					if tx, err = s.Begin(openSet(t, b.root), Options{}); err == nil {
						err = tx.Snapshot([]string{b.root})
					}
					if err == nil {
						execute(t, b.root, before.clone(), after)
						err = os.Chtimes(filepath.Join(b.root, "f"), baseTime, baseTime)
					}
					if err == nil {
						got, err = tx.Capture()
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if err := tc.attack(tx, got.Changes.Changes[0].Content.Origin.Path); err != nil {
					t.Fatal(err)
				}
				err := tx.Apply(got.Changes)
				if !tc.fine {
					if err == nil || errors.Is(err, ErrBlocked) {
						t.Errorf("apply: %v", err)
					}
					sameTree(t, "before", dumpDisk(t, b.root, nil), before)
					nothingLeft(t, s)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				sameTree(t, "after", dumpDisk(t, b.root, nil), after)
				if st, err := os.Stat(filepath.Join(b.root, "f")); err != nil || !st.ModTime().Equal(baseTime) {
					t.Errorf("its time was not kept: %v, %v", st.ModTime(), err)
				}
				if _, err := tx.Commit(&Receipt{}); err != nil {
					t.Fatal(err)
				}
				nothingLeft(t, s)
			})
		}
	}
}

// TestNewInodes: nothing that a command made becomes part of the tree, since it
// may still have it open.
func TestNewInodes(t *testing.T) {
	t.Parallel()
	needWhiteouts(t)
	for _, way := range []string{"layers", "snapshot"} {
		before := parse(t, `
			same 0644 same
			f 0644 f
			d/ 0755`)
		b := newBed(t, before)
		after := before.clone()
		after.put("f", file(0o644, "changed"))
		after.put("d/new", file(0o644, "new"))
		s := b.open(t)
		var tx *Tx
		top := b.root
		if way == "layers" {
			var l Layer
			tx, l = beginLayers(t, b, s)
			fill(t, l, before, after)
			top = l.Upper
		} else {
			var err error
			if tx, err = s.Begin(openSet(t, b.root), Options{}); err == nil {
				err = tx.Snapshot([]string{b.root})
			}
			if err != nil {
				t.Fatal(err)
			}
			execute(t, b.root, before.clone(), after)
			// An equal file instead of the one that was there.
			p := filepath.Join(b.root, "same")
			if err := errors.Join(os.Rename(p, p+"2"), os.WriteFile(p, []byte("same"), 0o644), os.Remove(p+"2")); err != nil {
				t.Fatal(err)
			}
		}
		open := map[string]*os.File{}
		for _, p := range []string{"same", "f", "d/new"} {
			if f, err := os.OpenFile(filepath.Join(top, p), os.O_RDWR, 0); err == nil {
				defer f.Close()
				open[p] = f
			}
		}
		got, err := map[string]func() (*changeset.Captured, error){"layers": tx.CaptureLayers, "snapshot": tx.Capture}[way]()
		if err == nil {
			err = tx.Apply(got.Changes)
		}
		if err == nil {
			_, err = tx.Commit(&Receipt{})
		}
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		for p, f := range open {
			if _, err := f.WriteAt([]byte("still here"), 0); err != nil {
				t.Fatalf("%s: %s: %v", way, p, err)
			}
		}
		if len(open) < 2 {
			t.Fatalf("%s: the test proves nothing: %v", way, open)
		}
		sameTree(t, way, dumpDisk(t, b.root, nil), after)
	}
}

// TestHoles: copies of large files keep their holes.
func TestHoles(t *testing.T) {
	t.Parallel()
	needWhiteouts(t)
	b := newBed(t, model{})
	make := func(p string) {
		f, err := os.Create(p)
		if err == nil {
			_, err = f.WriteAt([]byte("middle"), 40<<20)
		}
		if err == nil {
			_, err = f.WriteAt([]byte("end"), 80<<20)
		}
		if err == nil {
			err = errors.Join(f.Truncate(100<<20), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	blocks := func(p string) int64 {
		var st unix.Stat_t
		if err := unix.Stat(p, &st); err != nil {
			t.Fatal(err)
		}
		return st.Blocks * 512
	}
	make(b.root + "/old")
	if blocks(b.root+"/old") > 20<<20 {
		t.Skip("needs a file system with holes")
	}
	sum := func(p string) string {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		return hashHex(data)
	}
	want := sum(b.root + "/old")
	s := b.open(t)
	tx, err := s.Begin(openSet(t, b.root), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Snapshot([]string{b.root}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(b.root + "/old"); err != nil {
		t.Fatal(err)
	}
	make(b.root + "/new")
	got, err := tx.Capture()
	if err != nil {
		t.Fatal(err)
	}
	if blocks(b.root+"/old") > 20<<20 || sum(b.root+"/old") != want {
		t.Error("what was put back is another file, or has no holes")
	}
	if err := tx.Apply(got.Changes); err != nil {
		t.Fatal(err)
	}
	if blocks(b.root+"/new") > 20<<20 || sum(b.root+"/new") != want {
		t.Error("what was applied is another file, or has no holes")
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
}
