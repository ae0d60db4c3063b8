package commit

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

// What is somebody else's by its content is nobody's: a receipt, or a note, under the
// name of another.
func TestUnderAnotherName(t *testing.T) {
	t.Parallel()
	_, s, r := committed(t)
	other := receiptID(5)
	if err := os.Rename(filepath.Join(s.path, receiptsDir, r.ID), filepath.Join(s.path, receiptsDir, other)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Receipt(other); !errors.Is(err, ErrDamaged) {
		t.Errorf("receipt: got %v", err)
	}
	// It was committed, whatever became of its receipt.
	if standing, err := s.Standing(other); standing != Committed || err != nil {
		t.Errorf("its standing is %v, %v", standing, err)
	}
	if _, err := s.Document(&Receipt{ID: r.ID}); !errors.Is(err, ErrNoDocument) {
		t.Errorf("a document that was never there: %v", err)
	}
	if err := s.NotePartner(Partner{ID: r.ID, Store: "/theirs", Transaction: r.ID}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.path, partnersDir)
	if err := os.Rename(filepath.Join(dir, r.ID+partnerEnd), filepath.Join(dir, other+partnerEnd)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Partners(); !errors.Is(err, ErrDamaged) {
		t.Errorf("partners: got %v", err)
	}
	s.disk.hook = func(c Call) error {
		if c.Op == "unlink" {
			return unix.EIO
		}
		return nil
	}
	if err := s.ForgetPartner(other); !errors.Is(err, unix.EIO) {
		t.Errorf("forget: got %v", err)
	}
}

// stranded stops a transaction when it is committed and not yet a receipt.
func stranded(t *testing.T) (bed, *Store, *Receipt) {
	t.Helper()
	b, s, tx, r := begun(t)
	s.disk.hook = func(c Call) error {
		if c.Op == "move" && c.NewEntry == receiptsDir+"/"+tx.ID() {
			return unix.EIO
		}
		return nil
	}
	if _, err := tx.Commit(r); err == nil {
		t.Fatal("it was not stopped")
	}
	s.Close()
	return b, b.open(t), r
}

// A commit record counts only with all that it was written for: where the power failed
// before that was durable, nobody was told of the commit, and it is taken back.
func TestSeal(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"nothing":     nil,
		receiptName:   spoilt["empty"],
		documentName:  spoilt["empty"],
		basePrefix:    spoilt["empty"],
		"receipt":     os.Remove,
		"document":    os.Remove,
		"base's file": os.Remove,
	} {
		b, s, r := stranded(t)
		path := filepath.Join(s.path, openDir, r.ID)
		switch name {
		case receiptName, documentName:
			path += "/" + name
		case "receipt":
			path += "/" + receiptName
		case "document":
			path += "/" + documentName
		default:
			path += "/" + basePrefix + r.Bases[0].SHA256
		}
		want := Committing
		if spoil != nil {
			if want = Unmade; spoil(path) != nil {
				t.Fatalf("%s: there is none", name)
			}
		}
		if standing, err := s.Standing(r.ID); standing != want || err != nil {
			t.Errorf("%s: its standing is %v, %v", name, standing, err)
		}
		if _, err := s.Recover(RecoverOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, err := os.Lstat(b.root + "/f")
		_, none := s.Receipt(r.ID)
		if (err == nil) != (want == Committing) || (none == nil) != (want == Committing) {
			t.Errorf("%s: the tree says %v, the receipts say %v", name, err, none)
		}
	}
}

// A damaged transaction is not taken for one that never was.
func TestStandingOfDamaged(t *testing.T) {
	t.Parallel()
	_, s, r := stranded(t)
	path := filepath.Join(s.path, openDir, r.ID, journalName)
	if err := spoilt["a version that nobody knows"](path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Standing(r.ID); err == nil {
		t.Error("its standing is known")
	}
}

// The owners' file is checked behind its sum, too.
func TestOwnersAreStrict(t *testing.T) {
	t.Parallel()
	header := func(n uint64, ids ...string) enc {
		e := append(append(enc(nil), ownerMagic...), 0, 0, 0, 0).u(n)
		for _, id := range ids {
			e = e.s(id).stamp(changeset.Stamp{}).s("p").s("1").s("").s("").s("").s("").u(0)
		}
		return e
	}
	one, two := receiptID(1), receiptID(2)
	if _, err := decodeOwners(withSum(header(2, one, two).u(0))); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]enc{
		"more receipts than bytes": header(1 << 40),
		"an id that is a path":     header(1, "../x").u(0),
		"one twice":                header(2, one, one).u(0),
		"in another order":         header(2, two, one).u(0),
		"more records than bytes":  header(1, one).u(1 << 40),
		"cut off":                  header(2, one),
	} {
		if _, err := decodeOwners(withSum(data)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	other := withSum(header(2, one, two).u(0))
	if other[len(ownerMagic)]++; second(decodeOwners(other)) == nil {
		t.Error("another sum: accepted")
	}
	f := &ownerFile{count: 1, offsets: []byte{9, 0, 0, 0}, records: []byte{1}}
	if f.path(0) != nil {
		t.Error("a record outside the file is read")
	}
}
