package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"steps.example/signer"
	"steps.example/signer/registry/store"
)

// Verify checks a bundle that is about to enter the index, as a client would.
type Verify func(ctx context.Context, bundle []byte, want signer.Expectation) (*signer.Verified, error)

// Options are an indexer's. All have defaults but Verify.
type Options struct {
	// Verify is asked about each bundle.
	Verify Verify
	// Bits: a new index has 2^Bits bins. Good values keep a bin about as large as the
	// snapshot: 10 for 100,000 packages, 12 for a million, 13 for ten. At most 14,
	// 0 is 10.
	Bits int
	// Every is how often new bundles are looked for; 0 is 5 s.
	Every time.Duration
	// Life is how long a timestamp is good for, and so how long a client can be kept
	// from news without noticing; 0 is a day. It is renewed after a quarter of that.
	Life time.Duration
	// Batch is how many bundles at most go into one commit; 0 is 1,000. The bins that
	// they change are in memory together.
	Batch int
	// Holder names this process in the lease.
	Holder string
	// Gone tells whether a holder is known to be dead, so that its lease need not end.
	Gone func(holder string) bool
	// Lease is how long the others wait if this process dies; 0 is 1 minute.
	Lease time.Duration
	Log   *slog.Logger
	// Now is the clock, for tests.
	Now func() time.Time
	// Committed is told of each commit: the index's version and how many packages it
	// changed.
	Committed func(version int64, changed int)
}

func (o Options) withDefaults() (Options, error) {
	if o.Verify == nil {
		return o, errors.New("index: no Verify; an index must not name what nobody checked")
	}
	if o.Bits == 0 {
		o.Bits = 10
	}
	if o.Bits < minBits || o.Bits > maxBits {
		return o, fmt.Errorf("index: %d bits of bins are not in %d..%d", o.Bits, minBits, maxBits)
	}
	o.Every = positive(o.Every, 5*time.Second)
	o.Life = positive(o.Life, 24*time.Hour)
	o.Lease = positive(o.Lease, time.Minute)
	o.Batch = positive(o.Batch, 1000)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Gone == nil {
		o.Gone = func(string) bool { return false }
	}
	if o.Committed == nil {
		o.Committed = func(int64, int) {}
	}
	return o, nil
}

func positive[T int | time.Duration](value, preset T) T {
	if value > 0 {
		return value
	}
	return preset
}

// Indexer writes the index of one store. It is not safe for concurrent use; several in
// several processes are.
type Indexer struct {
	store *store.Store
	keys  *Keys
	o     Options
	lease lease
	repo  *repository // nil: to be read
	// unfit are bundles that did not pass, so as not to ask again and again.
	unfit map[store.Ref]bool
}

// Open makes an indexer. An index must exist: see [Init].
func Open(s *store.Store, keys *Keys, o Options) (*Indexer, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if keys.Pinned == nil {
		return nil, errors.New("index: there is no root metadata; make the index with steps registry init")
	}
	return &Indexer{
		store: s, keys: keys, o: o, unfit: make(map[store.Ref]bool),
		lease: lease{store: s, holder: o.Holder, length: o.Lease, now: o.Now, gone: o.Gone},
	}, nil
}

// Run folds new bundles into the index until ctx is done, and then returns nil. While
// another indexer holds the lease it waits.
func (x *Indexer) Run(ctx context.Context) error {
	defer func() {
		// The context is done, but the next indexer should not have to wait.
		if err := x.lease.release(context.WithoutCancel(ctx)); err != nil {
			x.o.Log.Warn("lease not released", "error", err)
		}
	}()
	for {
		more, err := x.turn(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			x.o.Log.Error("index", "error", err)
		case more:
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(x.o.Every):
		}
	}
}

