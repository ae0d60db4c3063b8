package index

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/theupdateframework/go-tuf/v2/metadata"
	"github.com/theupdateframework/go-tuf/v2/metadata/trustedmetadata"

	"steps.example/signer/registry/store"
)

// How long each role's signature lasts. What lies with the indexer is renewed long
// before; see [Indexer.fold].
const (
	rootLife     = 2 * 365 * 24 * time.Hour
	targetsLife  = 365 * 24 * time.Hour
	snapshotLife = 7 * 24 * time.Hour
)

const (
	binPrefix = "bin"
	minBits   = 1
	maxBits   = 14
)

// repository is one state of the index in memory: all roles but the bins, which are
// read one at a time.
type repository struct {
	store   *store.Store
	commit  *commit
	trusted *trustedmetadata.TrustedMetadata
}

// load reads the state that c committed, and checks all of it against the pinned root:
// who can write to the bucket must not get a change of theirs signed.
func load(ctx context.Context, s *store.Store, pinned []byte, c *commit) (*repository, error) {
	roots, err := rootChain(ctx, s, pinned)
	if err != nil {
		return nil, err
	}
	// A rotation that was cut short leaves a new root with an index under the old one.
	for i := len(roots) - 1; ; i-- {
		trusted, err := loadUnder(ctx, s, roots[i], c)
		if err == nil || i == 0 || !errors.Is(err, &metadata.ErrUnsignedMetadata{}) {
			return &repository{s, c, trusted}, err
		}
	}
}

func loadUnder(ctx context.Context, s *store.Store, root []byte, c *commit) (*trustedmetadata.TrustedMetadata, error) {
	t, err := trustedmetadata.New(root)
	if err != nil {
		return nil, fmt.Errorf("index: root: %w", err)
	}
	// An index that has expired is still the one to renew.
	t.RefTime = time.Unix(0, 0)
	timestamp, err := t.UpdateTimestamp(c.Timestamp)
	if err != nil {
		return nil, fmt.Errorf("index: timestamp: %w", err)
	}
	meta := timestamp.Signed.Meta["snapshot.json"]
	if meta == nil {
		return nil, errors.New("index: timestamp names no snapshot")
	}
	data, err := s.Read(ctx, roleKey("snapshot", meta.Version), maxMetaBytes)
	if err != nil {
		return nil, err
	}
	snapshot, err := t.UpdateSnapshot(data, false)
	if err != nil {
		return nil, fmt.Errorf("index: snapshot: %w", err)
	}
	if meta = snapshot.Signed.Meta["targets.json"]; meta == nil {
		return nil, errors.New("index: snapshot names no targets")
	}
	if data, err = s.Read(ctx, roleKey("targets", meta.Version), maxMetaBytes); err != nil {
		return nil, err
	}
	targets, err := t.UpdateTargets(data)
	if err != nil {
		return nil, fmt.Errorf("index: targets: %w", err)
	}
	if d := targets.Signed.Delegations; d == nil || d.SuccinctRoles == nil {
		return nil, errors.New("index: targets delegate to no bins; it is another kind of repository")
	}
	return t, nil
}

// rootChain returns the pinned root and all that follow it, each signed by the one
// before.
func rootChain(ctx context.Context, s *store.Store, pinned []byte) (roots [][]byte, err error) {
	t, err := trustedmetadata.New(pinned)
	if err != nil {
		return nil, fmt.Errorf("index: pinned root: %w", err)
	}
	for roots = [][]byte{pinned}; ; {
		next, err := s.Read(ctx, roleKey("root", t.Root.Signed.Version+1), maxMetaBytes)
		if errors.Is(err, store.ErrNotFound) {
			return roots, nil
		}
		if err != nil {
			return nil, err
		}
		if _, err := t.UpdateRoot(next); err != nil {
			return nil, fmt.Errorf("index: root %d: %w", t.Root.Signed.Version+1, err)
		}
		roots = append(roots, next)
	}
}

