package commit

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"steps.example/interp/changeset"
)

// A transaction that is over does nothing more, whatever it is asked.
func TestOver(t *testing.T) {
	t.Parallel()
	b, s, tx, _ := begun(t)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	after := model{}
	after.put("f", file(0o644, "text"))
	cs := derive(t, b.root, model{}, after)
	for name, f := range map[string]func() error{
		"Apply":         func() error { return tx.Apply(cs) },
		"Commit":        func() error { _, err := tx.Commit(&Receipt{}); return err },
		"Snapshot":      func() error { return tx.Snapshot([]string{b.root}) },
		"Capture":       func() error { _, err := tx.Capture(); return err },
		"Layers":        func() error { _, err := tx.Layers([]string{b.root}); return err },
		"CaptureLayers": func() error { _, err := tx.CaptureLayers(); return err },
		"DropLayers":    func() error { return tx.DropLayers() },
		"HoldBases":     func() error { return tx.HoldBases(&Receipt{}, nil) },
		"Keep":          func() error { _, err := tx.Keep(nil); return err },
	} {
		if err := f(); !errors.Is(err, errDone) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	reason := errors.New("reason")
	if err := tx.Abandon(reason); err != reason {
		t.Errorf("Abandon: got %v", err)
	}
	if entries, err := os.ReadDir(b.root); err != nil || len(entries) > 0 {
		t.Errorf("the tree has %v, %v", entries, err)
	}
	if all, err := s.Receipts(); err != nil || len(all) != 0 {
		t.Errorf("%d receipts, %v", len(all), err)
	}
}

// What names a transaction, or a content of one, is no path.
func TestNamesAreNoPaths(t *testing.T) {
	t.Parallel()
	_, s, r := committed(t)
	sum := r.Bases[0].SHA256
	for _, id := range []string{"", ".", "..", "../tx", "../receipts/" + r.ID, r.ID + "/.", r.ID + "\x00", "/" + r.ID} {
		other := *r
		other.ID = id
		for name, err := range map[string]error{
			"Receipt":     second(s.Receipt(id)),
			"Document":    second(s.Document(&other)),
			"BaseContent": second(s.BaseContent(id, sum)),
			"Undo":        s.Undo(id),
			"Drop":        s.Drop(id),
			"Forget":      s.ForgetPartner(id),
		} {
			if !errors.Is(err, ErrNoReceipt) {
				t.Errorf("%s %q: got %v", name, id, err)
			}
		}
		for _, p := range []Partner{{id, "/theirs", r.ID}, {r.ID, "/theirs", id}} {
			if err := s.NotePartner(p); err == nil {
				t.Errorf("NotePartner %+v went through", p)
			}
		}
	}
	if err := s.NotePartner(Partner{r.ID, "theirs", r.ID}); err == nil {
		t.Error("the store of a partner may be anywhere")
	}
	for _, sum := range []string{"", "..", "../" + receiptName, strings.ToUpper(sum), sum[1:]} {
		if _, err := s.BaseContent(r.ID, sum); !errors.Is(err, ErrNoReceipt) {
			t.Errorf("BaseContent %q: got %v", sum, err)
		}
	}
	for _, dir := range []string{"", "store", "/", "/a/../b", "/a/", "/a\x00"} {
		if s, err := OpenStore(dir); err == nil {
			s.Close()
			t.Errorf("a store is opened at %q", dir)
		}
	}
	if _, err := s.Receipt(r.ID); err != nil {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

// What this version would not have written is no journal, though its sums fit.
func TestRecordsAreStrict(t *testing.T) {
	t.Parallel()
	id := receiptID(1)
	stamp := changeset.Stamp{Mode: 0o100644}
	header := func(e enc) enc { return append(e, recHeader).u(journalVersion).s(id).u(0) }
	opAt := func(dir uint64) func(enc) enc {
		return func(e enc) enc { return append(e, recOp, byte(opTake)).s("/r/f").stamp(stamp).u(dir).u(1).s("") }
	}
	begin := func(kind segmentKind) func(enc) enc {
		return func(e enc) enc { return append(e, recBegin, byte(kind)) }
	}
	number := func(typ byte, n uint64) func(enc) enc {
		return func(e enc) enc { return append(e, typ).u(n) }
	}
	root := func(e enc) enc { return append(e, recSnapRoot).s("/r") }
	open := func(e enc) enc { return append(e, recSnapBegin) }
	type records []func(enc) enc
	for _, tc := range []struct {
		name string
		good records // up to here all is well
		bad  func(enc) enc
	}{
		{"no header", nil, opAt(0)},
		{"two headers", records{header}, header},
		{"another version", nil, func(e enc) enc { return append(e, recHeader).u(journalVersion + 1).s(id).u(0) }},
		{"an id that is a path", nil, func(e enc) enc { return append(e, recHeader).u(journalVersion).s("../x").u(0) }},
		{"a relative root", nil, func(e enc) enc { return append(e, recHeader).u(journalVersion).s(id).u(1).s("r") }},
		{"a slot nowhere", records{header, opAt(0)}, opAt(1)},
		{"an operation of no kind", records{header}, func(e enc) enc { return append(e, recOp, 200).s("/r/f").stamp(stamp) }},
		{"a move from a relative path", records{header}, func(e enc) enc { return append(e, recOp, byte(opPut)).s("/r/f").stamp(stamp).u(0).u(1).s("f") }},
		{"made by no operation", records{header}, func(e enc) enc { return append(e, recMade).s("x").stamp(stamp) }},
		{"made elsewhere", records{header, opAt(0)}, func(e enc) enc { return append(e, recMade).s("../x").stamp(stamp) }},
		{"a segment of no kind", records{header, begin(applied)}, begin(captured + 1)},
		{"captured without a snapshot", records{header}, begin(captured)},
		{"applied under a snapshot", records{header, root, open}, begin(applied)},
		{"done again from nowhere", records{header, number(recRedo, 0)}, number(recRedo, 1)},
		{"taken back that was not there", records{header, begin(applied), number(recBack, 0)}, number(recBack, 1)},
		{"a copy of no snapshot", records{header}, func(e enc) enc { return append(e, recSaved).s("/r/f").stamp(stamp).s("").u(0).u(1) }},
		{"a snapshot of nothing", records{header}, open},
		{"a snapshot in a snapshot", records{header, root, open, root}, open},
		{"restored without a capture", records{header, begin(applied)}, func(e enc) enc { return append(e, recRestored) }},
		{"a seal that is no hash", records{header}, func(e enc) enc { return append(e, recCommit).s("x") }},
		{"more than belongs there", records{header}, func(e enc) enc { return append(e, recReset, 0) }},
		{"less than belongs there", records{header}, func(e enc) enc { return append(e, recRedo) }},
		{"no type", records{header}, func(e enc) enc { return append(e, 200) }},
	} {
		j := &journalWriter{}
		for _, rec := range tc.good {
			if err := j.add(rec); err != nil {
				t.Fatal(err)
			}
		}
		if _, n, _, err := readJournal(strings.NewReader(string(j.buf)), int64(len(j.buf))); err != nil || n != int64(len(j.buf)) {
			t.Errorf("%s: what comes before it: %d of %d bytes, %v", tc.name, n, len(j.buf), err)
		}
		if err := j.add(tc.bad); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := readJournal(strings.NewReader(string(j.buf)), int64(len(j.buf))); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v", tc.name, err)
		}
	}
}

// Nothing is written that would not be read.
func TestSizes(t *testing.T) {
	t.Parallel()
	j := &journalWriter{}
	if err := j.add(func(e enc) enc { return append(e, make([]byte, maxRecord)...) }); err != nil {
		t.Error(err)
	}
	if err := j.add(func(e enc) enc { return append(e, make([]byte, maxRecord+1)...) }); err == nil {
		t.Error("a record may have any size")
	}
	if _, _, _, err := readJournal(neverRead{}, maxJournal+1); !errors.Is(err, ErrDamaged) {
		t.Errorf("a journal may have any size: %v", err)
	}
	if data, err := encodeReceipt(&Receipt{}, 1<<10); err != nil || len(data) == 0 {
		t.Error(err)
	} else if _, err := encodeReceipt(&Receipt{}, len(data)-1); err == nil {
		t.Error("a receipt may have any size")
	}
	if _, err := (&work{}).writeDocument(make([]byte, MaxDocument+1)); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a document may have any size: %v", err)
	}
}

type neverRead struct{}

func (neverRead) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
