package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

const testRegistry = "https://registry.example"

// stores are the drivers that need no server.
func stores(t *testing.T, test func(t *testing.T, s *Store)) {
	for _, name := range []string{"file", "mem"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucketURL := "mem://"
			if name == "file" {
				bucketURL = "file://" + filepath.ToSlash(t.TempDir())
			}
			s, err := Open(t.Context(), bucketURL, testRegistry)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			test(t, s)
		})
	}
}

func submission(purl, document string) Submission {
	return Submission{PURL: purl, Artifact: sha256.Sum256([]byte(purl)), Document: []byte(document)}
}

func mustReserve(t *testing.T, s *Store, sub Submission) *Record {
	t.Helper()
	r, _, err := s.Reserve(t.Context(), sub, true)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Of many writers of one key, one wins: the ground on which revisions, the lease and
// the index stand.
func TestCreateHasOneWinner(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s *Store) {
		for round := range 50 {
			var wg sync.WaitGroup
			var mu sync.Mutex
			winner := ""
			key := fmt.Sprintf("x/%d", round)
			for i := range 8 {
				wg.Go(func() {
					text := fmt.Sprint(i)
					switch err := s.Create(t.Context(), key, []byte(text)); {
					case err == nil:
						mu.Lock()
						defer mu.Unlock()
						if winner != "" {
							t.Errorf("%s and %s won", winner, text)
						}
						winner = text
					case !errors.Is(err, ErrExists):
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if data, err := s.Read(t.Context(), key, 10); err != nil || string(data) != winner {
				t.Errorf("%q, %v; %q won", data, err, winner)
			}
		}
	})
}

func TestReserve(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s *Store) {
		a, b := submission("pkg:generic/x@1", "{}"), submission("pkg:generic/x@1", `{"a":1}`)
		first := mustReserve(t, s, a)
		if got := mustReserve(t, s, b); got.Revision != 2 {
			t.Errorf("other content got revision %d", got.Revision)
		}
		again, fresh, err := s.Reserve(t.Context(), a, true)
		if err != nil || fresh || again.Revision != 1 || !again.IssuedAt.Equal(first.IssuedAt) {
			t.Errorf("the same content got %+v, %v, %v", again, fresh, err)
		}
		a.Revision = 3 // back to the first document, on purpose
		if got := mustReserve(t, s, a); got.Revision != 3 {
			t.Errorf("got revision %d", got.Revision)
		}
		for _, revision := range []int{2, 5, maxRevision, -1} {
			a.Revision = revision
			var refused *RefusedError
			if _, _, err := s.Reserve(t.Context(), a, true); !errors.As(err, &refused) {
				t.Errorf("revision %d: %v", revision, err)
			}
		}
		record, err := s.Record(t.Context(), Ref{PackageKey(a.PURL), 2})
		if err != nil || string(record.Document) != `{"a":1}` || record.ArtifactSHA256() != a.Artifact {
			t.Errorf("%+v, %v", record, err)
		}
	})
}

// However many processes publish at once, each content has one revision, and each
// revision one content.
func TestReserveAtOnce(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s *Store) {
		const documents = 5
		var mu sync.Mutex
		revisions := map[string]map[int]bool{}
		var wg sync.WaitGroup
		for range 4 {
			for d := range documents {
				wg.Go(func() {
					r, _, err := s.Reserve(t.Context(), submission("pkg:generic/x@1", fmt.Sprintf(`{"d":%d}`, d)), false)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					if revisions[r.Content] == nil {
						revisions[r.Content] = map[int]bool{}
					}
					revisions[r.Content][r.Revision] = true
				})
			}
		}
		wg.Wait()
		seen := map[int]bool{}
		for content, list := range revisions {
			for revision := range list {
				if len(list) != 1 || seen[revision] {
					t.Errorf("%s has revisions %v", content, list)
				}
				seen[revision] = true
			}
		}
		if len(seen) != documents {
			t.Errorf("%d revisions", len(seen))
		}
	})
}

