package logwatch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/sign"

	"steps.example/signer"
	"steps.example/signer/logwatch"
	"steps.example/signer/sigstoretest"
)

// deployment is a log that is served, and what signs into it.
type deployment struct {
	t      *testing.T
	s      *sigstoretest.Sigstore
	shown  http.Handler // what people are shown
	server *httptest.Server
	signer *signer.Signer
	signed int
}

func newDeployment(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{t: t, s: sigstoretest.New(t, "home", time.Now)}
	d.shown = d.s
	d.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.shown.ServeHTTP(w, r) }))
	t.Cleanup(d.server.Close)
	return d
}

// sign signs something and logs it with s; it returns the checkpoint in the bundle.
func (d *deployment) sign(s *sigstoretest.Sigstore) []byte {
	d.t.Helper()
	key, err := signer.GenerateKey()
	check(d.t, err)
	r, err := signer.ParseTrustRoot(s.TrustRoot())
	check(d.t, err)
	by, err := signer.NewSigner(key, signer.Evidence{Logs: []sign.Transparency{s.Log()}, TrustRoot: r})
	check(d.t, err)
	d.signed++
	bundle, err := by.Sign(d.t.Context(), signer.Request{
		Registry: "https://registry.example", PURL: "pkg:generic/acme/foo@1.0", Revision: d.signed, IssuedAt: time.Now(),
		Document: []byte(`{"schema":1,"layout":"generic","name":"foo"}`), ArtifactSHA256: [32]byte{1},
	})
	check(d.t, err)
	list, err := signer.Checkpoints(bundle)
	check(d.t, err)
	if len(list) != 1 || list[0].Log != s.LogID() {
		d.t.Fatalf("checkpoints %+v", list)
	}
	return list[0].Text
}

func (d *deployment) log() signer.Log {
	d.t.Helper()
	r, err := signer.ParseTrustRoot(d.s.TrustRoot())
	check(d.t, err)
	logs := r.Logs()
	if len(logs) != 1 || logs[0].ID != d.s.LogID() {
		d.t.Fatalf("logs %+v", logs)
	}
	return logs[0]
}

func (d *deployment) watch() *logwatch.Watch {
	d.t.Helper()
	w, err := logwatch.Open(logwatch.Config{Log: d.log(), URL: d.server.URL + "/api/v2"})
	check(d.t, err)
	return w
}

// The honest log grows, past the width of a tile, and each look continues the last one.
func TestConsistent(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	var seen []byte
	var bundles [][]byte
	for _, n := range []int{1, 1, 3, 250, 8} {
		for range n {
			bundles = append(bundles, d.sign(d.s))
		}
		head, err := d.watch().Update(t.Context(), seen)
		check(t, err)
		if head.Size != uint64(d.signed) {
			t.Errorf("size %d after %d", head.Size, d.signed)
		}
		seen = head.Checkpoint
	}
	w := d.watch()
	_, err := w.Update(t.Context(), seen) // no news is fine
	check(t, err)
	for i, b := range bundles {
		if i%16 == 0 || i > 250 {
			check(t, w.Check(t.Context(), b))
		}
	}
}

// A log that keeps one history for a victim and one for all others.
func TestSplitView(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	for range 5 {
		d.sign(d.s)
	}
	before, err := d.watch().Update(t.Context(), nil)
	check(t, err)
	hidden := d.s.SplitView()
	victim := d.sign(hidden) // size 6
	public := d.sign(d.s)    // size 6 as well

	w := d.watch()
	_, err = w.Update(t.Context(), before.Checkpoint)
	check(t, err)
	check(t, w.Check(t.Context(), public))
	refused(t, w.Check(t.Context(), victim), signer.KindEquivocation, "split view")

	// It does not get better as both grow.
	later := d.sign(d.s)
	w = d.watch()
	head, err := w.Update(t.Context(), before.Checkpoint)
	check(t, err)
	check(t, w.Check(t.Context(), later))
	refused(t, w.Check(t.Context(), victim), signer.KindEquivocation, "split view")

	// One who looked at the public history is now shown the hidden one.
	d.shown = hidden
	for range 4 {
		victim = d.sign(hidden)
	}
	_, err = d.watch().Update(t.Context(), head.Checkpoint)
	refused(t, err, signer.KindEquivocation, "split view")
	// Whoever never saw the other cannot know, and doc.go says so.
	w = d.watch()
	_, err = w.Update(t.Context(), nil)
	check(t, err)
	check(t, w.Check(t.Context(), victim))
	refused(t, w.Check(t.Context(), later), signer.KindEquivocation, "split view")
}

// Tessera's own tracker takes these two for no news.
func TestTreeOfTheSameSize(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	d.sign(d.s)
	hidden := d.s.SplitView()
	d.sign(d.s)
	seen, err := d.watch().Update(t.Context(), nil)
	check(t, err)
	d.sign(hidden)
	d.shown = hidden
	_, err = d.watch().Update(t.Context(), seen.Checkpoint)
	refused(t, err, signer.KindEquivocation, "split view")
	d.shown = d.s
	if _, err = d.watch().Update(t.Context(), seen.Checkpoint); err != nil {
		t.Error("control:", err)
	}
}

