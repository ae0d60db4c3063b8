package commit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

const benchDirs = 2500

// BenchmarkCommit makes 2,500 directories, each with a 64-byte file and a link,
// and with a mode that no umask gives: 10,000 steps. "tree" makes them below one
// new directory, "flat" directly in an existing one, so that each is moved to
// its place by itself; "bare" does the same by plain calls and one sync.
func BenchmarkCommit(b *testing.B) {
	content := make([]byte, 64)
	for _, sub := range []string{"tree", "flat"} {
		b.Run("bare/"+sub, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				root := b.TempDir()
				b.StartTimer()
				if err := bare(root, sub, content); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				os.RemoveAll(root)
				b.StartTimer()
			}
		})
		for _, noSync := range []bool{false, true} {
			b.Run(fmt.Sprintf("commit/%s/nosync=%v", sub, noSync), func(b *testing.B) {
				for range b.N {
					b.StopTimer()
					bd := newBedIn(b, b.TempDir(), model{})
					s, err := OpenStore(bd.store)
					if err != nil {
						b.Fatal(err)
					}
					set := openSet(b, bd.root)
					cs := benchChangeset(bd.root, sub, content)
					b.StartTimer()
					tx, err := s.Begin(set, Options{NoSync: noSync})
					if err == nil {
						err = tx.Apply(cs)
					}
					if err == nil {
						_, err = tx.Commit(&Receipt{})
					}
					if err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					s.Close()
					os.RemoveAll(filepath.Dir(bd.root))
					b.StartTimer()
				}
			})
		}
	}
}

func benchPath(sub string, i int) string {
	if sub == "tree" {
		return fmt.Sprintf("top/d%04d", i)
	}
	return fmt.Sprintf("d%04d", i)
}

func benchChangeset(root, sub string, content []byte) *changeset.Changeset {
	cs := &changeset.Changeset{}
	add := func(p string, st changeset.State) {
		st.UID, st.GID = -1, -1
		c := changeset.Change{Path: filepath.Join(root, p), After: &st}
		if st.Kind == changeset.File {
			c.Content = &changeset.Content{Bytes: content}
		}
		cs.Changes = append(cs.Changes, c)
	}
	if sub == "tree" {
		add("top", changeset.State{Kind: changeset.Dir, Mode: 0o755})
	}
	for i := range benchDirs {
		d := benchPath(sub, i)
		add(d, changeset.State{Kind: changeset.Dir, Mode: 0o775})
		add(d+"/f", changeset.State{Kind: changeset.File, Mode: 0o644})
		add(d+"/l", changeset.State{Kind: changeset.Symlink, Target: "f"})
	}
	cs.Sort()
	return cs
}

func bare(root, sub string, content []byte) error {
	at, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if sub == "tree" {
		if err := unix.Mkdirat(at, "top", 0o755); err != nil {
			return err
		}
	}
	for i := range benchDirs {
		d := benchPath(sub, i)
		if err := unix.Mkdirat(at, d, 0o755); err != nil {
			return err
		}
		fd, err := unix.Openat(at, d+"/f", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
		if err != nil {
			return err
		}
		if _, err := unix.Write(fd, content); err != nil {
			return err
		}
		unix.Close(fd)
		if err := unix.Symlinkat("f", at, d+"/l"); err != nil {
			return err
		}
		if err := unix.Fchmodat(at, d, 0o775, 0); err != nil {
			return err
		}
	}
	return syncFS(at)
}