// turn does one commit if there is something to commit; more tells that there is more
// to do at once.
func (x *Indexer) turn(ctx context.Context) (more bool, err error) {
	if x.lease.epoch != 0 {
		err = x.lease.renew(ctx)
	} else if err = x.lease.acquire(ctx); err == nil {
		x.o.Log.Info("lease acquired", "epoch", x.lease.epoch)
	}
	if errors.Is(err, errLost) {
		x.lease.epoch, x.repo = 0, nil
		x.o.Log.Warn("lease lost")
		return false, nil
	}
	var held *errHeld
	if errors.As(err, &held) {
		x.o.Log.Debug("waiting", "reason", held)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	n, err := x.Fold(ctx)
	if errors.Is(err, errBehind) {
		x.lease.epoch = 0
		return false, nil
	}
	return n >= x.o.Batch, err
}

// Fold takes up to a batch of new bundles into the index, renews what is about to
// expire, and commits, if there is anything to do. It returns how many bundles it
// dealt with. It needs no lease; without one it may do work that is thrown away.
func (x *Indexer) Fold(ctx context.Context) (int, error) {
	if err := x.refresh(ctx); err != nil {
		return 0, err
	}
	if err := x.checkKeys(); err != nil {
		return 0, err
	}
	batch, err := x.collect(ctx)
	if err != nil {
		return 0, err
	}
	edit := &edit{repo: x.repo, keys: x.keys, now: x.o.Now(), life: x.o.Life}
	if err := edit.apply(ctx, batch); err != nil {
		return 0, err
	}
	if err := edit.renew(ctx); err != nil {
		return 0, err
	}
	if !edit.empty() {
		c, err := edit.commit(ctx)
		x.repo = nil // read and check what was written, or what another one did
		if err != nil {
			return 0, err
		}
		x.o.Log.Info("committed", "commit", c.Number, "version", c.Version, "packages", edit.changed, "bins", len(edit.bins))
		x.o.Committed(c.Version, edit.changed)
	}
	for _, b := range batch {
		if err := x.store.ClearMark(ctx, store.Unindexed, b.ref); err != nil {
			return 0, err
		}
	}
	if !edit.empty() {
		if err := x.refresh(ctx); err != nil {
			return 0, err
		}
		if !edit.renewed.IsZero() {
			x.noticeRoot()
		}
		err = prune(ctx, x.store, x.repo.commit.Number, x.o.Now(), x.repo.inUse)
	}
	return len(batch), err
}

// refresh reads the end of the chain if it is not what is in memory, and puts the
// unversioned timestamp right if a process died before it wrote it.
func (x *Indexer) refresh(ctx context.Context) error {
	last, err := lastCommit(ctx, x.store)
	if err != nil {
		return err
	}
	if x.repo != nil && x.repo.commit.Number == last {
		return nil
	}
	c, err := latest(ctx, x.store)
	if err != nil {
		return err
	}
	if c == nil {
		return errors.New("index: the store has no index; make it with steps registry init")
	}
	if x.repo, err = load(ctx, x.store, x.keys.Pinned, c); err != nil {
		return err
	}
	served, err := x.store.Read(ctx, timestampKey, maxMetaBytes)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if string(served) != string(c.Timestamp) {
		return x.store.Write(ctx, timestampKey, c.Timestamp)
	}
	return nil
}

// errFull ends a listing.
var errFull = errors.New("full")

// collect reads and checks a batch of bundles that are marked for the index.
func (x *Indexer) collect(ctx context.Context) (batch []bundle, err error) {
	err = x.store.Marked(ctx, store.Unindexed, func(ref store.Ref, _ time.Time) error {
		if x.unfit[ref] {
			return nil
		}
		b, err := x.read(ctx, ref)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil // being written, or to be written by whoever signs it again
		case err != nil && ctx.Err() == nil:
			x.unfit[ref] = true
			x.o.Log.Error("bundle not indexed", "ref", ref, "error", err)
			return nil
		case err != nil:
			return err
		}
		if batch = append(batch, b); len(batch) == x.o.Batch {
			return errFull
		}
		return nil
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	return batch, err
}
