//go:build !light && !noregistry

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"steps.example/signer/batch"
)

// signingOf reads the flags that say who signs.
func signingOf(flags *pflag.FlagSet) *signingFlags {
	value := func(name string) string { return flags.Lookup(name).Value.String() }
	logs, _ := flags.GetInt("sct") // it is defined as one
	return &signingFlags{
		key: value("key"), kms: value("kms"), config: value("signing-config"), root: value("trusted-root"),
		token: value("identity-token"), identity: value("identity"), issuer: value("issuer"), certificateLogs: logs,
	}
}

func runSignBatch(ctx context.Context, t *terminal, f batchFlags, flags *pflag.FlagSet, path string) (err error) {
	signer, who, err := signingOf(flags).open(ctx, t)
	if err != nil {
		return err
	}
	src, size, closeSource, err := batchSource(ctx, t, path)
	if err != nil {
		return err
	}
	defer closeSource()
	var lists [2]io.Writer
	for i, path := range []string{f.rejects, f.results} {
		if path == "" {
			continue
		}
		file, e := os.Create(path)
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		lists[i] = file
	}
	registry, stats := flags.Lookup("registry").Value.String(), new(batch.Stats)
	var run func() error
	if f.out != "" {
		out, err := openOutput(f.out)
		if err != nil {
			return err
		}
		defer out.Close()
		run = func() error {
			return batch.RunFile(ctx, src, out, batch.FileOptions{
				Registry: registry, By: who, Signer: signer, Check: checkFor(!f.fast), Workers: f.jobs, Rejects: lists[0], Stats: stats,
			})
		}
	} else {
		where := registryFlags{store: f.store, registry: registry}
		s, err := where.open(ctx)
		if err != nil {
			return err
		}
		defer s.Close()
		run = func() error {
			return batch.Run(ctx, src, batch.Options{
				Store: s, Signer: signer, Check: checkFor(!f.fast), Workers: f.jobs, Rejects: lists[0], Results: lists[1], Stats: stats,
			})
		}
	}
	// Little of what is made for a document outlives it, and nothing for long.
	fewerCollections()
	start := time.Now()
	stop := showProgress(t, stats, size)
	err = run()
	stop()
	return endBatch(t, stats, time.Since(start), f.rejects, err)
}

// openOutput opens a file of bundles for this process alone.
func openOutput(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &exitError{code: exitLocked, err: fmt.Errorf("%s: another process writes it; wait for its end", path)}
		}
		return nil, fmt.Errorf("%s: lock: %w", path, err)
	}
	return file, nil
}

func batchSource(ctx context.Context, t *terminal, path string) (src batch.Source, size int64, end func(), err error) {
	if path == "-" {
		return batch.Lines(t.in, "-"), 0, func() {}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, nil, err
	}
	if info.IsDir() {
		return batch.Directory(ctx, path), 0, func() {}, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, nil, err
	}
	return batch.Lines(file, path), info.Size(), func() { file.Close() }, nil
}

func endBatch(t *terminal, s *batch.Stats, took time.Duration, rejects string, err error) error {
	signed, already, rejected, failed := s.Signed.Load(), s.Already.Load(), s.Rejected.Load(), s.Failed.Load()
	if t.json {
		if e := t.object("batch", map[string]any{
			"signed": signed, "already": already, "rejected": rejected, "failed": failed, "seconds": took.Seconds(),
		}); e != nil {
			return e
		}
	}
	t.say("signed %d, signed before %d, rejected %d, failed %d in %s", signed, already, rejected, failed, took.Round(time.Millisecond))
	switch {
	case err != nil:
		return fmt.Errorf("%w; what was signed stays signed: run it again", err)
	case failed > 0:
		return fmt.Errorf("%d submission(s) could not be signed now: run it again", failed)
	case rejected > 0:
		hint := "; --rejects FILE lists them"
		if rejects != "" {
			hint = "; see " + rejects
		}
		return &exitError{code: exitInvalid, err: fmt.Errorf("%d of %d submission(s) rejected%s", rejected, s.Read.Load(), hint)}
	}
	return nil
}

// showProgress keeps a line up to date on a terminal until stop is called, and prints
// nothing elsewhere.
func showProgress(t *terminal, s *batch.Stats, size int64) (stop func()) {
	file, ok := t.err.(*os.File)
	if !ok || t.json || !term.IsTerminal(int(file.Fd())) {
		return func() {}
	}
	start := time.Now()
	ticker := time.NewTicker(200 * time.Millisecond)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				fmt.Fprint(t.err, "\r\x1b[K")
				return
			case <-ticker.C:
				fmt.Fprintf(t.err, "\r\x1b[K%s", progressLine(s, size, time.Since(start)))
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(quit)
		<-done
	}
}

func progressLine(s *batch.Stats, size int64, took time.Duration) string {
	signed := s.Signed.Load()
	line := fmt.Sprintf("signed %d (%.0f/s), before %d, rejected %d", signed, float64(signed)/took.Seconds(), s.Already.Load(), s.Rejected.Load()+s.Failed.Load())
	if size == 0 {
		return line
	}
	const width = 20
	part := min(float64(s.Bytes.Load())/float64(size), 1)
	bar := make([]byte, width)
	for i := range bar {
		bar[i] = ' '
		if float64(i) < part*width {
			bar[i] = '='
		}
	}
	return fmt.Sprintf("[%s] %3.0f%%  %s", bar, part*100, line)
}