// roleKey is where a version of a role's metadata lies.
func roleKey(role string, version int64) string {
	return "tuf/" + strconv.FormatInt(version, 10) + "." + role + ".json"
}

const timestampKey = "tuf/timestamp.json"

func (r *repository) bins() *metadata.SuccinctRoles {
	return r.trusted.Targets[metadata.TARGETS].Signed.Delegations.SuccinctRoles
}

func (r *repository) binOf(purl string) string { return r.bins().GetRolesForTarget(purl)[0].Name }

// bin reads and checks a bin.
func (r *repository) bin(ctx context.Context, name string) (*metadata.Metadata[metadata.TargetsType], error) {
	meta := r.trusted.Snapshot.Signed.Meta[name+".json"]
	if meta == nil {
		return nil, fmt.Errorf("index: the snapshot has no %s", name)
	}
	data, err := r.store.Read(ctx, roleKey(name, meta.Version), maxMetaBytes)
	if err != nil {
		return nil, err
	}
	bin, err := r.trusted.UpdateDelegatedTargets(data, name, metadata.TARGETS)
	if err != nil {
		return nil, fmt.Errorf("index: %s: %w", name, err)
	}
	delete(r.trusted.Targets, name) // or all bins would stay in memory
	return bin, nil
}

// inUse tells whether the state refers to the file under key.
func (r *repository) inUse(key string) bool {
	version, role, _ := strings.Cut(strings.TrimPrefix(key, "tuf/"), ".")
	role = strings.TrimSuffix(role, ".json")
	meta := r.trusted.Snapshot.Signed.Meta[role+".json"]
	if role == metadata.SNAPSHOT {
		meta = r.trusted.Timestamp.Signed.Meta["snapshot.json"]
	}
	return meta != nil && strconv.FormatInt(meta.Version, 10) == version
}

// signed signs metadata and returns its bytes.
func signed[T metadata.Roles](m *metadata.Metadata[T], signers ...signature.Signer) ([]byte, error) {
	m.ClearSignatures()
	for _, signer := range signers {
		if _, err := m.Sign(signer); err != nil {
			return nil, fmt.Errorf("index: sign: %w", err)
		}
	}
	return m.ToBytes(false)
}

// newRoot is root metadata for the keys.
func newRoot(version int64, now time.Time, k *Keys) (*metadata.Metadata[metadata.RootType], error) {
	root := metadata.Root(expires(now, rootLife))
	root.Signed.Version = version
	for role, signer := range map[string]signature.Signer{
		metadata.ROOT: k.Root, metadata.TARGETS: k.Targets, metadata.SNAPSHOT: k.Snapshot, metadata.TIMESTAMP: k.Timestamp,
	} {
		key, err := publicKey(signer)
		if err != nil {
			return nil, err
		}
		if err := root.Signed.AddKey(key, role); err != nil {
			return nil, fmt.Errorf("index: root: %w", err)
		}
	}
	return root, nil
}

// newTargets delegates to 2^bits bins, signed by the targets key too.
func newTargets(now time.Time, k *Keys, bits int) (*metadata.Metadata[metadata.TargetsType], error) {
	key, err := publicKey(k.Targets)
	if err != nil {
		return nil, err
	}
	id, err := key.ID()
	if err != nil {
		return nil, err
	}
	targets := metadata.Targets(expires(now, targetsLife))
	targets.Signed.Delegations = &metadata.Delegations{
		Keys:          map[string]*metadata.Key{id: key},
		SuccinctRoles: &metadata.SuccinctRoles{KeyIDs: []string{id}, Threshold: 1, BitLength: bits, NamePrefix: binPrefix},
	}
	return targets, nil
}

func publicKey(signer signature.Signer) (*metadata.Key, error) {
	if signer == nil {
		return nil, errors.New("index: a key is missing")
	}
	public, err := signer.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("index: public key: %w", err)
	}
	return metadata.KeyFromPublicKey(crypto.PublicKey(public))
}

func expires(now time.Time, life time.Duration) time.Time {
	return now.Add(life).UTC().Truncate(time.Second)
}
