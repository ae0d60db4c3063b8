package interp_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"steps.example/interp"
	"steps.example/interp/commit"
	"steps.example/steps"
)

// manySteps is a document of n steps: mkdir_p, write, symlink and
// set_permissions in turn.
func manySteps(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"schema": 1, "layout": "homebrew-formula", "name": "bench", "version": "1.0", "post_install_steps": [`)
	for i := range n / 4 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"type": "mkdir_p", "path": {"base": "var", "path": "d%[1]d"}},
{"type": "write", "path": {"base": "var", "path": "d%[1]d/f"}, "content": "key = value\n"},
{"type": "symlink", "source": {"base": "relative", "path": "f"}, "target": {"base": "var", "path": "d%[1]d/l"}},
{"type": "set_permissions", "paths": [{"base": "var", "path": "d%[1]d/f"}], "permissions": "0600"}`, i)
	}
	b.WriteString("]}")
	return b.Bytes()
}

// BenchmarkApply is the whole client path of a step: decode, interpret, judge,
// commit and store the receipt, without waiting for the disk.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			data := manySteps(n)
			for b.Loop() {
				b.StopTimer()
				dir := b.TempDir()
				for _, d := range []string{"hb/var", "home", "tmp"} {
					if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				doc, err := steps.Decode(data, steps.DefaultLimits)
				if err != nil {
					b.Fatal(err)
				}
				store, err := commit.OpenStore(filepath.Join(dir, "state"))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := interp.Apply(context.Background(), job(doc, dir), interp.Machine{}, interp.ApplyOptions{Store: store}); err != nil {
					b.Fatal(err)
				}
				store.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/step")
		})
	}
}

// job interprets the installation phase of doc in dir.
func job(doc *steps.Document, dir string) interp.Job {
	at := func(name string) string { return filepath.Join(dir, name) }
	return interp.Job{
		Document: doc,
		Phases:   []steps.Phase{"post_install_steps"},
		Target: interp.Target{
			Layout: doc.Layout, Name: doc.Name, Version: doc.Version, OS: "linux", User: "tester", Umask: 0o022,
			Dirs:       map[string]string{"homebrew_prefix": at("hb"), "home": at("home"), "temp": at("tmp")},
			SearchPath: []string{"/usr/bin", "/bin"},
		},
	}
}
