package batch

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"steps.example/signer"
)

// endless is a list of submissions that takes no memory.
func endless(n, steps int) io.Reader {
	r, w := io.Pipe()
	go func() {
		for i := range n {
			if _, err := fmt.Fprintln(w, line(purl(i), document(fmt.Sprint("p", i), steps))); err != nil {
				return
			}
		}
		w.Close()
	}()
	return r
}

// onAllCores runs f n times on all processors and returns the processor time that it
// took: on a busy machine the time on the wall says more about the others.
func onAllCores(n int, f func()) time.Duration {
	start := processorTime()
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for i := range workers {
		group.Go(func() {
			for range (n + workers - 1 - i) / workers {
				f()
			}
		})
	}
	group.Wait()
	return processorTime() - start
}

// processorTime is what this process has used of all processors.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// againstBare compares what b.N documents took with what they cannot do without, on all
// processors: a bare ECDSA signature (bare-ratio, whose goal is 0.7), and one with the
// verification that every signature gets before it is handed out (verified-ratio).
func againstBare(b *testing.B, took time.Duration) {
	b.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	digest := sha256.Sum256([]byte("x"))
	bare := onAllCores(b.N, func() { ecdsa.SignASN1(rand.Reader, key, digest[:]) })
	verified := onAllCores(b.N, func() {
		sig, _ := ecdsa.SignASN1(rand.Reader, key, digest[:])
		ecdsa.VerifyASN1(&key.PublicKey, digest[:], sig)
	})
	b.ReportMetric(float64(b.N)/took.Seconds(), "docs/cpu-s")
	b.ReportMetric(bare.Seconds()/took.Seconds(), "bare-ratio")
	b.ReportMetric(verified.Seconds()/took.Seconds(), "verified-ratio")
}

// BenchmarkBatch is a batch into a store.
func BenchmarkBatch(b *testing.B) {
	for _, steps := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("steps=%d", steps), func(b *testing.B) {
			f := newFixture(b)
			f.o.Results, f.o.Rejects = nil, nil
			b.ResetTimer()
			start := processorTime()
			err := Run(b.Context(), Lines(endless(b.N, steps), "x"), f.o)
			took := processorTime() - start
			b.StopTimer()
			if err != nil || f.o.Stats.Signed.Load() != int64(b.N) {
				b.Fatal(err, f.o.Stats.Signed.Load(), f.rejects.String())
			}
			againstBare(b, took)
		})
	}
}

// BenchmarkFile is a batch into one file.
func BenchmarkFile(b *testing.B) {
	for _, steps := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("steps=%d", steps), func(b *testing.B) {
			f := newFixture(b)
			out, err := os.Create(filepath.Join(b.TempDir(), "out.jsonl"))
			if err != nil {
				b.Fatal(err)
			}
			defer out.Close()
			stats := new(Stats)
			b.ResetTimer()
			start := processorTime()
			err = RunFile(b.Context(), Lines(endless(b.N, steps), "x"), out, FileOptions{
				Registry: testRegistry, By: "x", Signer: f.o.Signer, Check: checkDocument, Stats: stats,
			})
			took := processorTime() - start
			b.StopTimer()
			if err != nil || stats.Signed.Load() != int64(b.N) {
				b.Fatal(err, stats.Signed.Load())
			}
			againstBare(b, took)
		})
	}
}

// Memory does not grow with the number of submissions.
func BenchmarkMemory(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				f := newFixture(b)
				f.o.Results, f.o.Rejects = io.Discard, io.Discard
				f.o.Signer = quick{}
				peak := watchHeap()
				if err := Run(b.Context(), Lines(endless(n, 10), "x"), f.o); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(peak())/1e6, "peak-MB")
			}
		})
	}
}

// quick makes no signatures: what is measured is all else.
type quick struct{}

func (quick) Sign(_ context.Context, r signer.Request) ([]byte, error) {
	return append([]byte("bundle of "), r.Document...), nil
}

// watchHeap looks at the heap until the returned function is called, and tells the most
// there was.
func watchHeap() func() uint64 {
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		var peak uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse+m.StackInuse)
			select {
			case <-stop:
				most <- peak
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-most
	}
}
