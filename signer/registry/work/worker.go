package work

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"steps.example/signer"
	"steps.example/signer/registry/store"
)

// Signer makes a bundle; [signer.Signer] is one. It must be safe for concurrent use.
type Signer interface {
	Sign(ctx context.Context, r signer.Request) ([]byte, error)
}

// Check decides whether a document may be signed for a package, and decodes it by
// [signer.CheckDocument].
type Check func(purl string, document []byte) (*signer.CheckedDocument, error)

// Worker signs revisions of a store. It is safe for concurrent use.
type Worker struct {
	Store  *store.Store
	Signer Signer
	Check  Check
	// Marks are set on each bundle, beside that for the index.
	Marks []store.Mark
}

// Outcome is what became of a revision.
type Outcome int

const (
	Signed  Outcome = iota + 1 // now
	Already                    // before
	Refused                    // for good
	Absent                     // there is no such record, or not yet
)

// RefusedError is why a revision was set aside when it was tried before.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string {
	return "refused before: " + e.Why + "; publish a corrected document, or this one with the next revision"
}

// ErrEarlier says that an earlier revision has to be signed first.
var ErrEarlier = errors.New("an earlier revision is not signed yet")

// Do signs a revision whose record has its document, and those before it if they are
// not signed yet. The error with [Refused] says why; any other means that the same can
// be tried again.
func (w *Worker) Do(ctx context.Context, ref store.Ref) (Outcome, error) {
	if done, err := w.done(ctx, ref); done != 0 || err != nil {
		return done, err
	}
	record, err := w.Store.Record(ctx, ref)
	if errors.Is(err, store.ErrNotFound) {
		return Absent, nil
	}
	if err != nil {
		return 0, err
	}
	outcome, err := w.Sign(ctx, record, record.Document, nil)
	if errors.Is(err, ErrEarlier) {
		if _, err := w.Do(ctx, store.Ref{Package: ref.Package, Revision: ref.Revision - 1}); err != nil && ctx.Err() != nil {
			return 0, err
		}
		outcome, err = w.Sign(ctx, record, record.Document, nil)
	}
	return outcome, err
}

// done finishes what was signed by a worker that did not live to clear the mark.
func (w *Worker) done(ctx context.Context, ref store.Ref) (Outcome, error) {
	signed, err := w.Store.Signed(ctx, ref)
	if err != nil || !signed {
		return 0, err
	}
	return Already, w.Store.ClearMark(ctx, store.Pending, ref)
}

// Sign signs a record for the document, which must be the one that was submitted, and
// stores the bundle. doc is what Check made of the document, or nil if it was not asked.
// The error is [ErrEarlier] if the revision before is neither signed nor refused.
func (w *Worker) Sign(ctx context.Context, record *store.Record, document []byte, doc *signer.CheckedDocument) (Outcome, error) {
	ref := record.Ref()
	sub := store.Submission{PURL: record.PURL, Artifact: record.ArtifactSHA256(), Document: document}
	if sub.Content() != record.Content {
		return 0, fmt.Errorf("%s revision %d: the document is not the one that was published; somebody else wrote it", record.PURL, record.Revision)
	}
	if why, err := w.Store.ReadMark(ctx, store.Rejected, ref); err == nil {
		return Refused, errors.Join(&RefusedError{why}, w.Store.ClearMark(ctx, store.Pending, ref))
	} else if !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}
	previous, err := w.previous(ctx, ref)
	if err != nil {
		return 0, err
	}
	bundle, err := w.sign(ctx, record, document, doc, previous)
	if Permanent(err) {
		return Refused, errors.Join(err, w.refuse(ctx, ref, err))
	}
	if err != nil {
		return 0, err
	}
	first, err := w.Store.PutBundle(ctx, ref, bundle, w.Marks...)
	if err != nil {
		return 0, err
	}
	outcome := Signed
	if !first {
		outcome = Already
	}
	return outcome, w.Store.ClearMark(ctx, store.Pending, ref)
}

func (w *Worker) sign(ctx context.Context, record *store.Record, document []byte, doc *signer.CheckedDocument, previous [32]byte) ([]byte, error) {
	if doc == nil {
		var err error
		if doc, err = w.Check(record.PURL, document); err != nil {
			return nil, &unfitError{err}
		}
	}
	return w.Signer.Sign(ctx, signer.Request{
		Registry: w.Store.Registry(), PURL: record.PURL, Revision: record.Revision, IssuedAt: record.IssuedAt.Truncate(time.Second),
		Capabilities: doc.Capabilities(), Document: document, ArtifactSHA256: record.ArtifactSHA256(), Previous: previous,
		Checked: doc,
	})
}

// previous is the payload digest of the last revision that was signed before ref, or
// zero if there is none.
func (w *Worker) previous(ctx context.Context, ref store.Ref) (sum [32]byte, err error) {
	for ref.Revision--; ref.Revision > 0; ref.Revision-- {
		bundle, err := w.Store.Bundle(ctx, ref)
		if err == nil {
			return PayloadSHA256(bundle)
		}
		if !errors.Is(err, store.ErrNotFound) {
			return sum, err
		}
		_, err = w.Store.ReadMark(ctx, store.Rejected, ref)
		if errors.Is(err, store.ErrNotFound) {
			return sum, ErrEarlier
		}
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// refuse sets a revision aside for good.
func (w *Worker) refuse(ctx context.Context, ref store.Ref, why error) error {
	const limit = 4 << 10
	text := why.Error()
	if err := w.Store.SetMark(ctx, store.Rejected, ref, text[:min(len(text), limit)]); err != nil {
		return err
	}
	return w.Store.ClearMark(ctx, store.Pending, ref)
}

// unfitError is a document that does not pass the check.
type unfitError struct{ error }

func (e *unfitError) Unwrap() error { return e.error }

// Permanent tells an error of a Signer that will be the same the next time from one of
// services, disks and cancellation.
func Permanent(err error) bool {
	var unfit *unfitError
	var own *signer.Error
	if errors.As(err, &own) {
		switch own.Kind {
		case signer.KindMalformed, signer.KindTooLarge, signer.KindUnsupported, signer.KindCapabilities:
			return true
		}
	}
	return errors.As(err, &unfit)
}

// PayloadSHA256 reads the digest of the statement out of a bundle, without verifying it.
func PayloadSHA256(bundle []byte) (sum [32]byte, err error) {
	var b struct {
		Envelope struct {
			Payload []byte `json:"payload"`
		} `json:"dsseEnvelope"`
	}
	if err := json.UnmarshalRead(bytes.NewReader(bundle), &b); err != nil || len(b.Envelope.Payload) == 0 {
		return sum, fmt.Errorf("a stored bundle has no payload (%v); somebody else wrote it", err)
	}
	return sha256.Sum256(b.Envelope.Payload), nil
}
