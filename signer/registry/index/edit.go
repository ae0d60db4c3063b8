package index

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"

	"steps.example/signer"
	"steps.example/signer/registry/lookup"
	"steps.example/signer/registry/store"
	"steps.example/steps"
)

// bundle is what the index is told about a bundle.
type bundle struct {
	ref    store.Ref
	purl   string
	length int64
	sum    [32]byte
	custom lookup.Custom
}

// read reads a bundle and has it verified against its record.
func (x *Indexer) read(ctx context.Context, ref store.Ref) (b bundle, err error) {
	data, err := x.store.Bundle(ctx, ref)
	if err != nil {
		return b, err
	}
	record, err := x.store.Record(ctx, ref)
	if err != nil {
		return b, err
	}
	v, err := x.o.Verify(ctx, data, signer.Expectation{
		PURL: record.PURL, Registry: x.store.Registry(), ArtifactSHA256: record.ArtifactSHA256(),
		Now: x.o.Now(), MinRevision: ref.Revision,
	})
	if err != nil {
		return b, err
	}
	if v.Revision != ref.Revision {
		return b, fmt.Errorf("bundle is of revision %d, not %d; somebody else wrote it", v.Revision, ref.Revision)
	}
	doc, err := steps.Decode(v.Document, steps.DefaultLimits)
	if err != nil {
		return b, err
	}
	return bundle{
		ref: ref, purl: v.PURL, length: int64(len(data)), sum: sha256.Sum256(data),
		custom: lookup.Custom{
			Revision: v.Revision, Artifact: record.Artifact, Payload: hex.EncodeToString(v.PayloadSHA256[:]),
			StepsRequired: slices.ContainsFunc(doc.Blocks, func(b steps.Block) bool { return len(b.Steps) > 0 }),
		},
	}, nil
}

func (b *bundle) target() (*metadata.TargetFiles, error) {
	custom, err := json.Marshal(b.custom)
	if err != nil {
		return nil, err
	}
	return &metadata.TargetFiles{
		Path: b.purl, Length: b.length, Hashes: metadata.Hashes{"sha256": b.sum[:]}, Custom: (*json.RawMessage)(&custom),
	}, nil
}

// edit is a change of the index that is being put together.
type edit struct {
	repo *repository
	keys *Keys
	now  time.Time
	life time.Duration

	bins    map[string]*metadata.Metadata[metadata.TargetsType]
	targets *metadata.Metadata[metadata.TargetsType] // nil if it stays
	changed int
	renewed time.Time // set: commit even if nothing else changes
}

func (e *edit) empty() bool { return len(e.bins) == 0 && e.targets == nil && e.renewed.IsZero() }

// apply puts bundles into their bins. An older revision than the one in the index is
// passed over, and so is the one that is there already.
func (e *edit) apply(ctx context.Context, batch []bundle) error {
	for i := range batch {
		b := &batch[i]
		name := e.repo.binOf(b.purl)
		bin := e.bins[name]
		if bin == nil {
			var err error
			if bin, err = e.repo.bin(ctx, name); err != nil {
				return err
			}
		}
		if present := bin.Signed.Targets[b.purl]; present != nil && present.Custom != nil {
			c, err := lookup.ParseCustom(*present.Custom)
			if err != nil {
				return fmt.Errorf("index: %s in %s: %w", b.purl, name, err)
			}
			if c.Revision >= b.custom.Revision {
				continue
			}
		}
		target, err := b.target()
		if err != nil {
			return err
		}
		bin.Signed.Targets[b.purl] = target
		e.changed++
		e.put(name, bin)
	}
	return nil
}

func (e *edit) put(name string, bin *metadata.Metadata[metadata.TargetsType]) {
	if e.bins == nil {
		e.bins = make(map[string]*metadata.Metadata[metadata.TargetsType])
	}
	e.bins[name] = bin
}

