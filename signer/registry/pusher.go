package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"time"

	"steps.example/signer/registry/oci"
	"steps.example/signer/registry/store"
)

// Pusher copies bundles to an OCI registry, or to layout directories. A bundle whose
// submission names a subject is attached to it; the others get a tag, see [Tag].
type Pusher struct {
	Store *store.Store
	// To is a repository, or oci:DIRECTORY below which each package gets a layout of
	// its own: a layout's index is one file, too slow for many packages.
	To      string
	Options oci.Options
	Every   time.Duration // between looks for news; 0 is 5 s
	Log     *slog.Logger
	Metrics *Metrics
}

// Tag is the tag of a bundle that is attached to nothing.
func Tag(ref store.Ref) string { return fmt.Sprintf("steps-%s-%d", ref.Package, ref.Revision) }

// pushers is how many bundles are pushed at the same time.
const pushers = 4

// Run pushes what is marked until ctx is done.
func (p *Pusher) Run(ctx context.Context) error {
	every := p.Every
	if every <= 0 {
		every = 5 * time.Second
	}
	for {
		if err := p.round(ctx); err != nil && ctx.Err() == nil {
			p.Log.Error("push", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

// round goes once through the marks. It starts anywhere, so that several processes
// seldom push the same.
func (p *Pusher) round(ctx context.Context) error {
	refs := make(chan store.Ref)
	var group sync.WaitGroup
	for range pushers {
		group.Go(func() {
			for ref := range refs {
				p.try(ctx, ref)
			}
		})
	}
	defer group.Wait()
	defer close(refs)
	start := rand.IntN(store.Shards)
	for i := range store.Shards {
		if err := p.Store.MarkedIn(ctx, store.Unpushed, (start+i)%store.Shards, func(ref store.Ref, _ time.Time) error {
			refs <- ref
			return ctx.Err()
		}); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pusher) try(ctx context.Context, ref store.Ref) {
	if ctx.Err() != nil {
		return
	}
	_, err := p.Store.MarkedSince(ctx, store.Unpushed, ref)
	if err == nil {
		err = p.push(ctx, ref)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrNotFound) {
		p.Metrics.failed.WithLabelValues("push").Inc()
		p.Log.Error("not pushed, will be tried again", "ref", ref.String(), "error", err)
	}
}

func (p *Pusher) push(ctx context.Context, ref store.Ref) error {
	bundle, err := p.Store.Bundle(ctx, ref)
	if err != nil {
		return err
	}
	record, err := p.Store.Record(ctx, ref)
	if err != nil {
		return err
	}
	to := p.To
	if strings.HasPrefix(to, "oci:") {
		to = path.Join(to, ref.Package[:2], ref.Package)
	}
	repository, _, err := oci.Open(to, p.Options)
	if err != nil {
		return err
	}
	defer repository.Close()
	if record.Subject != "" {
		_, err = repository.Attach(ctx, record.Subject, bundle, record.IssuedAt)
	} else {
		_, err = repository.Put(ctx, Tag(ref), bundle, record.IssuedAt)
	}
	if err != nil {
		return err
	}
	p.Metrics.pushed.Inc()
	return p.Store.ClearMark(ctx, store.Unpushed, ref)
}
