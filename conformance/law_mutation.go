package conformance

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"steps.example/interp/changeset"
	"steps.example/interp/commit"
)

// mutation is a way to spoil what a change left at its path, and the drift that
// verify must find there then.
type mutation struct {
	name  string
	drift commit.DriftKind
	// spoil makes the path another one; aside is where nothing is, on the same file
	// system. mend makes it what it was.
	spoil, mend func(path, aside string) error
}

// mutations are all ways to spoil what c left, that the receipt promises to tell.
func mutations(c *changeset.Change) []mutation {
	if c.After == nil {
		// A link above it, which took a directory's place, leads to something else.
		if _, err := os.Lstat(c.Path); err == nil {
			return nil
		}
		return []mutation{{"something new", commit.DriftAppeared,
			func(path, _ string) error { return os.WriteFile(path, nil, 0o644) },
			func(path, _ string) error { return os.Remove(path) },
		}}
	}
	list := []mutation{
		instead("deleted", commit.DriftMissing, func(string) error { return nil }),
	}
	another := map[changeset.Kind]func(string) error{
		changeset.File:    func(path string) error { return os.WriteFile(path, nil, 0o644) },
		changeset.Dir:     func(path string) error { return os.Mkdir(path, 0o755) },
		changeset.Symlink: func(path string) error { return os.Symlink("elsewhere", path) },
	}
	for _, kind := range []changeset.Kind{changeset.File, changeset.Dir, changeset.Symlink} {
		if kind != c.After.Kind {
			list = append(list, instead("a "+string(kind)+" now", commit.DriftKindOf, another[kind]))
		}
	}
	if os.Geteuid() == 0 && c.After.UID != changeset.KeepOwner {
		list = append(list, owned(c.After.UID+1, c.After))
	}
	if c.After.Kind == changeset.Symlink {
		return append(list, instead("another target", commit.DriftTarget, func(path string) error {
			return os.Symlink(c.After.Target+"/.", path)
		}))
	}
	list = append(list, mutation{"another mode", commit.DriftMode,
		func(path, _ string) error { return chmod(path, c.After.Mode^0o011) },
		func(path, _ string) error { return chmod(path, c.After.Mode) },
	})
	if c.After.Kind != changeset.File {
		return list
	}
	list = append(list, written("more content", c.After, func(f *os.File) error {
		_, err := f.WriteAt([]byte("!"), c.After.Size)
		return err
	}, func(f *os.File) error { return f.Truncate(c.After.Size) }))
	// What only got another mode, and was not made, has no hash.
	if c.After.Size > 0 && (c.After.SHA256 != "" || c.From != "") {
		list = append(list, written("other content of that length", c.After, flip, flip))
	}
	if c.After.MTime != 0 {
		touch := func(path string, nsec int64) error {
			return os.Chtimes(path, time.Time{}, time.Unix(0, nsec))
		}
		list = append(list, mutation{"another time", commit.DriftTime,
			func(path, _ string) error { return touch(path, c.After.MTime+1e9) },
			func(path, _ string) error { return touch(path, c.After.MTime) },
		})
	}
	return list
}

// instead is a mutation that takes the object away and makes another one.
func instead(name string, drift commit.DriftKind, make func(path string) error) mutation {
	return mutation{name, drift,
		func(path, aside string) error { return errors.Join(os.Rename(path, aside), make(path)) },
		func(path, aside string) error { return errors.Join(os.RemoveAll(path), os.Rename(aside, path)) },
	}
}

// owned is a mutation that gives the object to somebody else. That may cost set-id
// bits, which come back with the owner.
func owned(uid int, is *changeset.State) mutation {
	give := func(to int) func(string, string) error {
		return func(path, _ string) error {
			err := os.Lchown(path, to, -1)
			if err == nil && is.Kind != changeset.Symlink {
				err = chmod(path, is.Mode)
			}
			return err
		}
	}
	return mutation{"another owner", commit.DriftOwner, give(uid), give(is.UID)}
}