// renew signs again what grows old, four times in a timestamp's life: the timestamp and
// the snapshot, and a thousandth of the bins, those that were signed the longest ago. At
// the usual life of a day all bins have their turn within nine months of their year.
func (e *edit) renew(ctx context.Context) error {
	if e.now.Sub(e.repo.commit.Renewed) < e.life/4 {
		return nil
	}
	e.renewed = e.now
	if t := e.repo.trusted.Targets[metadata.TARGETS]; t.Signed.Expires.Sub(e.now) < targetsLife/2 {
		e.targets = t
	}
	names := e.repo.bins().GetRoles()
	meta := e.repo.trusted.Snapshot.Signed.Meta
	slices.SortStableFunc(names, func(a, b string) int {
		return int(meta[a+".json"].Version - meta[b+".json"].Version)
	})
	for _, name := range names[:(len(names)+999)/1000] {
		if e.bins[name] != nil {
			continue
		}
		bin, err := e.repo.bin(ctx, name)
		if err != nil {
			return err
		}
		e.put(name, bin)
	}
	return nil
}

// commit writes the files of a new version, and then the link of the chain that makes
// them the index, or returns [errBehind].
func (e *edit) commit(ctx context.Context) (*commit, error) {
	old := e.repo.commit
	c := &commit{Number: old.Number + 1, Version: old.Version, At: e.now.UTC(), Renewed: old.Renewed}
	if !e.renewed.IsZero() {
		c.Renewed = e.renewed.UTC()
	}
	snapshot, err := e.reserve(ctx, c)
	if err != nil {
		return nil, err
	}
	for name, bin := range e.bins {
		if err := e.write(ctx, c, name, bin); err != nil {
			return nil, err
		}
	}
	if e.targets != nil {
		if err := e.write(ctx, c, metadata.TARGETS, e.targets); err != nil {
			return nil, err
		}
	}
	if err := e.sealed(c, snapshot); err != nil {
		return nil, err
	}
	if err := c.append(ctx, e.repo.store); err != nil {
		return nil, err
	}
	return c, e.repo.store.Write(ctx, timestampKey, c.Timestamp)
}

// reserve signs the snapshot and writes it under the first version that nobody has
// used, which makes all files of that version this edit's own.
func (e *edit) reserve(ctx context.Context, c *commit) ([]byte, error) {
	snapshot := e.repo.trusted.Snapshot
	if c.Number > 1 {
		c.Superseded = append(c.Superseded, roleKey(metadata.SNAPSHOT, snapshot.Signed.Version))
	}
	for {
		c.Version++
		meta := make(map[string]*metadata.MetaFiles, len(snapshot.Signed.Meta))
		for name, file := range snapshot.Signed.Meta {
			meta[name] = file
		}
		for name := range e.bins {
			meta[name+".json"] = metadata.MetaFile(c.Version)
		}
		if e.targets != nil {
			meta["targets.json"] = metadata.MetaFile(c.Version)
		}
		next := metadata.Snapshot(expires(e.now, max(snapshotLife, 2*e.life)))
		next.Signed.Version, next.Signed.Meta = c.Version, meta
		data, err := signed(next, e.keys.Snapshot)
		if err != nil {
			return nil, err
		}
		key := roleKey(metadata.SNAPSHOT, c.Version)
		err = e.repo.store.Create(ctx, key, data)
		if !errors.Is(err, store.ErrExists) {
			return data, err
		}
		c.Superseded = append(c.Superseded, key)
	}
}

// write signs a bin or the targets under the version of c.
func (e *edit) write(ctx context.Context, c *commit, name string, m *metadata.Metadata[metadata.TargetsType]) error {
	if old := e.repo.trusted.Snapshot.Signed.Meta[name+".json"]; old != nil {
		c.Superseded = append(c.Superseded, roleKey(name, old.Version))
	}
	m.Signed.Version, m.Signed.Expires = c.Version, expires(e.now, targetsLife)
	data, err := signed(m, e.keys.Targets)
	if err != nil {
		return err
	}
	return e.repo.store.Write(ctx, roleKey(name, c.Version), data)
}

// sealed makes the timestamp over the snapshot.
func (e *edit) sealed(c *commit, snapshot []byte) error {
	t := metadata.Timestamp(expires(e.now, e.life))
	t.Signed.Version = c.Version
	sum := sha256.Sum256(snapshot)
	t.Signed.Meta["snapshot.json"] = &metadata.MetaFiles{
		Version: c.Version, Length: int64(len(snapshot)), Hashes: metadata.Hashes{"sha256": sum[:]},
	}
	var err error
	c.Timestamp, err = signed(t, e.keys.Timestamp)
	return err
}