func TestShrinkingLog(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	d.sign(d.s)
	old := d.s.SplitView()
	newer := d.sign(d.s)
	seen, err := d.watch().Update(t.Context(), nil)
	check(t, err)
	d.shown = old
	_, err = d.watch().Update(t.Context(), seen.Checkpoint)
	refused(t, err, signer.KindStale, "it shows 1 entries, but it showed before 2")
	w := d.watch()
	_, err = w.Update(t.Context(), nil)
	check(t, err)
	refused(t, w.Check(t.Context(), newer), signer.KindStale, "others were shown 2")
}

// Neither a stranger's checkpoint nor a server's nonsense is believed.
func TestRefuses(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	foreign := sigstoretest.New(t, "foreign", time.Now)
	d.sign(d.s)
	seen, err := d.watch().Update(t.Context(), nil)
	check(t, err)
	for range 3 {
		d.sign(d.s)
	}
	w := d.watch()
	_, err = w.Update(t.Context(), nil)
	check(t, err)
	refused(t, w.Check(t.Context(), d.sign(foreign)), signer.KindBadSignature, "not signed by")
	refused(t, w.Check(t.Context(), []byte("\x1b[2Jhello")), signer.KindBadSignature, "not signed by")
	refused(t, w.Check(t.Context(), make([]byte, 1<<20)), signer.KindTooLarge, "1048576 bytes")
	_, err = d.watch().Update(t.Context(), append([]byte("x"), seen.Checkpoint...))
	refused(t, err, signer.KindBadSignature, "kept from the last look")
	refused(t, d.watch().Check(t.Context(), seen.Checkpoint), signer.KindMalformed, "nothing to compare")

	for name, tc := range map[string]struct {
		serve func(w http.ResponseWriter, r *http.Request)
		kind  signer.Kind
	}{
		"nothing":  {http.NotFound, signer.KindService},
		"endless":  {func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(strings.Repeat("x", 1<<20))) }, signer.KindService},
		"garbage":  {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }, signer.KindBadSignature},
		"stranger": {foreign.ServeHTTP, signer.KindBadSignature},
		"no tiles": {func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/tile/") {
				http.NotFound(w, r)
				return
			}
			d.s.ServeHTTP(w, r)
		}, signer.KindService},
		"empty tiles": {func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.URL.Path, "/tile/") {
				d.s.ServeHTTP(w, r)
			}
		}, signer.KindService},
		"zero tiles": {func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/tile/") {
				w.Write(make([]byte, 4*32))
				return
			}
			d.s.ServeHTTP(w, r)
		}, signer.KindEquivocation},
	} {
		d.shown = http.HandlerFunc(tc.serve)
		_, err := d.watch().Update(t.Context(), seen.Checkpoint)
		if e, ok := errors.AsType[*signer.Error](err); !ok || e.Kind != tc.kind {
			t.Errorf("%s: %v, want %s", name, err, tc.kind)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.shown = d.s
	if _, err := d.watch().Update(ctx, nil); err == nil {
		t.Error("went on without a context")
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	good := d.log()
	for name, c := range map[string]logwatch.Config{
		"no URL":       {Log: signer.Log{Key: good.Key}},
		"no key":       {Log: signer.Log{URL: good.URL}},
		"ftp":          {Log: good, URL: "ftp://x/"},
		"query":        {Log: good, URL: "https://x/?a"},
		"file of host": {Log: good, URL: "file://x/y"},
	} {
		if e, ok := errors.AsType[*signer.Error](func() error { _, err := logwatch.Open(c); return err }()); !ok || e.Hint == "" {
			t.Errorf("%s: %v", name, e)
		}
	}
}

// Whatever a bundle or server says, there is an answer.
func FuzzCheckpoint(f *testing.F) {
	s := sigstoretest.New(f, "home", time.Now)
	r, err := root.NewTrustedRootFromJSON(s.TrustRoot())
	if err != nil {
		f.Fatal(err)
	}
	var log signer.Log
	for _, l := range r.RekorLogs() {
		log = signer.Log{URL: l.BaseURL, Key: l.PublicKey}
	}
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(body) }))
	f.Cleanup(server.Close)
	f.Add([]byte("127.0.0.1\n1\nqqqq\n\n— 127.0.0.1 qqqq\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		body = data
		w, err := logwatch.Open(logwatch.Config{Log: log, URL: server.URL})
		check(t, err)
		if _, err := w.Update(t.Context(), nil); err == nil {
			t.Errorf("believed %q", data)
		}
	})
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func refused(t testing.TB, err error, kind signer.Kind, text string) {
	t.Helper()
	e, ok := errors.AsType[*signer.Error](err)
	if !ok || e.Kind != kind || !strings.Contains(e.Msg, text) || e.Hint == "" {
		t.Errorf("got %v\nwant %s: …%s…", err, kind, text)
	}
	if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
		t.Errorf("control characters in %q", err)
	}
}
