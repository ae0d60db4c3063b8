package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"steps.example/signer"
	"steps.example/signer/registry/store"
	"steps.example/signer/registry/work"
)

// Options are a batch's. Store, Signer and Check are needed.
type Options struct {
	Store  *store.Store
	Signer work.Signer
	Check  work.Check
	// Workers is how many sign at the same time; 0 is one a processor.
	Workers int
	// Results and Rejects get one JSON object a line, in no particular order; nil is
	// nowhere.
	Results, Rejects io.Writer
	// Stats, if not nil, is counted up while the batch runs, for progress.
	Stats *Stats
}

// Stats count submissions.
type Stats struct {
	Read, Signed, Already, Rejected, Failed atomic.Int64
	// Bytes is the input that was read.
	Bytes atomic.Int64
}

// parse counts what was read and parses it; the item gives up its bytes. The error
// names the line.
func (s *Stats) parse(item *Item) (*Submission, error) {
	s.Read.Add(1)
	s.Bytes.Add(int64(len(item.Data)) + 1)
	if item.Fault != nil {
		return nil, item.fault(item.Fault)
	}
	sub, err := ParseSubmission(item.Data)
	if err != nil {
		return nil, item.fault(err)
	}
	item.Data = nil
	return sub, nil
}

func (i *Item) fault(err error) error {
	return fmt.Errorf("%s:%d: submission %w", i.File, i.Line, err)
}

// result and reject are lines of the lists.
type result struct {
	Where    string `json:"where"`
	PURL     string `json:"purl"`
	Revision int    `json:"revision"`
	Bundle   string `json:"bundle"` // key in the store
	Already  bool   `json:"already,omitempty"`
}

type reject struct {
	Where string `json:"where"`
	PURL  string `json:"purl,omitempty"`
	// Retry: the same input may pass the next time.
	Retry bool   `json:"retry,omitempty"`
	Error string `json:"error"`
}

// Run signs all submissions of a source. What is wrong with one goes to the rejects
// and does not stop the others; an error of the store, the source or a list stops all.
// What was signed until then stays signed.
func Run(ctx context.Context, src Source, o Options) error {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Stats == nil {
		o.Stats = new(Stats)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	b := &batch{
		Options: o, stop: stop,
		worker:  &work.Worker{Store: o.Store, Signer: o.Signer, Check: o.Check},
		results: newList(o.Results), rejects: newList(o.Rejects),
	}
	// A package version stays with one worker, which keeps its revisions in order.
	queues := make([]chan task, o.Workers)
	var group sync.WaitGroup
	for i := range queues {
		queues[i] = make(chan task, 4)
		group.Go(func() {
			for t := range queues[i] {
				b.sign(ctx, t)
			}
		})
	}
	b.read(ctx, src, queues)
	for _, q := range queues {
		close(q)
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return nil
}

type batch struct {
	Options
	stop             context.CancelCauseFunc
	worker           *work.Worker
	results, rejects *list
}

// task is a submission on its way to a worker.
type task struct {
	item Item
	sub  *Submission
}

// read hands submissions out until the source or the context ends.
func (b *batch) read(ctx context.Context, src Source, queues []chan task) {
	seed := maphash.MakeSeed()
	for item, err := range src {
		if err != nil {
			b.stop(err)
		}
		if ctx.Err() != nil {
			return
		}
		sub, err := b.Stats.parse(&item)
		if err != nil {
			b.reject(item, "", err.Error())
			continue
		}
		select {
		case queues[maphash.String(seed, sub.PURL)%uint64(len(queues))] <- task{item, sub}:
		case <-ctx.Done():
			return
		}
	}
}

// sign brings one submission to its end.
func (b *batch) sign(ctx context.Context, t task) {
	if ctx.Err() != nil {
		return
	}
	record, outcome, err := b.do(ctx, t.sub)
	var refused *store.RefusedError
	var own *signer.Error
	switch {
	case ctx.Err() != nil:
	case outcome == work.Refused || errors.As(err, &refused):
		b.reject(t.item, t.sub.PURL, t.sub.place(t.item.File, t.item.Line, err))
	case errors.As(err, &own) || errors.Is(err, work.ErrEarlier):
		b.Stats.Failed.Add(1)
		b.write(b.rejects, reject{t.where(), t.sub.PURL, true, fmt.Sprintf("%s: %s", t.where(), err)})
	case err != nil:
		b.stop(err)
	default:
		counter := &b.Stats.Signed
		if outcome == work.Already {
			counter = &b.Stats.Already
		}
		counter.Add(1)
		b.write(b.results, result{t.where(), record.PURL, record.Revision, record.Ref().BundleKey(), outcome == work.Already})
	}
}

func (b *batch) do(ctx context.Context, sub *Submission) (*store.Record, work.Outcome, error) {
	var doc *signer.CheckedDocument
	record, err := b.Store.Find(ctx, sub.Submission)
	if err != nil {
		return nil, 0, err
	}
	if record != nil {
		if signed, err := b.Store.Signed(ctx, record.Ref()); err != nil || signed {
			return record, work.Already, err
		}
	} else {
		// What does not pass gets no revision.
		if doc, err = b.Check(sub.PURL, sub.Document); err != nil {
			return nil, work.Refused, err
		}
		if record, _, err = b.Store.Reserve(ctx, sub.Submission, false); err != nil {
			return nil, 0, err
		}
	}
	outcome, err := b.worker.Sign(ctx, record, sub.Document, doc)
	return record, outcome, err
}

func (t *task) where() string { return fmt.Sprintf("%s:%d", t.item.File, t.item.Line) }

func (b *batch) reject(item Item, purl, why string) {
	b.Stats.Rejected.Add(1)
	b.write(b.rejects, reject{fmt.Sprintf("%s:%d", item.File, item.Line), purl, false, why})
}

func (b *batch) write(l *list, line any) {
	if err := l.add(line); err != nil {
		b.stop(err)
	}
}

// list is a file of JSON lines with many writers.
type list struct {
	mu sync.Mutex
	to *json.Encoder
}

func newList(w io.Writer) *list {
	if w == nil {
		w = io.Discard
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return &list{to: e}
}

func (l *list) add(line any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Encode(line)
}