// written is a mutation that writes to the file. Its mode is as before, and so is,
// where the receipt has a hash, its time.
func written(name string, is *changeset.State, do, undo func(*os.File) error) mutation {
	var was time.Time
	write := func(path string, f func(*os.File) error, keep bool) error {
		return opened(path, is.Mode, 0o600, func() error {
			file, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer file.Close()
			if info, err := file.Stat(); err != nil {
				return err
			} else if was.IsZero() {
				was = info.ModTime()
			}
			err = f(file)
			// Writing may cost set-id bits.
			err = errors.Join(err, chmod(path, is.Mode|0o600))
			if keep {
				return errors.Join(err, os.Chtimes(path, time.Time{}, was))
			}
			return errors.Join(err, os.Chtimes(path, time.Time{}, was.Add(time.Second)))
		})
	}
	return mutation{name, commit.DriftContent,
		func(path, _ string) error { return write(path, do, is.SHA256 != "") },
		func(path, _ string) error { return write(path, undo, true) },
	}
}

// flip changes the first byte; a second time brings it back.
func flip(f *os.File) error {
	var b [1]byte
	if _, err := f.ReadAt(b[:], 0); err != nil {
		return err
	}
	b[0] ^= 1
	_, err := f.WriteAt(b[:], 0)
	return err
}

// mutated spoils what the receipt says in every way, or in one that the seed draws,
// and mends it again: verify finds just that.
func (r *runner) mutated(store *commit.Store, receipt *commit.Receipt) error {
	if receipt == nil {
		return nil
	}
	type way struct {
		c *changeset.Change
		mutation
	}
	var ways []way
	for i := range receipt.Changeset.Changes {
		c := &receipt.Changeset.Changes[i]
		// Where its directory is gone, too, there is nothing to put anything in.
		if info, err := os.Lstat(filepath.Dir(c.Path)); err != nil || !info.IsDir() {
			continue
		}
		for _, m := range mutations(c) {
			ways = append(ways, way{c, m})
		}
	}
	if !r.AllMutations && len(ways) > 0 {
		draw := rand.New(rand.NewPCG(r.Seed, uint64(crc32.ChecksumIEEE([]byte(r.Name)))))
		ways = []way{ways[draw.IntN(len(ways))]}
	}
	for _, w := range ways {
		if err := r.mutate(store, receipt, w.c, w.mutation); err != nil {
			return fmt.Errorf("%s: %s (seed %d): %w", w.c.Path, w.name, r.Seed, err)
		}
		r.mutations++
	}
	return nil
}

func (r *runner) mutate(store *commit.Store, receipt *commit.Receipt, c *changeset.Change, m mutation) error {
	parent := filepath.Dir(c.Path)
	info, err := os.Lstat(parent)
	if err != nil {
		return err
	}
	aside := filepath.Join(filepath.Dir(r.root), "aside")
	mode := unixMode(info.Mode())
	var drift []commit.Drift
	err = opened(parent, mode, 0o700, func() (err error) {
		// A directory that its owner may not write to cannot be moved.
		if c.After != nil && c.After.Kind == changeset.Dir && m.drift != commit.DriftMode && m.drift != commit.DriftOwner {
			if err := chmod(c.Path, c.After.Mode|0o700); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, chmod(c.Path, c.After.Mode)) }()
		}
		if err := m.spoil(c.Path, aside); err != nil {
			return err
		}
		drift, err = store.Verify(receipt)
		return errors.Join(err, m.mend(c.Path, aside))
	})
	if err != nil {
		return err
	}
	if !found(drift, c, m) {
		return fmt.Errorf("verify must find %q there, and finds %v", m.drift, drift)
	}
	return nil
}

// found tells whether a drift is that of the mutation.
func found(list []commit.Drift, c *changeset.Change, m mutation) bool {
	return slices.ContainsFunc(list, func(d commit.Drift) bool { return d.Path == c.Path && d.Kind == m.drift })
}