func TestReserveRefuses(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), "mem://", testRegistry)
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []Submission{
		{}, submission("x", "{}"), submission("pkg:a b", "{}"), submission("pkg:\x00", "{}"), {PURL: "pkg:generic/x@1"},
		submission("pkg:generic/x@1", string(make([]byte, MaxDocumentBytes+1))),
	} {
		var refused *RefusedError
		if _, _, err := s.Reserve(t.Context(), sub, true); !errors.As(err, &refused) {
			t.Errorf("%.50q: %v", sub.PURL, err)
		}
	}
}

func TestBundleStays(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s *Store) {
		ref := mustReserve(t, s, submission("pkg:generic/x@1", "{}")).Ref()
		if signed, err := s.Signed(t.Context(), ref); err != nil || signed {
			t.Errorf("%v, %v", signed, err)
		}
		for i, want := range []bool{true, false} {
			if first, err := s.PutBundle(t.Context(), ref, []byte{byte('0' + i)}); err != nil || first != want {
				t.Errorf("%v, %v", first, err)
			}
		}
		if data, err := s.Bundle(t.Context(), ref); err != nil || string(data) != "0" {
			t.Errorf("%q, %v", data, err)
		}
	})
}

func TestMarks(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s *Store) {
		want := map[Ref]bool{}
		for i := range 20 {
			want[mustReserve(t, s, submission(fmt.Sprintf("pkg:generic/x%d@1", i), "{}")).Ref()] = true
		}
		if err := s.Write(t.Context(), "pending/00/strange", nil); err != nil {
			t.Fatal(err)
		}
		got := map[Ref]bool{}
		if err := s.Marked(t.Context(), Pending, func(r Ref, since time.Time) error {
			got[r] = true
			if since.IsZero() {
				t.Error("no time")
			}
			return s.ClearMark(context.WithoutCancel(t.Context()), Pending, r)
		}); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Errorf("%d marks, want %d", len(got), len(want))
		}
		if err := s.Marked(t.Context(), Pending, func(r Ref, _ time.Time) error {
			return fmt.Errorf("%s is still marked", r)
		}); err != nil {
			t.Error(err)
		}
		for r := range want {
			if err := s.ClearMark(t.Context(), Pending, r); err != nil {
				t.Error("clearing twice:", err)
			}
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := "file://" + filepath.ToSlash(t.TempDir())
	s, err := Open(t.Context(), dir, testRegistry)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := Open(t.Context(), dir, "https://other.example"); err == nil {
		t.Error("a store of two registries was opened")
	}
	for _, u := range []string{"", "x", "file://relative", "file:///x?metadata=skip", "ftp://x", "\x00"} {
		if _, err := Open(t.Context(), u, testRegistry); err == nil {
			t.Errorf("%q was opened", u)
		}
	}
}

func FuzzParseRef(f *testing.F) {
	f.Add(Ref{PackageKey("x"), 7}.String())
	f.Add("00.1")
	f.Fuzz(func(t *testing.T, s string) {
		if ref, err := ParseRef(s); err == nil && (ref.String() != s || ref.Revision < 1 || len(ref.Package) != 64) {
			t.Errorf("%q is %+v", s, ref)
		}
	})
}

func FuzzDecodeRecord(f *testing.F) {
	r := &Record{PURL: "pkg:generic/x@1", Artifact: PackageKey("a"), Content: PackageKey("c"), Revision: 3, IssuedAt: time.Unix(1e9, 0).UTC()}
	r.Document = []byte("{\n}")
	f.Add(r.encode())
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeRecord(data)
		if err != nil {
			return
		}
		again, err := decodeRecord(r.encode())
		if err != nil || again.Ref() != r.Ref() || string(again.Document) != string(r.Document) {
			t.Errorf("%q came back as %+v, %v", data, again, err)
		}
	})
}
