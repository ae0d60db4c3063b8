package registry

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"steps.example/signer/registry/store"
	"steps.example/signer/registry/work"
)

// Pool signs what is pending. All fields but Queue, N and Sweep are needed.
type Pool struct {
	Worker  *work.Worker
	Queue   *Queue // nil: sweep only
	N       int    // how many at the same time; 0 is 1
	Log     *slog.Logger
	Metrics *Metrics
	// Sweep is how often the store is searched for what no message told; 0 is 30 s.
	Sweep time.Duration

	mu     sync.Mutex
	atWork map[store.Ref]bool
}

// Run signs until ctx is done, and ends what is being signed by then.
func (p *Pool) Run(ctx context.Context) error {
	p.atWork = make(map[store.Ref]bool)
	todo := make(chan store.Ref, 64)
	var feeders, workers sync.WaitGroup
	var failed error
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	offer := func(ref store.Ref) {
		select {
		case todo <- ref:
		case <-ctx.Done():
		}
	}
	if p.Queue != nil {
		feeders.Go(func() {
			if failed = p.Queue.Receive(ctx, offer); failed != nil {
				stop()
			}
		})
	}
	feeders.Go(func() { p.sweep(ctx, offer) })
	for range max(1, p.N) {
		workers.Go(func() {
			for ref := range todo {
				if ctx.Err() == nil {
					p.do(ctx, ref)
				}
			}
		})
	}
	feeders.Wait()
	close(todo)
	workers.Wait()
	return failed
}

// sweep offers all that is pending: at first all of it, since whoever announced it may
// be gone; later what has waited for a while.
func (p *Pool) sweep(ctx context.Context, offer func(store.Ref)) {
	every := p.Sweep
	if every <= 0 {
		every = 30 * time.Second
	}
	for age := time.Duration(0); ; age = every {
		limit := time.Now().Add(-age)
		err := p.Worker.Store.Marked(ctx, store.Pending, func(ref store.Ref, since time.Time) error {
			if !since.After(limit) {
				offer(ref)
			}
			return ctx.Err()
		})
		if err != nil && ctx.Err() == nil {
			p.Metrics.failed.WithLabelValues("sweep").Inc()
			p.Log.Error("sweep", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// forgotten is the age at which a mark without a record is no publication in progress.
const forgotten = time.Hour

func (p *Pool) do(ctx context.Context, ref store.Ref) {
	p.mu.Lock()
	twice := p.atWork[ref]
	p.atWork[ref] = true
	p.mu.Unlock()
	if twice {
		return
	}
	defer func() {
		p.mu.Lock()
		delete(p.atWork, ref)
		p.mu.Unlock()
	}()
	start := time.Now()
	// What has begun is ended; a signature takes no longer than its services.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	outcome, err := p.Worker.Do(ctx, ref)
	log := p.Log.With("ref", ref.String())
	switch outcome {
	case work.Signed:
		p.Metrics.signed.Inc()
		p.Metrics.signing.Observe(time.Since(start).Seconds())
		log.Debug("signed", "took", time.Since(start))
	case work.Already:
		p.Metrics.already.WithLabelValues("sign").Inc()
	case work.Refused:
		p.Metrics.refused.WithLabelValues("sign").Inc()
		log.Warn("refused", "error", err)
		return
	case work.Absent:
		p.absent(ctx, ref)
	}
	if err != nil {
		p.Metrics.failed.WithLabelValues("sign").Inc()
		log.Error("not signed, will be tried again", "error", err)
	}
}

// absent clears the mark of a publication that did not get further than that.
func (p *Pool) absent(ctx context.Context, ref store.Ref) {
	since, err := p.Worker.Store.MarkedSince(ctx, store.Pending, ref)
	if err == nil && time.Since(since) > forgotten {
		err = p.Worker.Store.ClearMark(ctx, store.Pending, ref)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		p.Log.Error("sweep", "ref", ref.String(), "error", err)
	}
}
