package registry

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"steps.example/signer/batch"
	"steps.example/signer/registry/store"
	"steps.example/signer/registry/work"
)

// Server takes submissions and serves bundles and index:
//
//	POST /v1/submissions   one submission a line (see package batch), one answer a line
//	GET  /tuf/…, /bundles/…
//	GET  /healthz, /readyz, /metrics
//
// All fields but Queue and Token are needed.
type Server struct {
	Store   *store.Store
	Queue   *Queue // nil: workers find it by sweeping
	Check   work.Check
	Token   string // that publishers show; "" lets everybody publish
	Log     *slog.Logger
	Metrics *Metrics

	slots chan struct{}
}

// maxPublishers is how many publish at the same time; each holds a submission or two in
// memory.
const maxPublishers = 64

// Run serves on a listener until ctx is done; requests in progress then have ten seconds
// to end. Without a token it serves on a loopback address only.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	if addr, ok := l.Addr().(*net.TCPAddr); s.Token == "" && (!ok || !addr.IP.IsLoopback()) {
		l.Close()
		return fmt.Errorf("registry: without a token, everybody who reaches %s could publish; set one, or listen on 127.0.0.1", l.Addr())
	}
	return serve(ctx, l, s.Handler(), s.Log)
}

// Handler is the server without its listener.
func (s *Server) Handler() http.Handler {
	s.slots = make(chan struct{}, maxPublishers)
	mux := (&Monitor{s.Store, s.Log, s.Metrics}).mux()
	mux.HandleFunc("POST /v1/submissions", s.publish)
	mux.HandleFunc("GET /tuf/{name}", s.file)
	mux.HandleFunc("GET /bundles/{shard}/{name}", s.file)
	return mux
}

// answer is what a publisher is told of one submission.
type answer struct {
	Line     int    `json:"line"`
	Status   string `json:"status"` // accepted, known, refused or failed
	PURL     string `json:"purl,omitempty"`
	Revision int    `json:"revision,omitempty"`
	Error    string `json:"error,omitempty"`
}

// publish answers each line as soon as its submission is in the store. A "failed" ends
// the answers: what follows it was not read.
func (s *Server) publish(w http.ResponseWriter, r *http.Request) {
	if !s.allowed(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "publishing needs the token", http.StatusUnauthorized)
		return
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many publish at the same time; try again", http.StatusServiceUnavailable)
		return
	}
	control := http.NewResponseController(w)
	// Answers go out while submissions still come in. HTTP/2 does so anyway.
	_ = control.EnableFullDuplex()
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	body := &patientReader{r.Body, control}
	for item, err := range batch.Lines(body, "body") {
		a := answer{Line: item.Line, Status: "failed"}
		if err == nil {
			a, err = s.take(r.Context(), item)
		}
		if err != nil {
			s.Metrics.failed.WithLabelValues("publish").Inc()
			s.Log.Error("publish", "line", item.Line, "error", err)
			a.Error = "the registry cannot take it now; try again"
		}
		if encoder.Encode(a) != nil || out.Flush() != nil || control.Flush() != nil || err != nil {
			return
		}
	}
}

// patientReader gives each read of a body its own time limit.
type patientReader struct {
	body    io.Reader
	control *http.ResponseController
}

func (r *patientReader) Read(p []byte) (int, error) {
	// A connection without deadlines is the test's.
	_ = r.control.SetReadDeadline(time.Now().Add(time.Minute))
	return r.body.Read(p)
}

// take stores and announces one submission. An error is not the submission's fault.
func (s *Server) take(ctx context.Context, item batch.Item) (answer, error) {
	a := answer{Line: item.Line}
	err := item.Fault
	var sub *batch.Submission
	if err == nil {
		sub, err = batch.ParseSubmission(item.Data)
	}
	if err == nil {
		a.PURL = sub.PURL
		_, err = s.Check(sub.PURL, sub.Document)
	}
	if err != nil {
		return s.refuse(a, err), nil
	}
	record, fresh, err := s.Store.Reserve(ctx, sub.Submission, true)
	var refused *store.RefusedError
	if errors.As(err, &refused) {
		return s.refuse(a, err), nil
	}
	if err != nil {
		a.Status = "failed"
		return a, err
	}
	a.Revision, a.Status = record.Revision, "known"
	if !fresh {
		s.Metrics.already.WithLabelValues("publish").Inc()
		return a, nil
	}
	a.Status = "accepted"
	s.Metrics.published.Inc()
	if s.Queue != nil {
		if err := s.Queue.Send(ctx, record.Ref()); err != nil {
			s.Log.Warn("not announced, workers will find it", "ref", record.Ref().String(), "error", err)
		}
	}
	return a, nil
}

func (s *Server) refuse(a answer, err error) answer {
	s.Metrics.refused.WithLabelValues("publish").Inc()
	a.Status, a.Error = "refused", err.Error()
	return a
}

func (s *Server) allowed(r *http.Request) bool {
	if s.Token == "" {
		return true
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	want, got := sha256.Sum256([]byte(s.Token)), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// file serves a part of the index or a bundle.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.URL.Path, "/")
	if path.Clean(key) != key || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789-./") != "" || !strings.HasSuffix(key, ".json") {
		http.NotFound(w, r)
		return
	}
	data, err := s.Store.Read(r.Context(), key, 32<<20)
	if errors.Is(err, store.ErrNotFound) {
		http.NotFound(w, r)
		return
	}
	if err != nil {
		s.Log.Error("serve", "key", key, "error", err)
		http.Error(w, "the store does not answer", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	if key == "tuf/timestamp.json" {
		w.Header().Set("Cache-Control", "no-cache")
	}
	w.Write(data)
}
