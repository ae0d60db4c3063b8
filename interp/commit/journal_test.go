package commit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"steps.example/interp/changeset"
)

// sampleJournal is the journal of a committed transaction with every kind of
// record that one has.
func sampleJournal(t testing.TB) []byte {
	before := parse(t, scenarios[2].before)
	b := newBed(t, before)
	after := before.clone()
	scenarios[2].edit(after)
	s := b.open(t)
	set := openSet(t, b.root)
	tx, err := s.Begin(set, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Apply(derive(t, b.root, before, after)); err != nil {
		t.Fatal(err)
	}
	if err := tx.Snapshot([]string{b.root}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.root, "f"), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Capture(); err != nil {
		t.Fatal(err)
	}
	id, err := tx.Commit(&Receipt{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(b.store, receiptsDir, id, journalName))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestJournalTorn reads every prefix of a journal: each is understood up to the
// last whole record.
func TestJournalTorn(t *testing.T) {
	t.Parallel()
	data := sampleJournal(t)
	whole, good, _, err := readJournal(bytes.NewReader(data), int64(len(data)))
	if err != nil || good != int64(len(data)) || whole.state != stateCommitted || len(whole.segments) != 2 {
		t.Fatalf("%d of %d bytes, %v, %+v", good, len(data), err, whole)
	}
	for n := range data {
		l, good, _, err := readJournal(bytes.NewReader(data[:n]), int64(n))
		if err != nil || good > int64(n) || l.state == stateCommitted {
			t.Fatalf("%d bytes: %d good, %v", n, good, err)
		}
	}
	for n := range data {
		bad := bytes.Clone(data)
		bad[n] ^= 0x40
		if l, good, _, err := readJournal(bytes.NewReader(bad), int64(len(bad))); err == nil && (good > int64(n) || l.state == stateCommitted) {
			t.Fatalf("byte %d changed: %d good", n, good)
		}
	}
}

// FuzzJournal: no bytes make the reader panic, and a record that is let through
// is written back as it was.
func FuzzJournal(f *testing.F) {
	data := sampleJournal(f)
	f.Add(data)
	for rest := data; len(rest) > 8; {
		n := int(rest[0]) | int(rest[1])<<8
		f.Add(rest[8 : 8+n])
		rest = rest[8+n:]
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, good, _, err := readJournal(bytes.NewReader(data), int64(len(data)))
		if err == nil && good > int64(len(data)) {
			t.Fatal("read more than there is")
		}
		l := &logical{id: "20260101T000000.000000000Z", slotDirs: []string{""}, copies: map[string]saved{}}
		l.pending.ops = []op{{}}
		l.pendingSnap = &snapshot{}
		if l.record(data) != nil || len(l.pending.ops) != 2 {
			return
		}
		o := l.pending.ops[1]
		again := &logical{id: l.id, slotDirs: l.slotDirs}
		if err := again.record(enc(nil).op(&o)); err != nil || !reflect.DeepEqual(again.pending.ops[0], o) {
			t.Fatalf("%+v became %+v, %v", o, again.pending.ops, err)
		}
		if !cleanAbs(o.path) || o.slot.dir >= len(l.slotDirs) {
			t.Fatalf("let through: %+v", o)
		}
	})
}

// TestDamagedJournal damages the journal of an interrupted transaction. What it
// holds is kept, and the tree is not touched.
func TestDamagedJournal(t *testing.T) {
	for _, tc := range []struct {
		name   string
		damage func(data []byte) []byte
	}{
		{"empty", func([]byte) []byte { return nil }},
		{"zeros", func(d []byte) []byte { return make([]byte, len(d)) }},
		{"noise", func(d []byte) []byte { return bytes.Repeat([]byte{0xa5, 3}, len(d)) }},
		{"half", func(d []byte) []byte { return d[:len(d)/2] }},
		{"byte in the middle", func(d []byte) []byte { d[len(d)/2] ^= 1; return d }},
		{"of another transaction", func([]byte) []byte { return sampleJournal(t) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			before := parse(t, scenarios[1].before)
			b := newBed(t, before)
			after := before.clone()
			scenarios[1].edit(after)
			s := b.open(t)
			func() {
				defer func() { _ = recover() }()
				s.disk.hook = func(p Call) error {
					if p.Name == receiptName {
						panic(errCrash)
					}
					return nil
				}
				b.apply(t, s, derive(t, b.root, before, after))
			}()
			s.Close()
			s = b.open(t)
			ids, err := s.ids(openDir)
			if err != nil || len(ids) != 1 {
				t.Fatal(ids, err)
			}
			path := filepath.Join(b.store, openDir, ids[0], journalName)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, tc.damage(data), 0o600); err != nil {
				t.Fatal(err)
			}
			was := dumpDisk(t, b.root, nil)
			if _, err := s.Begin(openSet(t, b.root), Options{}); !errors.Is(err, ErrInterrupted) {
				t.Fatalf("begin: %v", err)
			}
			_, err = s.Recover(RecoverOptions{})
			if !errors.Is(err, ErrBlocked) || tc.name == "of another transaction" && !strings.Contains(err.Error(), "journal is of transaction") {
				t.Fatalf("recover: %v", err)
			}
			got, err := s.Recover(RecoverOptions{Keep: true})
			if err != nil || len(got) != 1 {
				t.Fatalf("keep: %v, %v", got, err)
			}
			held, err := os.ReadDir(filepath.Join(got[0].Kept, slotsName))
			if err != nil || len(held) == 0 {
				t.Fatalf("held: %v, %v", held, err)
			}
			if now := dumpDisk(t, b.root, nil); !reflect.DeepEqual(now, was) {
				t.Fatal("the tree changed")
			}
			clean(t, s)
		})
	}
}

// FuzzReceipt: no bytes make the reader panic, and what it accepts it writes
// back to the same.
func FuzzReceipt(f *testing.F) {
	r := &Receipt{Version: receiptVersion, ID: "20260101T000000.000000000Z", Roots: []string{"/r"},
		Package: Package{"p", "1"}, Meta: map[string]string{"k": "v"}, Warnings: []string{"w"},
		Changeset: &changeset.Changeset{Changes: []changeset.Change{{
			Path: "/r/x", From: "/r/y", After: &changeset.State{Kind: changeset.File, Mode: 0o644, UID: -1, GID: -1}, Steps: []int{1},
		}}}}
	data, err := encodeReceipt(r, maxReceipt)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add(append(bytes.Clone(data), '{', '}'))
	f.Add(bytes.Replace(data, []byte(`"id"`), []byte(`"ID"`), 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeReceipt(data)
		if err != nil {
			return
		}
		out, err := encodeReceipt(r, maxReceipt)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeReceipt(out)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		second, err := encodeReceipt(again, maxReceipt)
		if err != nil || !bytes.Equal(out, second) {
			t.Fatalf("%s\n%s", out, second)
		}
	})
}

func TestReceiptStrict(t *testing.T) {
	t.Parallel()
	const good = `{"version":1,"id":"20260101T000000.000000000Z","time":"2026-01-01T00:00:00Z","package":{"name":"p","version":"1"},"roots":["/r"],"changeset":{"changes":[]}}`
	if _, err := decodeReceipt([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"no id":               strings.Replace(good, `"id":"2026`, `"id":"x`, 1),
		"no changeset":        strings.Replace(good, `,"changeset":{"changes":[]}`, "", 1),
		"from":                strings.Replace(good, `[]}`, `[{"path":"/r/a","from":"b","after":{"kind":"dir","uid":0,"gid":0}}]}`, 1),
		"no state":            strings.Replace(good, `[]}`, `[{"path":"/r/a"}]}`, 1),
		"undo of none":        strings.Replace(good, `"roots"`, `"action":"undo","roots"`, 1),
		"undoes":              strings.Replace(good, `"roots"`, `"undoes":"20250101T000000.000000000Z","roots"`, 1),
		"undo of a later one": strings.Replace(good, `"roots"`, `"action":"undo","undoes":"20270101T000000.000000000Z","roots"`, 1),
		"left":                strings.Replace(good, `"roots"`, `"left":[{"path":"r/a"}],"roots"`, 1),
		"base path":           strings.Replace(good, `"roots"`, `"bases":[{"path":"r/a","sha256":"`+hashHex(nil)+`"}],"roots"`, 1),
		"base of nothing":     strings.Replace(good, `"roots"`, `"bases":[{"path":"/r/a"}],"roots"`, 1),
		"base hash":           strings.Replace(good, `"roots"`, `"bases":[{"path":"/r/a","sha256":"../../x"}],"roots"`, 1),
		"spared path":         strings.Replace(good, `"roots"`, `"spared":[{"path":"r/a"}],"roots"`, 1),
		"adopted path":        strings.Replace(good, `"roots"`, `"adopted":[{"path":"r/a","state":{"kind":"dir","uid":0,"gid":0}}],"roots"`, 1),
		"version of nobody":   strings.Replace(good, `"version":1`, `"version":0`, 1),
		"yours path":          strings.Replace(good, `"roots"`, `"yours":["r/a"],"roots"`, 1),
		"used path":           strings.Replace(good, `"roots"`, `"uses":[{"path":"r/a","state":{"kind":"dir","uid":0,"gid":0}}],"roots"`, 1),
		"used nothing":        strings.Replace(good, `"roots"`, `"uses":[{"path":"/r/a"}],"roots"`, 1),
		"adopted nothing":     strings.Replace(good, `"roots"`, `"adopted":[{"path":"/r/a"}],"roots"`, 1),
		"trailing":            good + "{}",
		"unknown":             `{"x":1,` + good[1:],
		"doubled":             `{"version":1,` + good[1:],
		"version":             `{"version":2` + good[len(`{"version":1`):],
		"not utf-8":           good[:len(good)-1] + `,"layout":"` + "\xff" + `"}`,
		"root":                `{"version":1,"id":"20260101T000000.000000000Z","time":"2026-01-01T00:00:00Z","package":{"name":"p","version":"1"},"roots":["../r"],"changeset":{"changes":[]}}`,
		"change path":         `{"version":1,"id":"20260101T000000.000000000Z","time":"2026-01-01T00:00:00Z","package":{"name":"p","version":"1"},"roots":["/r"],"changeset":{"changes":[{"path":"/r/../etc","after":{"kind":"dir","uid":0,"gid":0}}]}}`,
		"skipped":             good[:len(good)-1] + `,"skipped":[{"step":-1,"reason":"x"}]}`,
		"why skipped":         good[:len(good)-1] + `,"skipped":[{"step":1}]}`,
	} {
		if _, err := decodeReceipt([]byte(bad)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// A receipt of a later version is told from one that is damaged: it is well, and stays.
func TestReceiptOfLater(t *testing.T) {
	t.Parallel()
	const good = `{"version":1,"id":"20260101T000000.000000000Z","time":"2026-01-01T00:00:00Z","package":{"name":"p","version":"1"},"roots":["/r"],"changeset":{"changes":[]}}`
	for name, tc := range map[string]struct {
		text  string
		newer bool
	}{
		"next version":               {strings.Replace(good, `"version":1`, `"version":2`, 1), true},
		"next version, other fields": {`{"version":2,"what":{}}`, true},
		"added to this one":          {`{"new":1,` + good[1:], true},
		"added, and no receipt":      {`{"new":1,` + strings.Replace(good, `"id":"2026`, `"id":"x`, 1)[1:], false},
		"older":                      {strings.Replace(good, `"version":1`, `"version":0`, 1), false},
	} {
		if _, err := decodeReceipt([]byte(tc.text)); err == nil || is[newerError](err) != tc.newer {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
