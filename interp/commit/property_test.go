package commit

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"steps.example/interp/changeset"
)

// randomTree draws a tree over few names, so that paths collide often.
func randomTree(t *rapid.T) model {
	m := model{}
	for range rapid.IntRange(0, 14).Draw(t, "objects") {
		randomPut(t, m)
	}
	return m
}

func dirs(m model) []string {
	list := []string{""}
	for p, o := range m {
		if o.kind == changeset.Dir && strings.Count(p, "/") < 3 {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}

func randomPath(t *rapid.T, m model) string {
	dir := rapid.SampledFrom(dirs(m)).Draw(t, "dir")
	return filepath.Join(dir, rapid.SampledFrom([]string{"a", "a-b", "b", "c"}).Draw(t, "name"))
}

func randomPut(t *rapid.T, m model) {
	p := randomPath(t, m)
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		m.put(p, link(rapid.SampledFrom([]string{"a", "../b", "/nowhere"}).Draw(t, "target")))
	case 1:
		mode := rapid.SampledFrom([]uint32{0o644, 0o755, 0o400, 0o4755}).Draw(t, "mode")
		m.put(p, file(mode, rapid.SampledFrom([]string{"", "x", "hello"}).Draw(t, "content")))
	default:
		if o := m[p]; o == nil || o.kind != changeset.Dir {
			m.remove(p)
			m.mkdir(p, rapid.SampledFrom([]uint32{0o755, 0o700, 0o2755, 0o555}).Draw(t, "mode"))
		}
	}
}

// randomEdit changes the model as a step would.
func randomEdit(t *rapid.T, m model) {
	if len(m) == 0 {
		randomPut(t, m)
		return
	}
	p := rapid.SampledFrom(slices.Sorted(maps.Keys(m))).Draw(t, "path")
	switch rapid.IntRange(0, 5).Draw(t, "edit") {
	case 0:
		m.remove(p)
	case 1:
		if m[p].kind != changeset.Symlink {
			m[p].mode = rapid.SampledFrom([]uint32{0o755, 0o700, 0o555}).Draw(t, "mode")
		}
	case 2, 3:
		to := randomPath(t, m)
		if p != to && !strings.HasPrefix(to, p+"/") && !strings.HasPrefix(p, to+"/") {
			if rapid.Bool().Draw(t, "swap") && m[to] != nil {
				m.swap(p, to)
			} else {
				m.move(p, to)
			}
		}
	default:
		randomPut(t, m)
	}
}

// TestRandomChangesets applies random edits in one or two segments: commit
// gives after, undo gives before, rollback gives before, and moved objects keep
// their identity.
func TestRandomChangesets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		before := randomTree(rt)
		dir, err := os.MkdirTemp("", "commit")
		if err != nil {
			rt.Fatal(err)
		}
		dir, _ = filepath.EvalSymlinks(dir)
		defer func() { loosen(dir); os.RemoveAll(dir) }()
		b := bed{filepath.Join(dir, "root"), filepath.Join(dir, "store")}
		if err := os.Mkdir(b.root, 0o755); err != nil {
			rt.Fatal(err)
		}
		before.make(t, b.root)
		was := dumpDisk(t, b.root, nil)
		s := b.open(t)
		defer s.Close()
		s.disk.noFlags = rapid.Bool().Draw(rt, "no flags")
		crashAt := rapid.IntRange(0, 300).Draw(rt, "crash at")
		crash := rapid.Bool().Draw(rt, "crash")
		after := before
		run := func() error {
			set := openSet(t, b.root)
			defer set.Close()
			tx, err := s.Begin(set, Options{})
			if err != nil {
				rt.Fatal(err)
			}
			for range rapid.IntRange(1, 3).Draw(rt, "segments") {
				// What the segment before left is on disk now.
				now := after.clone()
				for p, o := range now {
					o.orig = p
				}
				next := now.clone()
				for range rapid.IntRange(0, 8).Draw(rt, "edits") {
					randomEdit(rt, next)
				}
				cs := derive(t, b.root, now, next)
				if err := tx.Apply(cs); err != nil {
					return err
				}
				after = next
				sameTree(t, "applied", dumpDisk(t, b.root, nil), after)
			}
			if rapid.Bool().Draw(rt, "roll back") {
				return errors.Join(tx.Rollback(), errCrash)
			}
			_, err = tx.Commit(&Receipt{})
			return err
		}
		var failed error
		crashed := false
		if crash {
			crashed = crashing(s, crashAt, func() { failed = run() })
			s.Close()
			s = b.open(t)
			if _, err := s.Recover(RecoverOptions{}); err != nil {
				rt.Fatal(err)
			}
		} else {
			failed = run()
		}
		if failed != nil && failed != errCrash && !errors.Is(failed, errCrash) &&
			!(os.Geteuid() != 0 && errors.Is(failed, unix.EACCES)) {
			rt.Fatal(failed)
		}
		receipts, err := s.Receipts()
		if err != nil {
			rt.Fatal(err)
		}
		if len(receipts) == 1 {
			sameTree(t, "after", dumpDisk(t, b.root, nil), after)
			if drifts, err := s.Verify(receipts[0]); err != nil || len(drifts) != 0 {
				rt.Fatal(drifts, err)
			}
			if err := s.Undo(receipts[0].ID); err != nil {
				rt.Fatal(err)
			}
		} else if failed == nil && !crashed {
			rt.Fatal("no receipt")
		}
		got := dumpDisk(t, b.root, nil)
		sameTree(t, "before", got, before)
		sameObjects(t, "before", was, got, before)
		clean(t, s)
	})
}
