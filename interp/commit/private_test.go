package commit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// begun is a transaction that made f, and its receipt to be, with a base for f.
func begun(t *testing.T) (bed, *Store, *Tx, *Receipt) {
	t.Helper()
	b := newBed(t, model{})
	s := b.open(t)
	tx, err := s.Begin(openSet(t, b.root), Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	after := model{}
	after.put("f", file(0o644, "text"))
	if err := tx.Apply(derive(t, b.root, model{}, after)); err != nil {
		t.Fatal(err)
	}
	sum := hashHex([]byte("base"))
	r := &Receipt{Package: Package{"p", "1"}, Keep: []byte("{}"), Bases: []Base{{Path: b.root + "/f", SHA256: sum}}}
	if err := tx.HoldBases(r, map[string][]byte{sum: []byte("base")}); err != nil {
		t.Fatal(err)
	}
	return b, s, tx, r
}

// committed makes a store with a receipt that has everything beside it that one can
// have, and gives them.
func committed(t *testing.T) (bed, *Store, *Receipt) {
	t.Helper()
	b, s, tx, r := begun(t)
	r.Settles = []string{receiptID(1)}
	if _, err := tx.Commit(r); err != nil {
		t.Fatal(err)
	}
	owners(t, s)
	return b, s, r
}

// TestStoreIsPrivate: every directory of a store is 0700 and every file of its own
// 0600, whatever the umask, which takes away at most.
func TestStoreIsPrivate(t *testing.T) {
	t.Parallel()
	_, s, _ := committed(t)
	seen := map[string]bool{}
	err := filepath.WalkDir(s.path, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %04o", p, info.Mode().Perm())
		}
		seen[strings.SplitN(d.Name(), ".", 2)[0]] = true
		if d.Name() == slotsName {
			return filepath.SkipDir // what it holds is as it was in the tree
		}
		return nil
	})
	for _, name := range []string{"journal", "receipt", "document", "owners", "triggers", "base", "lock", "begun", "tx", "kept", "trash", "partners"} {
		if !seen[name] {
			t.Errorf("there is no %s", name)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// spoilt are the ways in which a file of the store can be none that steps wrote.
var spoilt = map[string]func(path string) error{
	"a link": func(path string) error {
		return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
	},
	"a FIFO":      func(path string) error { return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)) },
	"a directory": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	"open to all": func(path string) error { return os.Chmod(path, 0o666) },
	"too large":   func(path string) error { return os.Truncate(path, 1<<33) },
	"empty":       func(path string) error { return os.Truncate(path, 0) },
	"cut off":     func(path string) error { return os.Truncate(path, 30) },
	"a version that nobody knows": func(path string) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(data)
		switch filepath.Base(path) {
		case receiptName:
			text = strings.Replace(text, `"version":1`, `"version":2`, 1)
		case ownersName:
			text = text[:15] + "\x7f" + text[16:]
		case journalName: // the record's sum fits: this is no torn end
			j := &journalWriter{}
			_ = j.add(func(e enc) enc { return append(e, recHeader).u(journalVersion + 1).s("x") })
			text = string(j.buf)
		default:
			text = "?" + text
		}
		return os.WriteFile(path, []byte(text), 0o600)
	},
	"somebody else's": func(path string) error {
		if os.Geteuid() != 0 {
			return errors.ErrUnsupported
		}
		return os.Chown(path, 12345, -1)
	},
}

// TestStoreIsChecked: what is read of a store is read only where it is a regular
// file of the user's, closed to others, not too large, and of a version that is
// known. All else is an error that says so, and the owners' file, which is a copy,
// is made anew. Nothing waits for a FIFO, or reads eight gigabytes.
func TestStoreIsChecked(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(*Store, *Receipt) error{
		receiptName:  func(s *Store, r *Receipt) error { _, err := s.Receipt(r.ID); return err },
		documentName: func(s *Store, r *Receipt) error { _, err := s.Document(r); return err },
		journalName:  func(s *Store, r *Receipt) error { return s.Undo(r.ID) },
		basePrefix: func(s *Store, r *Receipt) error {
			_, err := s.BaseContent(r.ID, r.Bases[0].SHA256)
			return err
		},
		ownersName: nil,
		lockName:   nil,
		// Only whether it is there counts.
		triggersName: nil,
	} {
		for how, spoil := range spoilt {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				b, s, r := committed(t)
				path := filepath.Join(s.path, receiptsDir, r.ID, name)
				switch name {
				case basePrefix:
					path += r.Bases[0].SHA256
				case ownersName, lockName:
					path = filepath.Join(s.path, name)
				}
				if err := spoil(path); errors.Is(err, errors.ErrUnsupported) {
					t.Skip("only root can give files away")
				} else if err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() {
					if read != nil {
						done <- read(s, r)
						return
					}
					err := s.acquire("test")
					if err == nil {
						_, err = s.Owners()
						s.unlock()
					}
					if _, more := s.TriggerReceipts(); err == nil {
						err = more
					}
					done <- err
				}()
				var err error
				select {
				case err = <-done:
				case <-time.After(time.Minute):
					t.Fatal("still waiting")
				}
				switch {
				case name == lockName && (how == "a link" || how == "a directory"):
					if err == nil {
						t.Error("went through")
					}
				case read == nil && err != nil:
					t.Error(err)
				case name == journalName && (errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EISDIR)):
				case name == receiptName:
					want := Damaged
					switch how {
					case "a version that nobody knows":
						want = Newer
					case "open to all", "somebody else's":
						want = Exposed
					}
					if e, ok := errors.AsType[*ReceiptError](err); !ok || e.Fault != want || e.File != path || errors.Is(err, ErrDamaged) == (want == Newer) {
						t.Errorf("got %v, want %s", err, want)
					}
				case read != nil && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), r.ID)):
					t.Errorf("got %v", err)
				}
				if name != journalName {
					return
				}
				if _, err := os.Lstat(filepath.Join(b.root, "f")); err != nil {
					t.Error("the tree was changed")
				}
			})
		}
	}
}

// TestStoreDirectoriesAreChecked: a directory of the store that others may enter, or
// that is a link, is not used.
func TestStoreDirectoriesAreChecked(t *testing.T) {
	t.Parallel()
	for how, spoil := range map[string]func(path string) error{
		"open to all": func(path string) error { return os.Chmod(path, 0o755) },
		"a link":      spoilt["a link"],
	} {
		for _, name := range []string{".", openDir, receiptsDir, keptDir, trashDir, partnersDir, "receipts/ID", "receipts/ID/slots"} {
			_, s, r := committed(t)
			if err := spoil(filepath.Join(s.path, strings.Replace(name, "ID", r.ID, 1))); err != nil {
				t.Fatal(err)
			}
			again, err := OpenStore(s.path)
			if err == nil {
				err = again.Undo(r.ID)
				again.Close()
			}
			if err == nil {
				t.Errorf("%s: %s is used", name, how)
			}
		}
	}
}
