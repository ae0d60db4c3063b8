package registry

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"steps.example/signer"
	"steps.example/signer/registry/store"
)

// A worker or an indexer tells how it is as the server does, and ends when it is told to.
func TestMonitor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://", "")
	metrics := NewMetrics()
	metrics.Committed(7, 3)
	metrics.Committed(8, 1)
	metrics.refused.WithLabelValues("sign").Inc()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- (&Monitor{f.store, f.pool.Log, metrics}).Run(ctx, l) }()
	get := func(path string) (int, string) {
		resp, err := http.Get("http://" + l.Addr().String() + path)
		check(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		check(t, err)
		return resp.StatusCode, string(text)
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/v1/submissions": 404, "/tuf/timestamp.json": 404} {
		if got, text := get(path); got != want {
			t.Errorf("%s: %d %s", path, got, text)
		}
	}
	_, text := get("/metrics")
	for _, want := range []string{
		"steps_index_version 8\n", "steps_index_commits_total 2\n", "steps_indexed_total 4\n", `steps_refused_total{at="sign"} 1` + "\n",
		"# HELP steps_sign_seconds ", "# TYPE steps_sign_seconds histogram\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the metrics:\n%s", want, text)
		}
	}
	stop()
	check(t, <-done)
}

// locked is a buffer that several goroutines write to.
type locked struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

// What is logged is one object a line that says which revision it is about, whatever a
// publisher put into it, and never the token.
func TestLogs(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://", "")
	var out locked
	log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	f.pool.Log, f.server.Log = log, log
	f.server.Token = "0123456789abcdef"
	f.worker.Check = func(purl string, document []byte) (*signer.CheckedDocument, error) {
		if strings.Contains(purl, "p1@") {
			return nil, errors.New("not this one\n{\"level\":\"ERROR\"}")
		}
		return checkDocument(purl, document)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.http.URL+"/v1/submissions", strings.NewReader(lines(2)))
	check(t, err)
	req.Header.Set("Authorization", "Bearer "+f.server.Token)
	resp, err := http.DefaultClient.Do(req)
	check(t, err)
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.pool.Run(ctx) }()
	wait(t, func() bool { return f.marks(store.Pending) == 0 })
	stop()
	check(t, <-done)

	seen := map[string]string{}
	for text := bufio.NewScanner(&out.Buffer); text.Scan(); {
		var line struct{ Level, Msg, Ref, Error string }
		if err := json.Unmarshal(text.Bytes(), &line); err != nil || line.Level == "" || line.Msg == "" {
			t.Errorf("%q: %v", text.Text(), err)
		}
		if strings.Contains(text.Text(), f.server.Token) {
			t.Errorf("the token is in %q", text.Text())
		}
		seen[line.Msg] = line.Ref
	}
	for i, msg := range []string{"signed", "refused"} {
		if want := (store.Ref{Package: store.PackageKey(purl(i)), Revision: 1}); seen[msg] != want.String() {
			t.Errorf("%s: ref %q, want %s", msg, seen[msg], want)
		}
	}
}
