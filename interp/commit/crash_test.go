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
)

// crashing runs f with a hook that panics at the n-th point, counted from 0. It
// reports whether it got there.
func crashing(s *Store, n int, f func()) (crashed bool) {
	count := 0
	s.disk.hook = func(Call) error {
		if count++; count == n+1 {
			panic(errCrash)
		}
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			if p != errCrash {
				panic(p)
			}
			crashed = true
		}
	}()
	f()
	return false
}

// TestCrashEverywhere stops a transaction before and after every single call
// that changes anything, and recovers.
func TestCrashEverywhere(t *testing.T) {
	for _, sc := range scenarios {
		for _, noFlags := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", sc.name, noFlags), func(t *testing.T) {
				t.Parallel()
				for n := 0; crashOnce(t, sc, noFlags, n); n++ {
				}
			})
		}
	}
}

// TestCrashOtherFileSystem has the store on another file system than the tree.
func TestCrashOtherFileSystem(t *testing.T) {
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			for n, crashed := 0, true; crashed; n++ {
				before := parse(t, sc.before)
				b := bed{otherFileSystem(t), filepath.Join(t.TempDir(), "store")}
				before.make(t, b.root)
				crashed = crashAt(t, sc, b, before, false, n)
				loosen(b.root)
				os.RemoveAll(b.root)
			}
		})
	}
}

// otherFileSystem is a directory on another file system than the tests' own.
func otherFileSystem(t *testing.T) string {
	for _, dir := range []string{"/dev/shm", "/var/tmp", "/tmp", "/run"} {
		var here, there unix.Stat_t
		if unix.Stat(os.TempDir(), &here) != nil || unix.Stat(dir, &there) != nil || here.Dev == there.Dev {
			continue
		}
		if made, err := os.MkdirTemp(dir, "steps-commit"); err == nil {
			t.Cleanup(func() { loosen(made); os.RemoveAll(made) })
			return made
		}
	}
	t.Skip("needs two writable file systems among /dev/shm, /var/tmp, /tmp, /run and the temporary directory")
	return ""
}

// TestMoveAcrossFileSystems: moves are never copies.
func TestMoveAcrossFileSystems(t *testing.T) {
	t.Parallel()
	before := parse(t, `f 0644 f`)
	b := newBedIn(t, t.TempDir(), before)
	other := otherFileSystem(t)
	set := openSet(t, b.root, other)
	st, err := set.Lstat(filepath.Join(b.root, "f"))
	if err != nil {
		t.Fatal(err)
	}
	s := b.open(t)
	tx, err := s.Begin(set, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.disk.hook = func(c Call) error {
		if strings.HasPrefix(c.Name, begunPrefix) {
			t.Error("the first change was made before that was known")
		}
		return nil
	}
	err = tx.Apply(&changeset.Changeset{Changes: []changeset.Change{
		{Path: filepath.Join(b.root, "f"), Before: st.State(), Stamp: &st},
		{Path: filepath.Join(other, "f"), After: st.State(), From: filepath.Join(b.root, "f")},
	}})
	if !errors.Is(err, unix.EXDEV) || errors.Is(err, ErrBlocked) {
		t.Fatal(err)
	}
	sameTree(t, "before", dumpDisk(t, b.root, nil), before)
	sameTree(t, "other", dumpDisk(t, other, nil), model{})
	clean(t, s)
}

func crashOnce(t *testing.T, sc scenario, noFlags bool, n int) bool {
	before := parse(t, sc.before)
	return crashAt(t, sc, newBed(t, before), before, noFlags, n)
}

func crashAt(t *testing.T, sc scenario, b bed, before model, noFlags bool, n int) bool {
	defer os.RemoveAll(b.root)
	defer os.RemoveAll(b.store)
	defer loosen(b.root)
	after := before.clone()
	sc.edit(after)
	was := dumpDisk(t, b.root, nil)
	cs := derive(t, b.root, before, after)
	s := b.open(t)
	s.disk.noFlags = noFlags
	crashed := crashing(s, n, func() {
		if _, err := b.apply(t, s, cs); err != nil {
			t.Fatal(err)
		}
	})
	s.Close()
	s = b.open(t)
	defer s.Close()
	if _, err := s.Recover(RecoverOptions{}); err != nil {
		t.Fatalf("point %d: recover: %v", n, err)
	}
	eitherWay(t, b, s, fmt.Sprintf("point %d", n), was, before, after, !crashed)
	return crashed
}

// eitherWay checks that the tree is before or after, that the store agrees, and
// that undo then leads to before.
func eitherWay(t *testing.T, b bed, s *Store, what string, was state, before, after model, mustAfter bool) {
	t.Helper()
	clean(t, s)
	receipts, err := s.Receipts()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if len(receipts) == 1 {
		got := dumpDisk(t, b.root, after)
		sameTree(t, what+": after", got, after)
		sameObjects(t, what+": after", was, got, after)
		if drifts, err := s.Verify(receipts[0]); err != nil || len(drifts) > 0 {
			t.Fatalf("%s: verify: %v, %v", what, drifts, err)
		}
		if err := s.Undo(receipts[0].ID); err != nil {
			t.Fatalf("%s: undo: %v", what, err)
		}
		clean(t, s)
	} else if mustAfter {
		t.Fatalf("%s: no receipt", what)
	}
	got := dumpDisk(t, b.root, nil)
	sameTree(t, what+": before", got, before)
	sameObjects(t, what+": before", was, got, before)
}

// TestCrashRecovery stops the recovery of a stopped transaction, too, at every
// point, and then recovers.
func TestCrashRecovery(t *testing.T) {
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			step := 1
			if testing.Short() {
				step = 7
			}
			for n := 0; ; n += step {
				more := false
				for k := 0; ; k++ {
					first, second := crashTwice(t, sc, n, k)
					more = first
					if !second {
						break
					}
				}
				if !more {
					break
				}
			}
		})
	}
}

