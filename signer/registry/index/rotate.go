package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/theupdateframework/go-tuf/v2/metadata"
	"github.com/theupdateframework/go-tuf/v2/metadata/trustedmetadata"
)

// Rotate replaces all online keys by those of next, and signs the whole index with
// them: after a key was stolen, or as a habit; root metadata lasts two years, and this
// renews it. next.Root is the root's key from then on; it may be the one that it was.
// Clients follow from whichever root they pinned, and those that were shown an index of a
// far higher version by a thief of the old keys accept the new one again.
//
// It takes the lease, so no other indexer may be at work. If it is cut short, clients
// refuse the index until it is done again with the same keys.
func (x *Indexer) Rotate(ctx context.Context, next *Keys) (err error) {
	if x.keys.Root == nil || next.Root == nil {
		return errors.New("index: the root's private key is needed to replace keys")
	}
	if err := x.lease.acquire(ctx); err != nil {
		return fmt.Errorf("index: %w; end it first: it has the old keys", err)
	}
	defer func() {
		err = errors.Join(err, x.lease.release(context.WithoutCancel(ctx)))
		x.lease.epoch = 0
	}()
	if err := x.refresh(ctx); err != nil {
		return err
	}
	version, rootBytes, err := x.nextRoot(ctx, next)
	if err != nil {
		return err
	}
	now := x.o.Now()
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
	if err := x.store.Create(ctx, roleKey(metadata.ROOT, version), rootBytes); err != nil {
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

// nextRoot makes the root metadata that follows the last one: signed by its key, and by
// its own.
func (x *Indexer) nextRoot(ctx context.Context, next *Keys) (version int64, data []byte, err error) {
	roots, err := rootChain(ctx, x.store, x.keys.Pinned)
	if err != nil {
		return 0, nil, err
	}
	last, err := trustedmetadata.New(roots[len(roots)-1])
	if err != nil {
		return 0, nil, err
	}
	if ok, err := signsFor(last.Root, metadata.ROOT, x.keys.Root); err != nil || !ok {
		return 0, nil, errors.Join(err, errors.New("index: the root's private key is not that of the newest root metadata; an earlier rotation may have replaced it"))
	}
	root, err := newRoot(last.Root.Signed.Version+1, x.o.Now(), next)
	if err != nil {
		return 0, nil, err
	}
	signers := []signature.Signer{x.keys.Root}
	if same, err := signsFor(root, metadata.ROOT, x.keys.Root); err != nil {
		return 0, nil, err
	} else if !same {
		signers = append(signers, next.Root)
	}
	data, err = signed(root, signers...)
	return root.Signed.Version, data, err
}

// signsFor tells whether a key is one of a role's.
func signsFor(root *metadata.Metadata[metadata.RootType], role string, key signature.Signer) (bool, error) {
	public, err := publicKey(key)
	if err != nil {
		return false, err
	}
	id, err := public.ID()
	if err != nil {
		return false, err
	}
	r := root.Signed.Roles[role]
	return r != nil && slices.Contains(r.KeyIDs, id), nil
}

// checkKeys refuses to work with keys that are not the index's, or no longer: what they
// sign, nobody would believe, the next indexer not even enough to put it right.
func (x *Indexer) checkKeys() error {
	for role, key := range map[string]signature.Signer{
		metadata.TARGETS: x.keys.Targets, metadata.SNAPSHOT: x.keys.Snapshot, metadata.TIMESTAMP: x.keys.Timestamp,
	} {
		ok, err := signsFor(x.repo.trusted.Root, role, key)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("index: the %s key is not the index's; its keys were replaced, or replacing them was cut short: use the new ones, and run steps registry rotate again if that was not done", role)
		}
	}
	return nil
}

// rootNotice is how long before its end a root is complained about.
const rootNotice = 90 * 24 * time.Hour

// noticeRoot says in good time that only the root's key can keep the index alive.
func (x *Indexer) noticeRoot() {
	if ends := x.repo.trusted.Root.Signed.Expires; ends.Sub(x.o.Now()) < rootNotice {
		x.o.Log.Warn("the root metadata ends; run steps registry rotate before", "expires", ends)
	}
}
