package batch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"steps.example/signer"
	"steps.example/signer/registry/work"
)

// FileOptions are those of a batch whose output is one file. All but Workers, Rejects
// and Stats are needed.
type FileOptions struct {
	Registry string // goes into each statement
	By       string // who signs; a file is of one signer
	Signer   work.Signer
	Check    work.Check
	// Workers is how many sign at the same time; 0 is one a processor.
	Workers int
	// Rejects gets one JSON object a line; nil is nowhere.
	Rejects io.Writer
	// Stats, if not nil, is counted up while the batch runs, for progress.
	Stats *Stats
}

// signedLine is a line of the file, but for the bundle, which comes last.
type signedLine struct {
	PURL     string `json:"purl"`
	Revision int    `json:"revision"`
	Content  string `json:"content"` // identifies the submission, as in a store
}

// RunFile signs all submissions of a source into one file: a head, and a line with the
// bundle of each, in the order of the input. The submissions have to be in the order of
// their package URLs, compared byte by byte, so that the revisions of one follow each
// other: it gets the next number each time, from the first one's or 1, and the digest
// of the one before.
//
// A file that an earlier run left is gone on with: what it has is compared with the
// input and not signed again, and what follows gets the time of the first run, so that
// its statements are the same as if nothing had happened. out must be open for reading
// and writing, from its beginning, and of this process alone. A submission that is
// refused goes to the rejects; any other failure ends the batch after what came before
// it, and is for another run. At the end, the file is flushed to the disk.
func RunFile(ctx context.Context, src Source, out *os.File, o FileOptions) error {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Stats == nil {
		o.Stats = new(Stats)
	}
	past, err := readJournal(out, head{1, o.Registry, o.By, time.Now().UTC().Format(time.RFC3339)})
	if err != nil {
		return fmt.Errorf("%s: %w", out.Name(), err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	f := &fileBatch{
		FileOptions: o, out: out, past: past, stop: stop,
		rejects: newList(o.Rejects), jobs: make(chan *job, o.Workers), order: make(chan *job, 4*o.Workers),
	}
	var group sync.WaitGroup
	for range o.Workers {
		group.Go(func() {
			for j := range f.jobs {
				f.sign(ctx, j)
			}
		})
	}
	group.Go(f.write)
	if err := f.read(ctx, src); err != nil {
		stop(err)
	}
	close(f.jobs)
	close(f.order)
	group.Wait()
	return context.Cause(ctx)
}

// fileBatch is one run. What it reads, signs and writes are three stages, the second in
// many goroutines.
type fileBatch struct {
	FileOptions
	out     *os.File
	past    *journal
	stop    context.CancelCauseFunc
	rejects *list
	jobs    chan *job // to be signed
	order   chan *job // to be written
	last    *job      // that was read
}

// job is a submission that has its place in the file.
type job struct {
	item     Item
	sub      *Submission
	content  string
	base     revision // the one before, of the same package; zero if there is none
	revision int

	done    chan struct{} // closed when the rest is there
	bundle  []byte
	refused bool
	err     error
}

// revision is one of a package version, and what its successor has to say of it.
type revision struct {
	number  int
	payload [32]byte
}

// read hands out what is not signed yet, until the source or the context ends.
func (f *fileBatch) read(ctx context.Context, src Source) error {
	for item, err := range src {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		sub, err := f.Stats.parse(&item)
		if err != nil {
			f.refuse(item, "", err.Error())
			continue
		}
		if err := f.take(ctx, &job{item: item, sub: sub, content: sub.Content(), done: make(chan struct{})}); err != nil {
			return err
		}
	}
	if err := f.past.ended(); err != nil {
		return fmt.Errorf("%s: %w", f.out.Name(), err)
	}
	return nil
}

// take gives a job its revision, and passes it on if it is not done already.
func (f *fileBatch) take(ctx context.Context, j *job) error {
	if err := f.follow(j); err != nil || j.refused {
		return err
	}
	done, err := f.past.has(j.content)
	if err != nil {
		return fmt.Errorf("%s: %w", f.out.Name(), err)
	}
	switch {
	case done != nil:
		if done.PURL != j.sub.PURL || done.Revision != j.revision {
			return f.changed(j)
		}
		j.bundle = done.Bundle
		close(j.done)
		f.Stats.Already.Add(1)
	case f.past.more():
		// It was refused in the first run, if the input is still the same.
		if f.sign(ctx, j); j.err == nil {
			return f.changed(j)
		} else if !j.refused {
			return j.err
		}
		f.report(j)
	default:
		select {
		case f.order <- j:
		case <-ctx.Done():
			return nil
		}
		f.jobs <- j // there is always a worker who takes it
	}
	f.last = j
	return nil
}

func (f *fileBatch) changed(j *job) error {
	return fmt.Errorf("%s:%d: %s is not what was signed in its place, at line %d of %s: the input has changed; give a new file",
		j.item.File, j.item.Line, j.sub.PURL, f.past.line, f.out.Name())
}

// follow gives a job the revision after the last one of the same package, which it waits
// for, or refuses it.
func (f *fileBatch) follow(j *job) error {
	if last := f.last; last != nil && last.sub.PURL >= j.sub.PURL {
		if last.sub.PURL > j.sub.PURL {
			return fmt.Errorf("%s:%d: %s comes after %s; sort the submissions by purl (LC_ALL=C sort, if that is each line's first member), or give a store",
				j.item.File, j.item.Line, j.sub.PURL, last.sub.PURL)
		}
		switch <-last.done; {
		case last.refused:
			j.base = last.base
		case last.err != nil:
			return last.err
		default:
			payload, err := work.PayloadSHA256(last.bundle)
			if err != nil {
				return err
			}
			j.base = revision{last.revision, payload}
		}
	}
	j.revision = j.base.number + 1
	if j.base.number == 0 {
		j.revision = max(1, j.sub.Revision)
	}
	if j.sub.Revision != 0 && j.sub.Revision != j.revision {
		j.refused = true
		f.refuse(j.item, j.sub.PURL, fmt.Sprintf("%s:%d: %s: revision %d is not the next one, which is %d",
			j.item.File, j.item.Line, j.sub.PURL, j.sub.Revision, j.revision))
	}
	return nil
}

// sign brings a job to its end.
func (f *fileBatch) sign(ctx context.Context, j *job) {
	defer close(j.done)
	if j.err = ctx.Err(); j.err != nil {
		return
	}
	doc, err := f.Check(j.sub.PURL, j.sub.Document)
	if err != nil {
		j.err, j.refused = err, true
		return
	}
	j.bundle, j.err = f.Signer.Sign(ctx, signer.Request{
		Registry: f.Registry, PURL: j.sub.PURL, Revision: j.revision, IssuedAt: f.past.issuedAt, Capabilities: doc.Capabilities(),
		Document: j.sub.Document, ArtifactSHA256: j.sub.Artifact, Previous: j.base.payload, Checked: doc,
	})
	j.refused = work.Permanent(j.err)
}

// write appends what is signed, in order. After a failure nothing more is written: the
// file is always the beginning of the whole.
func (f *fileBatch) write() {
	out := bufio.NewWriterSize(f.out, 256<<10)
	var failed error
	for j := range f.order {
		<-j.done
		switch {
		case failed != nil:
		case j.refused:
			f.report(j)
		case j.err != nil:
			failed = fmt.Errorf("%s:%d: %w", j.item.File, j.item.Line, j.err)
		default:
			if failed = writeLine(out, j); failed == nil {
				f.Stats.Signed.Add(1)
			}
		}
		if failed != nil {
			f.stop(failed)
		}
	}
	if err := errors.Join(out.Flush(), f.out.Sync()); err != nil {
		f.stop(err)
	}
}

func writeLine(out *bufio.Writer, j *job) error {
	line, err := json.Marshal(signedLine{j.sub.PURL, j.revision, j.content})
	if err != nil {
		return err
	}
	const end = "}"
	line = append(line[:len(line)-len(end)], `,"bundle":`...)
	line = append(line, j.bundle...)
	_, err = out.Write(append(line, end+"\n"...))
	return err
}

// report rejects a job that is refused.
func (f *fileBatch) report(j *job) {
	f.refuse(j.item, j.sub.PURL, j.sub.place(j.item.File, j.item.Line, j.err))
}

func (f *fileBatch) refuse(item Item, purl, why string) {
	f.Stats.Rejected.Add(1)
	if err := f.rejects.add(reject{fmt.Sprintf("%s:%d", item.File, item.Line), purl, false, why}); err != nil {
		f.stop(err)
	}
}
