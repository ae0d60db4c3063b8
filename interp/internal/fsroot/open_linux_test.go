package fsroot

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPassThroughUnreadable: a directory that may be searched and not listed can
// be passed, as by any path name.
func TestPassThroughUnreadable(t *testing.T) {
	t.Parallel()
	dir := tree(t, "r/closed/open/", "r/closed/open/f=abc")
	r := filepath.Join(dir, "r")
	s := openSet(t, r)
	// As root, the directory is another user's; root itself may list anything.
	mode := os.FileMode(0o711)
	if os.Geteuid() != 0 {
		mode = 0o311
	}
	if err := os.Chmod(filepath.Join(r, "closed"), mode); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(r, "closed"), 0o755)
	if os.Geteuid() == 0 {
		// The thread loses root's rights over files and is not used again.
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread()
			if _, err := unix.SetfsgidRetGid(65534); err != nil {
				t.Error(err)
			}
			if _, err := unix.SetfsuidRetUid(65534); err != nil {
				t.Error(err)
			}
			passThrough(t, s, r)
		}()
		<-done
		return
	}
	passThrough(t, s, r)
}

func passThrough(t *testing.T, s *Set, r string) {
	d, err := s.OpenDir(filepath.Join(r, "closed"))
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := d.Names(); !errors.Is(err, unix.EACCES) {
		t.Errorf("listing it: %v, want EACCES; the test proves nothing", err)
	}
	d, err = s.OpenDir(filepath.Join(r, "closed/open"))
	if err != nil {
		t.Errorf("passing it: %v", err)
		return
	}
	if names, err := d.Names(); err != nil || len(names) != 1 {
		t.Errorf("listing what is behind it: %q, %v", names, err)
	}
	if data, _, err := d.ReadFile("f", 10); err != nil || string(data) != "abc" {
		t.Errorf("reading behind it: %q, %v", data, err)
	}
	fd, err := openByComponent(s.roots[0].dir.fd, "closed/open")
	if err != nil {
		t.Errorf("passing it component by component: %v", err)
		return
	}
	unix.Close(fd)
}

// TestSwapRace opens a directory that somebody exchanges all the time for a
// link to one outside. Sometimes it opens, sometimes it does not; what opens is
// never the one outside.
func TestSwapRace(t *testing.T) {
	t.Parallel()
	const rounds = 20_000
	for _, tc := range []struct {
		name string
		open func(s *Set, p string) (int, error)
	}{
		{"OpenDir", func(s *Set, p string) (int, error) {
			s.Forget("/")
			d, err := s.OpenDir(p)
			if err != nil {
				return -1, err
			}
			return unix.Dup(d.fd)
		}},
		{"OpenDir, parents first", func(s *Set, p string) (int, error) {
			s.Forget("/")
			if _, err := s.OpenDir(filepath.Dir(p)); err != nil {
				return -1, err
			}
			d, err := s.OpenDir(p)
			if err != nil {
				return -1, err
			}
			return unix.Dup(d.fd)
		}},
		{"openByComponent", func(s *Set, p string) (int, error) {
			_, rel, _ := s.Locate(p)
			return openByComponent(s.roots[0].dir.fd, rel)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, "r/a/x/inner/", "out/inner/", "r/a/y -> {D}/out")
			r := filepath.Join(dir, "r")
			x, y := filepath.Join(r, "a/x"), filepath.Join(r, "a/y")
			swap := func() error { return unix.Renameat2(unix.AT_FDCWD, x, unix.AT_FDCWD, y, unix.RENAME_EXCHANGE) }
			if err := swap(); err != nil {
				t.Skipf("the kernel or file system has no RENAME_EXCHANGE: %v", err)
			}
			s := openSet(t, r)
			outside := stampAt(t, filepath.Join(dir, "out/inner"))
			inside := stampAt(t, filepath.Join(r, "a/y/inner"))
			var stop atomic.Bool
			done := make(chan error)
			go func() {
				for !stop.Load() {
					if err := swap(); err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
			opened, refused := 0, 0
			for range rounds {
				fd, err := tc.open(s, filepath.Join(x, "inner"))
				if err != nil {
					if !isLinkError(err) {
						t.Errorf("error %v", err)
						break
					}
					refused++
					continue
				}
				st, err := StampFD(fd)
				unix.Close(fd)
				if err != nil || st.SameObject(outside) || !st.SameObject(inside) {
					t.Errorf("opened another directory than the one inside: outside %t, %v", st.SameObject(outside), err)
					break
				}
				opened++
			}
			stop.Store(true)
			if err := <-done; err != nil {
				t.Error(err)
			}
			t.Logf("opened %d times, refused %d times", opened, refused)
		})
	}
}
