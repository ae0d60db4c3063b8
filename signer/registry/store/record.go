package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// MaxDocumentBytes bounds a submitted document; no bundle that clients accept holds a
// greater one.
const MaxDocumentBytes = 8 << 20

const (
	maxHeadBytes   = 64 << 10
	maxBundleBytes = 16 << 20
	maxPURLBytes   = 1024
	maxRevisions   = 10_000
)

// Submission is a document for one package file, as its author hands it in.
type Submission struct {
	PURL     string
	Artifact [32]byte // SHA-256 of the package file
	Document []byte
	// Revision is the one that the author expects to get, or 0 for whichever is due.
	Revision int
	// Subject is the OCI manifest to which the bundle is to be attached, such as
	// sha256:…, or "".
	Subject string
}

// Record is a submission that has got its revision. It never changes.
type Record struct {
	PURL     string    `json:"purl"`
	Artifact string    `json:"artifact_sha256"`
	Revision int       `json:"revision"`
	IssuedAt time.Time `json:"issued_at"`
	Content  string    `json:"content"` // identifies the submission
	Subject  string    `json:"subject,omitempty"`

	// Document is empty where whoever signs has it from elsewhere.
	Document []byte `json:"-"`
}

// Ref is the record's name.
func (r *Record) Ref() Ref { return Ref{PackageKey(r.PURL), r.Revision} }

// ArtifactSHA256 is the digest of the package file.
func (r *Record) ArtifactSHA256() (sum [32]byte) {
	b, _ := hex.DecodeString(r.Artifact) // checked by decodeRecord
	copy(sum[:], b)
	return sum
}

// Content identifies what is submitted: the same package, file and document, to the
// byte. The revision is not part of it.
func (sub *Submission) Content() string {
	h := sha256.New()
	fmt.Fprintf(h, "steps submission 1\n%d %s\n%x\n", len(sub.PURL), sub.PURL, sub.Artifact)
	h.Write(sub.Document)
	return hex.EncodeToString(h.Sum(nil))
}

// check refuses what can be seen at once to be wrong. The signer checks the rest.
func (sub *Submission) check() error {
	switch {
	case !strings.HasPrefix(sub.PURL, "pkg:") || len(sub.PURL) > maxPURLBytes || strings.ContainsFunc(sub.PURL, func(r rune) bool { return r <= ' ' || r > '~' }):
		return &RefusedError{fmt.Sprintf("purl %.200q is no package URL; write it like pkg:generic/acme/foo@1.2.3", sub.PURL)}
	case sub.Artifact == [32]byte{}:
		return &RefusedError{"artifact_sha256 is all zeros; give the SHA-256 of the package file"}
	case len(sub.Document) > MaxDocumentBytes:
		return &RefusedError{fmt.Sprintf("document has %d bytes, more than %d; shorten it", len(sub.Document), MaxDocumentBytes)}
	case sub.Revision < 0 || sub.Revision > maxRevision:
		return &RefusedError{fmt.Sprintf("revision %d is not in 1..%d; leave it out", sub.Revision, maxRevision)}
	}
	return nil
}

// RefusedError is a submission that cannot be taken, whoever tries again.
type RefusedError struct{ Msg string }

func (e *RefusedError) Error() string { return e.Msg }

// Reserve gives a submission its revision: the one it has got before, or the next. The
// order of reservations is the order of revisions, between all processes. With keep,
// the document is kept and the revision marked [Pending], for another process to sign;
// without it, both are the caller's. The record comes without the document if it is
// not new. The second result tells whether the
// record is new.
//
// The same content gets the same revision for ever, unless the author asks for the
// next one by number, as when going back to an earlier document. A revision is never
// skipped: a number that is not the next one is a [*RefusedError].
func (s *Store) Reserve(ctx context.Context, sub Submission, keep bool) (*Record, bool, error) {
	if err := sub.check(); err != nil {
		return nil, false, err
	}
	r := &Record{
		PURL: sub.PURL, Artifact: hex.EncodeToString(sub.Artifact[:]), Content: sub.Content(), Subject: sub.Subject,
		IssuedAt: time.Now().UTC().Truncate(time.Second),
	}
	if keep {
		r.Document = sub.Document
	}
	for {
		earlier, next, err := s.find(ctx, &sub, r.Content)
		if earlier != nil || err != nil {
			return earlier, false, err
		}
		r.Revision = next
		// The mark comes first: a mark without a record is work that proves empty.
		if keep {
			if err := s.SetMark(ctx, Pending, r.Ref(), ""); err != nil {
				return nil, false, err
			}
		}
		err = s.Create(ctx, r.Ref().published(), r.encode())
		if !errors.Is(err, ErrExists) {
			return r, err == nil, err
		}
		// Look at the one that won.
	}
}

