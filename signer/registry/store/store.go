package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gocloud.dev/blob"
)

// Store is a registry's bucket. It is safe for concurrent use.
type Store struct {
	bucket   *blob.Bucket
	dir      string // of file://, else ""
	registry string
}

// Open opens the store of one registry, or makes it. A store that belongs to another
// registry is refused: its revisions and bundles would be mixed up.
func Open(ctx context.Context, bucketURL, registry string) (*Store, error) {
	bucket, dir, err := openBucket(ctx, bucketURL)
	if err != nil {
		return nil, err
	}
	s := &Store{bucket: bucket, dir: dir, registry: registry}
	err = s.Create(ctx, "registry", []byte(registry))
	if errors.Is(err, ErrExists) {
		var owner []byte
		if owner, err = s.Read(ctx, "registry", 4<<10); err == nil && string(owner) != registry {
			err = fmt.Errorf("store: belongs to registry %q, not %q; give each registry a store of its own", owner, registry)
		}
	}
	if err != nil {
		return nil, errors.Join(err, bucket.Close())
	}
	return s, nil
}

// Close releases the connection. The store must not be used after it.
func (s *Store) Close() error { return s.bucket.Close() }

// Registry is the URL of the registry that the store belongs to.
func (s *Store) Registry() string { return s.registry }

// Ref names one revision of the steps of one package version.
type Ref struct {
	Package  string // SHA-256 of the package URL, in hex
	Revision int
}

// PackageKey is the name of a package version in the store.
func PackageKey(purl string) string {
	sum := sha256.Sum256([]byte(purl))
	return hex.EncodeToString(sum[:])
}

// String is a ref's form in queues and marks.
func (r Ref) String() string { return fmt.Sprintf("%s.%010d", r.Package, r.Revision) }

// ParseRef reads what [Ref.String] wrote.
func ParseRef(s string) (Ref, error) {
	name, digits, _ := strings.Cut(s, ".")
	revision, err := strconv.Atoi(digits)
	ref := Ref{name, revision}
	if err != nil || revision < 1 || revision > maxRevision || !isDigest(name) || ref.String() != s {
		return Ref{}, fmt.Errorf("%q names no revision of a package", s[:min(len(s), 100)])
	}
	return ref, nil
}

const maxRevision = 1<<31 - 1

func isDigest(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && strings.ToLower(s) == s
}

func (r Ref) published() string {
	return fmt.Sprintf("published/%s/%s", r.Package[:2], r)
}

// BundleKey is where the bundle lies, in the bucket and under the base URL that serves
// it.
func (r Ref) BundleKey() string {
	return fmt.Sprintf("bundles/%s/%s.json", r.Package[:2], r)
}

// Mark is a kind of work that is left to do, or of its end.
type Mark string

const (
	Pending   Mark = "pending"   // to be signed
	Unindexed Mark = "unindexed" // to be put into the index
	Unpushed  Mark = "unpushed"  // to be pushed to an OCI registry
	Rejected  Mark = "rejected"  // never to be signed; the text says why
)

func (m Mark) key(r Ref) string { return fmt.Sprintf("%s/%s/%s", m, r.Package[:2], r) }

// SetMark sets a mark; setting it twice is the same as once.
func (s *Store) SetMark(ctx context.Context, m Mark, r Ref, text string) error {
	if text == "" && s.dir != "" {
		return within(m.key(r), s.touch(m.key(r)))
	}
	return s.Write(ctx, m.key(r), []byte(text))
}

// ClearMark removes a mark; one that is not there is not an error.
func (s *Store) ClearMark(ctx context.Context, m Mark, r Ref) error {
	return s.Delete(ctx, m.key(r))
}

// Marked calls f with each ref that has the mark and since when, in the order of their
// keys, until f returns an error. It holds a part of the list in memory, not all. Keys
// that are no marks are passed over.
func (s *Store) Marked(ctx context.Context, m Mark, f func(r Ref, since time.Time) error) error {
	return s.List(ctx, string(m)+"/", visitor(m, f))
}

// Shards is how many parts marks come in, see [Store.MarkedIn].
const Shards = 256

// MarkedIn is [Store.Marked] for one part of the marks, 0 to Shards-1.
func (s *Store) MarkedIn(ctx context.Context, m Mark, shard int, f func(r Ref, since time.Time) error) error {
	return s.List(ctx, fmt.Sprintf("%s/%02x/", m, shard), visitor(m, f))
}

// visitor passes on the keys that are marks.
func visitor(m Mark, f func(r Ref, since time.Time) error) func(string, time.Time) error {
	return func(key string, written time.Time) error {
		ref, err := ParseRef(key[strings.LastIndexByte(key, '/')+1:])
		if err != nil || m.key(ref) != key {
			return nil
		}
		return f(ref, written)
	}
}

// ReadMark returns a mark's text, [ErrNotFound] if it is not set.
func (s *Store) ReadMark(ctx context.Context, m Mark, r Ref) (string, error) {
	text, err := s.Read(ctx, m.key(r), maxHeadBytes)
	return string(text), err
}

// MarkedSince tells when a mark was set, [ErrNotFound] if it is not.
func (s *Store) MarkedSince(ctx context.Context, m Mark, r Ref) (time.Time, error) {
	a, err := s.bucket.Attributes(ctx, m.key(r))
	if err != nil {
		return time.Time{}, within(m.key(r), err)
	}
	return a.ModTime, nil
}