func crashTwice(t *testing.T, sc scenario, n, k int) (first, second bool) {
	before := parse(t, sc.before)
	b := newBed(t, before)
	defer os.RemoveAll(b.root)
	defer os.RemoveAll(b.store)
	defer loosen(b.root)
	after := before.clone()
	sc.edit(after)
	was := dumpDisk(t, b.root, nil)
	cs := derive(t, b.root, before, after)
	s := b.open(t)
	first = crashing(s, n, func() {
		if _, err := b.apply(t, s, cs); err != nil {
			t.Fatal(err)
		}
	})
	s.Close()
	s = b.open(t)
	second = crashing(s, k, func() {
		if _, err := s.Recover(RecoverOptions{}); err != nil {
			t.Fatalf("points %d, %d: %v", n, k, err)
		}
	})
	s.Close()
	s = b.open(t)
	defer s.Close()
	if _, err := s.Recover(RecoverOptions{}); err != nil {
		t.Fatalf("points %d, %d: recover again: %v", n, k, err)
	}
	eitherWay(t, b, s, fmt.Sprintf("points %d, %d", n, k), was, before, after, !first)
	return first, second
}

// TestCrashUndo stops an undo at every point: the tree is as after or as before.
func TestCrashUndo(t *testing.T) {
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			for n, crashed := 0, true; crashed; n++ {
				before := parse(t, sc.before)
				b := newBed(t, before)
				after := before.clone()
				sc.edit(after)
				was := dumpDisk(t, b.root, nil)
				s := b.open(t)
				id, err := b.apply(t, s, derive(t, b.root, before, after))
				if err != nil {
					t.Fatal(err)
				}
				crashed = crashing(s, n, func() {
					if err := s.Undo(id); err != nil {
						t.Fatalf("point %d: %v", n, err)
					}
				})
				s.Close()
				s = b.open(t)
				if _, err := s.Recover(RecoverOptions{}); err != nil {
					t.Fatalf("point %d: recover: %v", n, err)
				}
				eitherWay(t, b, s, fmt.Sprintf("point %d", n), was, before, after, false)
				s.Close()
				loosen(b.root)
				os.RemoveAll(b.root)
				os.RemoveAll(b.store)
			}
		})
	}
}

var errFault = errors.New("injected fault")

// TestFaultEverywhere makes every call fail, once each: the caller gets the
// error, and the tree is before, or can be recovered to before or after.
func TestFaultEverywhere(t *testing.T) {
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			for n, failed := 0, true; failed; n++ {
				before := parse(t, sc.before)
				b := newBed(t, before)
				after := before.clone()
				sc.edit(after)
				was := dumpDisk(t, b.root, nil)
				cs := derive(t, b.root, before, after)
				s := b.open(t)
				failed = false
				count := 0
				s.disk.hook = func(p Call) error {
					if p.After {
						return nil
					}
					if count++; count == n+1 {
						failed = true
						return errFault
					}
					return nil
				}
				_, err := b.apply(t, s, cs)
				if failed != errors.Is(err, errFault) && err != nil {
					t.Fatalf("fault %d: %v", n, err)
				}
				s.Close()
				s = b.open(t)
				if pending, _ := s.Pending(); len(pending) > 0 {
					if _, err := s.Recover(RecoverOptions{}); err != nil {
						t.Fatalf("fault %d: recover: %v", n, err)
					}
				}
				s.emptyTrash()
				eitherWay(t, b, s, fmt.Sprintf("fault %d", n), was, before, after, !failed)
				s.Close()
				loosen(b.root)
				os.RemoveAll(b.root)
				os.RemoveAll(b.store)
			}
		})
	}
}

// faulting runs f with a hook that fails the n-th call, counted from 0, and
// reports whether there was one.
func faulting(s *Store, n int, f func()) (failed bool) {
	count := 0
	s.disk.hook = func(p Call) error {
		if p.After {
			return nil
		}
		if count++; count == n+1 {
			failed = true
			return errFault
		}
		return nil
	}
	f()
	return failed
}

// recoverTo recovers a store and checks that the tree is before or after, and
// before once that is undone, and that nothing is left behind.
func recoverTo(t *testing.T, b bed, s *Store, what string, before, after model, mustAfter bool) {
	t.Helper()
	s.Close()
	s = b.open(t)
	defer s.Close()
	if _, err := s.Recover(RecoverOptions{}); err != nil {
		t.Fatalf("%s: recover: %v", what, err)
	}
	nothingLeft(t, s)
	receipts, err := s.Receipts()
	if err != nil {
		t.Fatal(err)
	}
	if len(receipts) == 1 {
		sameTree(t, what+": after", dumpDisk(t, b.root, nil), after)
		if drifts, err := s.Verify(receipts[0]); err != nil || len(drifts) > 0 {
			t.Fatalf("%s: verify: %v, %v", what, drifts, err)
		}
		if err := s.Undo(receipts[0].ID); err != nil {
			t.Fatalf("%s: undo: %v", what, err)
		}
	} else if mustAfter {
		t.Fatalf("%s: no receipt", what)
	}
	sameTree(t, what+": before", dumpDisk(t, b.root, nil), before)
	if entries, err := os.ReadDir(filepath.Join(b.store, receiptsDir)); err != nil || len(entries) > 0 {
		t.Fatalf("%s: receipts: %v, %v", what, entries, err)
	}
}
