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
