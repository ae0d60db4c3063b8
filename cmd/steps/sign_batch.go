//go:build !light

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"steps.example/signer/batch"
)

const signBatchLong = `

With --batch, FILE is a list of submissions, one JSON object a line, or a
directory of .json files with one each:

  {"purl": …, "artifact_sha256": …, "document": {…}}

and the bundles go to a store, with a revision each that is kept for good. It
can be killed and run again: what is signed stays as it is. What is not valid
goes to the rejects with its line; the others are signed.

  steps sign --batch submissions.jsonl --key steps.key --store signed \
      --registry https://registry.example --rejects rejects.jsonl`

type batchFlags struct {
	batch, fast             bool
	store, rejects, results string
	jobs                    int
}

// withBatch adds batch signing to the verb that signs one document.
func withBatch(cmd *cobra.Command, t *terminal) *cobra.Command {
	var f batchFlags
	one := cmd.RunE
	cmd.Long += signBatchLong
	flags := cmd.Flags()
	flags.BoolVar(&f.batch, "batch", false, "sign a list or directory of submissions")
	flags.StringVar(&f.store, "store", "", "with --batch: a `DIRECTORY` or bucket's URL for records and bundles")
	flags.StringVar(&f.rejects, "rejects", "", "with --batch: `FILE` for what was not signed, and why")
	flags.StringVar(&f.results, "results", "", "with --batch: `FILE` for what was signed, and where its bundle is")
	flags.IntVar(&f.jobs, "jobs", 0, "with --batch: `NUMBER` of signatures at the same time; 0 is one a processor")
	flags.BoolVar(&f.fast, "fast", false, "with --batch: check documents as clients do, without the CUE schema")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		for _, name := range []string{"store", "rejects", "results", "jobs", "fast"} {
			if !f.batch && flags.Changed(name) {
				return usagef("--%s goes with --batch", name)
			}
		}
		if !f.batch {
			return nil
		}
		for _, name := range []string{
			"purl", "artifact", "artifact-sha256", "revision", "output", "previous", "package-id", "min-interpreter", "no-steps", "layout",
		} {
			if flags.Changed(name) {
				return usagef("--%s is for one document; with --batch, each submission says its own", name)
			}
			// What one document needs, a batch does not.
			flags.Lookup(name).Annotations = nil
		}
		if f.store == "" {
			return usagef("--batch: say where the bundles go by --store DIRECTORY")
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !f.batch {
			return one(cmd, args)
		}
		return runSignBatch(cmd.Context(), t, f, signingOf(flags), flags.Lookup("registry").Value.String(), args[0])
	}
	return cmd
}

// signingOf reads the flags that say who signs.
func signingOf(flags *pflag.FlagSet) *signingFlags {
	value := func(name string) string { return flags.Lookup(name).Value.String() }
	logs, _ := flags.GetInt("sct") // it is defined as one
	return &signingFlags{
		key: value("key"), kms: value("kms"), config: value("signing-config"), root: value("trusted-root"),
		token: value("identity-token"), identity: value("identity"), issuer: value("issuer"), certificateLogs: logs,
	}
}

func runSignBatch(ctx context.Context, t *terminal, f batchFlags, signing *signingFlags, registry, path string) (err error) {
	signer, _, err := signing.open(ctx, t)
	if err != nil {
		return err
	}
	src, size, closeSource, err := batchSource(ctx, t, path)
	if err != nil {
		return err
	}
	defer closeSource()
	where := registryFlags{store: f.store, registry: registry}
	s, err := where.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	stats := new(batch.Stats)
	o := batch.Options{Store: s, Signer: signer, Check: checkFor(!f.fast), Workers: f.jobs, Stats: stats}
	for _, list := range []struct {
		path string
		to   *io.Writer
	}{{f.rejects, &o.Rejects}, {f.results, &o.Results}} {
		if list.path == "" {
			continue
		}
		file, e := os.Create(list.path)
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		*list.to = file
	}
	start := time.Now()
	stop := showProgress(t, stats, size)
	err = batch.Run(ctx, src, o)
	stop()
	return endBatch(t, stats, time.Since(start), f.rejects, err)
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
