package schema

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// benchDocument has n steps: mkdir_p, write, symlink and set_permissions in turn.
func benchDocument(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"schema":1,"layout":"homebrew-formula","name":"demo","version":"1.2.3","post_install_steps":[`)
	for i := range n {
		if i > 0 {
			b.WriteString(",\n")
		}
		dir := fmt.Sprintf("demo/dir%d", i/4)
		fmt.Fprintf(&b, []string{
			`{"type":"mkdir_p","path":{"base":"var","path":"%s"}}`,
			`{"type":"write","path":{"base":"var","path":"%s/file.conf"},"content":"prefix = {{HOMEBREW_PREFIX}}\n","overwrite":true}`,
			`{"type":"symlink","source":{"base":"var","path":"%[1]s/file.conf"},"target":{"base":"var","path":"%[1]s/link.conf"},"force":true}`,
			`{"type":"set_permissions","paths":[{"base":"var","path":"%s/file.conf"}],"permissions":"0640"}`,
		}[i%4], dir)
	}
	b.WriteString("]}")
	return []byte(b.String())
}

// The goal for 10,000 steps is 2 s and 128 MB; peak-MB is the most that the heap held.
func BenchmarkValidateDocument(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			data := benchDocument(n)
			peak := watchHeap()
			for b.Loop() {
				if err := ValidateDocument(data); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(peak())/1e6, "peak-MB")
		})
	}
}

// watchHeap looks at the memory taken from the system until the returned function is
// called, and tells the most there was.
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
