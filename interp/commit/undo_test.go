package commit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUndoDrift: undo refuses, and lists everything, where the tree changed.
func TestUndoDrift(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(root string) error
		path   string
		kind   DriftKind // "": undo goes on
	}{
		{"content", func(r string) error { return os.WriteFile(r+"/f", []byte("NEW"), 0o644) }, "f", DriftContent},
		{"mode", func(r string) error { return os.Chmod(r+"/f", 0o600) }, "f", DriftMode},
		{"missing", func(r string) error { return os.Remove(r + "/f") }, "f", DriftMissing},
		{"target", func(r string) error { return errors.Join(os.Remove(r+"/l"), os.Symlink("x", r+"/l")) }, "l", DriftTarget},
		{"kind", func(r string) error { return errors.Join(os.Remove(r+"/l"), os.Mkdir(r+"/l", 0o755)) }, "l", DriftKindOf},
		{"appeared", func(r string) error { return os.WriteFile(r+"/g", nil, 0o644) }, "g", DriftAppeared},
		{"extra", func(r string) error { return os.WriteFile(r+"/d/x", nil, 0o644) }, "d/x", DriftExtra},
		{"moved file", func(r string) error { return os.WriteFile(r+"/n", []byte("x"), 0o644) }, "n", DriftContent},
		{"equal file instead", func(r string) error {
			return errors.Join(os.WriteFile(r+"/tmp", []byte("new"), 0o644), os.Rename(r+"/tmp", r+"/f"))
		}, "", ""},
		{"equal moved file instead", func(r string) error {
			return errors.Join(os.WriteFile(r+"/tmp", []byte("moves"), 0o644), os.Rename(r+"/tmp", r+"/n"))
		}, "", ""},
		{"equal file in directory instead", func(r string) error {
			return errors.Join(os.WriteFile(r+"/tmp", []byte("i"), 0o644), os.Rename(r+"/tmp", r+"/d/i"))
		}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			before := parse(t, `
				f 0644 old
				g 0644 gone
				m 0644 moves`)
			b := newBed(t, before)
			after := before.clone()
			after.put("f", file(0o644, "new"))
			after.remove("g")
			after.move("m", "n")
			after.put("l", link("t"))
			after.mkdir("d", 0o755)
			after.put("d/i", file(0o644, "i"))
			s := b.open(t)
			id, err := b.apply(t, s, derive(t, b.root, before, after))
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.change(b.root); err != nil {
				t.Fatal(err)
			}
			was := dumpDisk(t, b.root, nil)
			err = s.Undo(id)
			if tc.kind == "" {
				if err != nil {
					t.Fatal(err)
				}
				sameTree(t, "before", dumpDisk(t, b.root, nil), before)
				return
			}
			var drift *DriftError
			if !errors.As(err, &drift) || len(drift.Drifts) != 1 || drift.Drifts[0].Kind != tc.kind ||
				drift.Drifts[0].Path != filepath.Join(b.root, tc.path) {
				t.Fatalf("undo: %v", err)
			}
			if got := dumpDisk(t, b.root, nil); fmt.Sprint(got) != fmt.Sprint(was) {
				t.Fatal("the tree changed")
			}
			if _, err := s.Receipt(id); err != nil {
				t.Fatal(err)
			}
			clean(t, s)
		})
	}
}

// TestUndoGivenUp: something that gets in the way in the middle of an undo makes
// it do again what it took back.
func TestUndoGivenUp(t *testing.T) {
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			for n, failed := 0, true; failed; n++ {
				before := parse(t, sc.before)
				b := newBed(t, before)
				after := before.clone()
				sc.edit(after)
				s := b.open(t)
				id, err := b.apply(t, s, derive(t, b.root, before, after))
				if err != nil {
					t.Fatal(err)
				}
				count := 0
				failed = false
				s.disk.hook = func(p Call) error {
					if p.After || p.Op != "move" && p.Op != "exchange" && p.Op != "chmod" || strings.HasPrefix(p.Name, openDir) {
						return nil
					}
					if count++; count == n+1 {
						failed = true
						return unix.EIO
					}
					return nil
				}
				err = s.Undo(id)
				s.disk.hook = nil
				if failed && err != nil {
					s.Recover(RecoverOptions{})
				}
				clean(t, s)
				if _, err2 := s.Receipt(id); err2 == nil {
					if err == nil {
						t.Fatal("undone, and the receipt is there")
					}
					sameTree(t, fmt.Sprint("after ", n), dumpDisk(t, b.root, after), after)
					if err := s.Undo(id); err != nil {
						t.Fatalf("undo again: %v", err)
					}
				}
				sameTree(t, fmt.Sprint("before ", n), dumpDisk(t, b.root, nil), before)
				s.Close()
				loosen(b.root)
				os.RemoveAll(b.root)
				os.RemoveAll(b.store)
			}
		})
	}
}

// twoFiles is a transaction that made p and q.
func twoFiles(t *testing.T) (bed, *Store, string) {
	t.Helper()
	b := newBed(t, model{})
	after := model{}
	after.put("p", file(0o644, "p"))
	after.put("q", file(0o644, "q"))
	s := b.open(t)
	id, err := b.apply(t, s, derive(t, b.root, model{}, after))
	if err != nil {
		t.Fatal(err)
	}
	return b, s, id
}

// An undo that is given up does again what it took back, but for what is in its way.
func TestUndoGivenUpAndInTheWay(t *testing.T) {
	t.Parallel()
	b, s, id := twoFiles(t)
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
	err := s.Undo(id)
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

// Before an undo that is given up does again what it took back, it is durable that it
// does: a recovery that did not know would take back the rest.
func TestUndoGivenUpDurably(t *testing.T) {
	t.Parallel()
	b, s, id := twoFiles(t)
	s.disk.noSync = false
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

// Nothing is undone while something else is not at its end, and nothing that was
// never committed.
func TestNotToUndo(t *testing.T) {
	t.Parallel()
	b, s, r := stranded(t)
	if err := s.Undo(r.ID); !errors.Is(err, ErrInterrupted) {
		t.Errorf("while it waits for recovery: %v", err)
	}
	if _, err := s.Recover(RecoverOptions{}); err != nil {
		t.Fatal(err)
	}
	// Without its last record the journal is that of an open transaction.
	path := filepath.Join(s.path, receiptsDir, r.ID, journalName)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for at := 0; at < len(data); at += 8 + int(binary.LittleEndian.Uint32(data[at:])) {
		if data[at+8] == recCommit {
			last = at
		}
	}
	if err := os.Truncate(path, int64(last)); err != nil {
		t.Fatal(err)
	}
	if err := s.Undo(r.ID); !errors.Is(err, ErrDamaged) {
		t.Errorf("without a commit record: %v", err)
	}
	if _, err := os.Lstat(b.root + "/f"); err != nil {
		t.Error(err)
	}
}
