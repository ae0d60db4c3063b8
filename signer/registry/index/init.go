package index

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/theupdateframework/go-tuf/v2/metadata"
	"github.com/theupdateframework/go-tuf/v2/metadata/trustedmetadata"

	"steps.example/signer/registry/store"
)

// Init makes an empty index and sets keys.Pinned to its root metadata. It may be
// repeated with the same keys; a store that has another index is left alone, with an
// error.
func Init(ctx context.Context, s *store.Store, keys *Keys, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	if keys.Root == nil {
		return errors.New("index: the root's private key is needed to make an index")
	}
	if keys.Pinned != nil {
		return errors.New("index: the keys belong to an index already; make new keys for a new one")
	}
	now := o.Now()
	root, err := newRoot(1, now, keys)
	if err != nil {
		return err
	}
	c, err := latest(ctx, s)
	if err != nil {
		return err
	}
	if c != nil {
		keys.Pinned, err = resumed(ctx, s, root)
		return err
	}
	pinned, err := signed(root, keys.Root)
	if err != nil {
		return err
	}
	err = s.Create(ctx, roleKey(metadata.ROOT, 1), pinned)
	if errors.Is(err, store.ErrExists) {
		pinned, err = resumed(ctx, s, root)
	}
	if err != nil {
		return err
	}
	targets, err := newTargets(now, keys, o.Bits)
	if err != nil {
		return err
	}
	trusted, err := trustedmetadata.New(pinned)
	if err != nil {
		return err
	}
	trusted.Targets[metadata.TARGETS] = targets
	trusted.Snapshot = metadata.Snapshot()
	trusted.Snapshot.Signed.Meta = nil
	e := &edit{
		repo: &repository{s, &commit{}, trusted}, keys: keys, now: now, life: o.Life, targets: targets, renewed: now,
	}
	for _, name := range targets.Signed.Delegations.SuccinctRoles.GetRoles() {
		e.put(name, metadata.Targets())
	}
	if _, err := e.commit(ctx); err != nil {
		return err
	}
	keys.Pinned = pinned
	return nil
}

// resumed returns the root metadata of an index whose making was cut short, if it is
// for the same keys.
func resumed(ctx context.Context, s *store.Store, want *metadata.Metadata[metadata.RootType]) ([]byte, error) {
	data, err := s.Read(ctx, roleKey(metadata.ROOT, 1), maxMetaBytes)
	if err != nil {
		return nil, err
	}
	t, err := trustedmetadata.New(data)
	if err != nil {
		return nil, fmt.Errorf("index: root 1: %w", err)
	}
	for name, role := range want.Signed.Roles {
		if got := t.Root.Signed.Roles[name]; got == nil || !slices.Equal(got.KeyIDs, role.KeyIDs) {
			return nil, errors.New("index: the store has the root of another index, under other keys; empty its folder tuf, or use those keys")
		}
	}
	return data, nil
}

// Rotate replaces all online keys by those of next, and signs the whole index with
// them: after a key was stolen, or as a habit. next.Root stays what it was. Clients that
// were shown an index of a far higher version by a thief of the old keys accept the new
// one again.
func (x *Indexer) Rotate(ctx context.Context, next *Keys) error {
	if x.keys.Root == nil || next.Root == nil {
		return errors.New("index: the root's private key is needed to replace keys")
	}
	if err := x.refresh(ctx); err != nil {
		return err
	}
	roots, err := rootChain(ctx, x.store, x.keys.Pinned)
	if err != nil {
		return err
	}
	last, err := trustedmetadata.New(roots[len(roots)-1])
	if err != nil {
		return err
	}
	now := x.o.Now()
	root, err := newRoot(last.Root.Signed.Version+1, now, next)
	if err != nil {
		return err
	}
	rootBytes, err := signed(root, x.keys.Root)
	if err != nil {
		return err
	}
	targets, err := newTargets(now, next, x.repo.bins().BitLength)
	if err != nil {
		return err
	}
	e := &edit{repo: x.repo, keys: next, now: now, life: x.o.Life, targets: targets}
	for _, name := range x.repo.bins().GetRoles() {
		bin, err := x.repo.bin(ctx, name)
		if err != nil {
			return err
		}
		e.put(name, bin)
	}
	// The root comes first: until the commit, clients refuse the index, and they do
	// not take the old keys for good.
	if err := x.store.Create(ctx, roleKey(metadata.ROOT, root.Signed.Version), rootBytes); err != nil {
		return err
	}
	x.repo = nil
	if _, err := e.commit(ctx); err != nil {
		return err
	}
	next.Pinned = x.keys.Pinned
	x.keys = next
	return nil
}
