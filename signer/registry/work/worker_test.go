package work

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"steps.example/signer"
	"steps.example/signer/registry/store"
)

// recorder signs nothing and keeps what it was asked.
type recorder struct {
	asked []signer.Request
	fail  error
}

func (r *recorder) Sign(_ context.Context, q signer.Request) ([]byte, error) {
	r.asked = append(r.asked, q)
	if r.fail != nil {
		return nil, r.fail
	}
	return []byte(`{"dsseEnvelope":{"payload":"AAAA"}}`), nil
}

func newWorker(t *testing.T) (*Worker, *recorder) {
	t.Helper()
	s, err := store.Open(t.Context(), "mem://", "https://registry.example")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	r := new(recorder)
	return &Worker{Store: s, Signer: r, Check: func(_ string, document []byte) (*signer.CheckedDocument, error) {
		return signer.CheckDocument(document)
	}}, r
}

func publish(t *testing.T, w *Worker, name string) store.Ref {
	t.Helper()
	doc := fmt.Sprintf(`{"schema":1,"layout":"generic","name":%q,"version":"1"}`, name)
	r, _, err := w.Store.Reserve(t.Context(), store.Submission{PURL: "pkg:generic/x@1", Artifact: sha256.Sum256(nil), Document: []byte(doc)}, true)
	if err != nil {
		t.Fatal(err)
	}
	return r.Ref()
}

func do(t *testing.T, w *Worker, ref store.Ref, want Outcome) error {
	t.Helper()
	got, err := w.Do(t.Context(), ref)
	if got != want {
		t.Errorf("%s: outcome %d, want %d (%v)", ref, got, want, err)
	}
	return err
}

// The same revision, signed again, is the same request: a repeated signature can differ
// in nothing but itself.
func TestSameRequest(t *testing.T) {
	t.Parallel()
	w, r := newWorker(t)
	ref := publish(t, w, "x")
	r.fail = &signer.Error{Kind: signer.KindService, Msg: "down", Hint: "wait"}
	for range 2 {
		if err := do(t, w, ref, 0); err == nil {
			t.Error("no error from a service that is down")
		}
	}
	r.fail = nil
	if err := do(t, w, ref, Signed); err != nil {
		t.Error(err)
	}
	if err := do(t, w, ref, Already); err != nil {
		t.Error(err)
	}
	r.asked[0].Checked = nil
	for _, q := range r.asked[1:] {
		q.Checked = nil // of the same document
		if fmt.Sprintf("%+v", q) != fmt.Sprintf("%+v", r.asked[0]) {
			t.Errorf("asked %+v, then %+v", r.asked[0], q)
		}
	}
	if len(r.asked) != 3 {
		t.Errorf("asked %d times", len(r.asked))
	}
}

// What is refused for good is not asked again, and those after it go on.
func TestRefused(t *testing.T) {
	t.Parallel()
	w, r := newWorker(t)
	first, second := publish(t, w, "a"), publish(t, w, "b")
	r.fail = &signer.Error{Kind: signer.KindMalformed, Msg: "no", Hint: "never"}
	if err := do(t, w, first, Refused); err == nil {
		t.Error("no reason")
	}
	r.fail = nil
	if err := do(t, w, first, Refused); err == nil || !strings.Contains(err.Error(), "no; never") {
		t.Errorf("the reason is lost: %v", err)
	}
	if err := do(t, w, second, Signed); err != nil {
		t.Error(err)
	}
	if q := r.asked[len(r.asked)-1]; q.Revision != 2 || q.Previous != [32]byte{} {
		t.Errorf("asked for %+v", q)
	}
}

func TestEarlierFirst(t *testing.T) {
	t.Parallel()
	w, _ := newWorker(t)
	publish(t, w, "a")
	ref := publish(t, w, "b")
	record, err := w.Store.Record(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Sign(t.Context(), record, record.Document, nil); !errors.Is(err, ErrEarlier) {
		t.Errorf("got %v", err)
	}
}

// A document that is not the one that was published is not signed under its revision.
func TestOtherDocument(t *testing.T) {
	t.Parallel()
	w, r := newWorker(t)
	record, err := w.Store.Record(t.Context(), publish(t, w, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Sign(t.Context(), record, []byte(`{}`), nil); err == nil || len(r.asked) > 0 {
		t.Errorf("got %v, asked %d times", err, len(r.asked))
	}
}

func TestAbsent(t *testing.T) {
	t.Parallel()
	w, _ := newWorker(t)
	if err := do(t, w, store.Ref{Package: store.PackageKey("x"), Revision: 1}, Absent); err != nil {
		t.Error(err)
	}
}

func FuzzPayload(f *testing.F) {
	f.Add([]byte(`{"dsseEnvelope":{"payload":"AAAA"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if sum, err := PayloadSHA256(data); err != nil && sum != [32]byte{} {
			t.Error("a digest came with the error")
		}
	})
}