// Find returns the record that [Store.Reserve] gave to a submission, without its
// document, or nil if there is none.
func (s *Store) Find(ctx context.Context, sub Submission) (*Record, error) {
	if err := sub.check(); err != nil {
		return nil, err
	}
	r, _, err := s.find(ctx, &sub, sub.Content())
	return r, err
}

// find returns the record with the content, or the revision that is due for it.
func (s *Store) find(ctx context.Context, sub *Submission, content string) (*Record, int, error) {
	refuse := func(format string, args ...any) (*Record, int, error) {
		return nil, 0, &RefusedError{sub.PURL + ": " + fmt.Sprintf(format, args...)}
	}
	ref := Ref{PackageKey(sub.PURL), 1}
	for ; ; ref.Revision++ {
		r, err := s.record(ctx, ref, s.readHead, maxHeadBytes)
		switch {
		case err == nil && r.Content == content && (sub.Revision == 0 || sub.Revision == ref.Revision):
			return r, 0, nil
		case err == nil && sub.Revision == ref.Revision:
			return refuse("there is a revision %d already, with other content; leave the revision out", ref.Revision)
		case err == nil:
			continue
		case !errors.Is(err, ErrNotFound):
			return nil, 0, err
		case sub.Revision > ref.Revision:
			return refuse("revision %d is not the next one, which is %d", sub.Revision, ref.Revision)
		case ref.Revision > maxRevisions:
			return refuse("there are %d revisions; release a new version", maxRevisions)
		}
		return nil, ref.Revision, nil
	}
}

// Record reads the record of a revision, [ErrNotFound] if there is none.
func (s *Store) Record(ctx context.Context, ref Ref) (*Record, error) {
	return s.record(ctx, ref, s.Read, maxHeadBytes+MaxDocumentBytes)
}

func (s *Store) record(ctx context.Context, ref Ref, read func(context.Context, string, int64) ([]byte, error), limit int64) (*Record, error) {
	key := ref.published()
	data, err := read(ctx, key, limit)
	if err != nil {
		return nil, err
	}
	r, err := decodeRecord(data)
	if err == nil && r.Ref() != ref {
		err = fmt.Errorf("is the record of another revision, %s %d", r.PURL, r.Revision)
	}
	if err != nil {
		return nil, fmt.Errorf("store: %s: %w; somebody else wrote it", key, err)
	}
	return r, nil
}

// encode is a line of JSON, and the document as it is.
func (r *Record) encode() []byte {
	head, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		panic("BUG(steps): " + err.Error()) // strings and numbers only
	}
	return append(append(head, '\n'), r.Document...)
}

func decodeRecord(data []byte) (*Record, error) {
	head, document, ok := bytes.Cut(data, []byte("\n"))
	if !ok || len(head) > maxHeadBytes {
		return nil, errors.New("has no head")
	}
	r := &Record{Document: document}
	if err := json.Unmarshal(head, r, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if !isDigest(r.Artifact) || !isDigest(r.Content) || r.Revision < 1 || r.Revision > maxRevision || r.IssuedAt.Unix() <= 0 {
		return nil, errors.New("is not complete")
	}
	return r, nil
}

// PutBundle stores the bundle of a revision, after it has marked it for the index and
// with more marks. The first bundle stays: false means that there is one already, which
// may differ in its signature, not in what was signed.
func (s *Store) PutBundle(ctx context.Context, ref Ref, bundle []byte, more ...Mark) (bool, error) {
	for _, m := range append([]Mark{Unindexed}, more...) {
		if err := s.SetMark(ctx, m, ref, ""); err != nil {
			return false, err
		}
	}
	err := s.Create(ctx, ref.BundleKey(), bundle)
	if errors.Is(err, ErrExists) {
		return false, nil
	}
	return err == nil, err
}

// Bundle reads the bundle of a revision, [ErrNotFound] if it is not signed.
func (s *Store) Bundle(ctx context.Context, ref Ref) ([]byte, error) {
	return s.Read(ctx, ref.BundleKey(), maxBundleBytes)
}

// Signed tells whether a revision has its bundle.
func (s *Store) Signed(ctx context.Context, ref Ref) (bool, error) {
	return s.Exists(ctx, ref.BundleKey())
}
