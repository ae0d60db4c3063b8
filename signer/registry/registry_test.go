package registry

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"steps.example/signer"
	"steps.example/signer/batch"
	"steps.example/signer/registry/oci"
	"steps.example/signer/registry/store"
	"steps.example/signer/registry/work"
)

const testRegistry = "https://registry.example"

type fixture struct {
	t      testing.TB
	store  *store.Store
	queue  *Queue
	server *Server
	pool   *Pool
	worker *work.Worker
	http   *httptest.Server
}

func newFixture(t testing.TB, bucketURL, queueURL string) *fixture {
	t.Helper()
	f := &fixture{t: t}
	var err error
	f.store, err = store.Open(t.Context(), bucketURL, testRegistry)
	check(t, err)
	t.Cleanup(func() { f.store.Close() })
	if queueURL != "" {
		f.queue, err = OpenQueue(t.Context(), queueURL)
		check(t, err)
		t.Cleanup(func() { f.queue.Close(context.Background()) })
	}
	key, err := signer.GenerateKey()
	check(t, err)
	s, err := signer.NewSigner(key, signer.Evidence{})
	check(t, err)
	log, metrics := slog.New(slog.DiscardHandler), NewMetrics()
	f.worker = &work.Worker{Store: f.store, Signer: s, Check: checkDocument}
	f.server = &Server{Store: f.store, Queue: f.queue, Check: checkDocument, Log: log, Metrics: metrics}
	f.pool = &Pool{Worker: f.worker, Queue: f.queue, N: 2, Log: log, Metrics: metrics, Sweep: time.Hour}
	f.http = httptest.NewServer(f.server.Handler())
	t.Cleanup(f.http.Close)
	return f
}

func checkDocument(_ string, document []byte) (*signer.CheckedDocument, error) {
	return signer.CheckDocument(document)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inBackground runs f until the test ends.
func inBackground(t testing.TB, run func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func purl(i int) string { return fmt.Sprintf("pkg:generic/acme/p%d@1", i) }

func line(i int, extra string) string {
	doc := fmt.Sprintf(`{"schema":1,"layout":"generic","name":"p%d","version":"1"}`, i)
	return fmt.Sprintf(`{"purl":%q,"artifact_sha256":"%x","document":%s%s}`+"\n", purl(i), sha256.Sum256([]byte(purl(i))), doc, extra)
}

func lines(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i, ""))
	}
	return b.String()
}

func (f *fixture) publish(body io.Reader) []answer {
	f.t.Helper()
	resp, err := http.Post(f.http.URL+"/v1/submissions", "application/x-ndjson", body)
	check(f.t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		f.t.Fatal(resp.Status)
	}
	var list []answer
	scanner := bufio.NewScanner(resp.Body)
	for scanner.Scan() {
		var a answer
		check(f.t, json.Unmarshal(scanner.Bytes(), &a))
		list = append(list, a)
	}
	check(f.t, scanner.Err())
	return list
}

func (f *fixture) signed(i, revision int) bool {
	f.t.Helper()
	ok, err := f.store.Signed(f.t.Context(), store.Ref{Package: store.PackageKey(purl(i)), Revision: revision})
	check(f.t, err)
	return ok
}

func (f *fixture) marks(m store.Mark) (n int) {
	f.t.Helper()
	check(f.t, f.store.Marked(f.t.Context(), m, func(store.Ref, time.Time) error {
		n++
		return nil
	}))
	return n
}

func wait(t testing.TB, done func() bool) {
	t.Helper()
	for !done() {
		if t.Context().Err() != nil {
			t.Fatal("not done in time")
		}
		time.Sleep(time.Millisecond)
	}
}

// What is published is announced, and signed without a search.
func TestPublishAndSign(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://", "mem://TestPublishAndSign")
	inBackground(t, f.pool.Run)
	time.Sleep(20 * time.Millisecond) // the first search is over; the next is in an hour
	const n = 20
	for i, a := range f.publish(strings.NewReader(lines(n))) {
		if a.Status != "accepted" || a.Revision != 1 || a.Line != i+1 || a.PURL != purl(i) {
			t.Errorf("answer %+v", a)
		}
	}
	wait(t, func() bool { return f.marks(store.Pending) == 0 })
	for i := range n {
		if !f.signed(i, 1) {
			t.Errorf("package %d is not signed", i)
		}
	}
	if f.marks(store.Unindexed) != n {
		t.Errorf("%d marks for the index", f.marks(store.Unindexed))
	}
	for _, a := range f.publish(strings.NewReader(lines(2))) {
		if a.Status != "known" || a.Revision != 1 {
			t.Errorf("answer %+v", a)
		}
	}
	resp, err := http.Get(f.http.URL + "/metrics")
	check(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	check(t, err)
	for _, want := range []string{"steps_published_total 20\n", "steps_signed_total 20\n", `steps_repeated_total{at="publish"} 2` + "\n"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("no %q in the metrics", want)
		}
	}
}

// Messages may be lost: what is published before a worker runs is found all the same.
func TestLostMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "file://"+filepath.ToSlash(t.TempDir()), "")
	f.publish(strings.NewReader(lines(10)))
	inBackground(t, f.pool.Run)
	wait(t, func() bool { return f.marks(store.Pending) == 0 })
	if !f.signed(9, 1) {
		t.Error("not signed")
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://", "")
	body := strings.Join([]string{
		strings.TrimSpace(line(1, "")),
		"{",
		strings.Replace(strings.TrimSpace(line(2, "")), `"layout"`, `"lay"`, 1),
		strings.TrimSpace(line(1, `,"revision":3`)),
		strings.Repeat("x", batch.MaxSubmissionBytes+1),
		"",
		strings.TrimSpace(line(3, "")),
	}, "\n")
	var got []string
	for _, a := range f.publish(strings.NewReader(body)) {
		got = append(got, fmt.Sprint(a.Line, a.Status))
		if (a.Status == "refused") != (a.Error != "") {
			t.Errorf("answer %+v", a)
		}
	}
	if want := "1accepted 2refused 3refused 4refused 5refused 7accepted"; strings.Join(got, " ") != want {
		t.Errorf("got %s\nwant %s", strings.Join(got, " "), want)
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://", "")
	f.server.Token = "0123456789abcdef"
	for _, tc := range []struct {
		header string
		want   int
	}{
		{"", http.StatusUnauthorized},
		{"Bearer", http.StatusUnauthorized},
		{"Bearer 0123456789abcdeg", http.StatusUnauthorized},
		{"Bearer 0123456789abcdef", http.StatusOK},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.http.URL+"/v1/submissions", strings.NewReader(line(1, "")))
		check(t, err)
		req.Header.Set("Authorization", tc.header)
		resp, err := http.DefaultClient.Do(req)
		check(t, err)
		resp.Body.Close()
		if resp.StatusCode != tc.want {
			t.Errorf("%q: %s", tc.header, resp.Status)
		}
	}
	if f.marks(store.Pending) != 1 {
		t.Errorf("%d were published", f.marks(store.Pending))
	}
	f.server.Token = ""
	l, err := net.Listen("tcp", ":0")
	check(t, err)
	if err := f.server.Run(t.Context(), l); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("serving everybody without a token: %v", err)
	}
}

// Only the index and bundles are served, whatever is asked for.
func TestFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "file://"+filepath.ToSlash(t.TempDir()), "")
	for _, key := range []string{"tuf/timestamp.json", "tuf/1.root.json", "bundles/aa/b.json", "published/aa/b.json", "tuf/secret"} {
		check(t, f.store.Write(t.Context(), key, []byte(key)))
	}
	for path, want := range map[string]int{
		"/tuf/timestamp.json":               200,
		"/tuf/1.root.json":                  200,
		"/bundles/aa/b.json":                200,
		"/tuf/2.root.json":                  404,
		"/tuf/secret":                       404,
		"/registry":                         404,
		"/published/aa/b.json":              404,
		"/tuf/..%2fpublished%2faa%2fb.json": 404,
		"/tuf/%2e%2e%2fregistry":            404,
		"/bundles/../published/aa/b.json":   404,
		"/bundles/..%2fpublished/b.json":    404,
		"/tuf/A.json":                       404,
		"/tuf/":                             404,
		"/bundles/aa/%00.json":              404,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.http.URL, nil)
		check(t, err)
		req.URL.Opaque = path
		resp, err := http.DefaultTransport.RoundTrip(req)
		check(t, err)
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got := resp.StatusCode; got != want && (want == 200 || got < 300) {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
		fresh := resp.Header.Get("Cache-Control") == "no-cache"
		if want == 200 && (fresh != (path == "/tuf/timestamp.json") || string(body) != path[1:]) {
			t.Errorf("%s: %q, %s", path, body, resp.Header.Get("Cache-Control"))
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "file://"+filepath.ToSlash(t.TempDir()), "")
	get := func(path string) int {
		resp, err := http.Get(f.http.URL + path)
		check(t, err)
		resp.Body.Close()
		return resp.StatusCode
	}
	if get("/healthz") != 200 || get("/readyz") != 200 {
		t.Error("not well")
	}
	f.store.Close()
	if get("/healthz") != 200 || get("/readyz") != 503 {
		t.Error("well without a store")
	}
}

// A stop lets a publication in progress end.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://", "")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.server.Run(ctx, l) }()
	body, feed := io.Pipe()
	answers := make(chan string, 2)
	go func() {
		resp, err := http.Post("http://"+l.Addr().String()+"/v1/submissions", "", body)
		if err != nil {
			t.Error(err)
			close(answers)
			return
		}
		defer resp.Body.Close()
		scanner := bufio.NewScanner(resp.Body)
		for scanner.Scan() {
			answers <- scanner.Text()
		}
		close(answers)
	}()
	io.WriteString(feed, line(1, ""))
	if a := <-answers; !strings.Contains(a, "accepted") {
		t.Error(a)
	}
	stop()
	io.WriteString(feed, line(2, ""))
	feed.Close()
	if a := <-answers; !strings.Contains(a, "accepted") {
		t.Errorf("after the stop: %q", a)
	}
	check(t, <-done)
}

// A document that passed at the door and not at the signer is set aside, once.
func TestRefusedAtWork(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://", "")
	f.publish(strings.NewReader(lines(3)))
	f.worker.Check = func(purl string, document []byte) (*signer.CheckedDocument, error) {
		if strings.Contains(purl, "p1@") {
			return nil, errors.New("not this one")
		}
		return checkDocument(purl, document)
	}
	inBackground(t, f.pool.Run)
	wait(t, func() bool { return f.marks(store.Pending) == 0 })
	if !f.signed(0, 1) || f.signed(1, 1) || !f.signed(2, 1) || f.marks(store.Rejected) != 1 {
		t.Error("the wrong ones were signed")
	}
	why, err := f.store.ReadMark(t.Context(), store.Rejected, store.Ref{Package: store.PackageKey(purl(1)), Revision: 1})
	if err != nil || !strings.Contains(why, "not this one") {
		t.Errorf("%q, %v", why, err)
	}
}

// Each revision names the one before, whichever is signed first.
func TestPreviousRevision(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://", "")
	for i := range 3 {
		f.publish(strings.NewReader(strings.Replace(line(1, ""), `"schema":1`, strings.Repeat(" ", i)+`"schema":1`, 1)))
	}
	last := store.Ref{Package: store.PackageKey(purl(1)), Revision: 3}
	if outcome, err := f.worker.Do(t.Context(), last); outcome != work.Signed || err != nil {
		t.Fatal(outcome, err)
	}
	var before [32]byte
	for revision := 1; revision <= 3; revision++ {
		data, err := f.store.Bundle(t.Context(), store.Ref{Package: last.Package, Revision: revision})
		check(t, err)
		var b struct{ DsseEnvelope struct{ Payload []byte } }
		check(t, json.Unmarshal(data, &b))
		var s struct {
			Predicate struct {
				Revision int
				Previous struct{ SHA256 string }
			}
		}
		check(t, json.Unmarshal(b.DsseEnvelope.Payload, &s))
		want := fmt.Sprintf("%x", before)
		if revision == 1 {
			want = ""
		}
		if s.Predicate.Revision != revision || s.Predicate.Previous.SHA256 != want {
			t.Errorf("revision %d says %+v, want previous %q", revision, s.Predicate, want)
		}
		before = sha256.Sum256(b.DsseEnvelope.Payload)
	}
}

func TestPusher(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://", "")
	f.worker.Marks = []store.Mark{store.Unpushed}
	dir := t.TempDir()
	f.publish(strings.NewReader(lines(3)))
	inBackground(t, f.pool.Run)
	inBackground(t, (&Pusher{Store: f.store, To: "oci:" + dir, Every: time.Millisecond, Log: f.server.Log, Metrics: f.server.Metrics}).Run)
	wait(t, func() bool { return f.marks(store.Pending) == 0 && f.marks(store.Unpushed) == 0 })
	ref := store.Ref{Package: store.PackageKey(purl(2)), Revision: 1}
	r, _, err := oci.Open("oci:"+filepath.Join(dir, ref.Package[:2], ref.Package), oci.Options{})
	check(t, err)
	defer r.Close()
	got, err := r.Tagged(t.Context(), Tag(ref), oci.DefaultLimits)
	check(t, err)
	want, err := f.store.Bundle(t.Context(), ref)
	check(t, err)
	if !bytes.Equal(got, want) {
		t.Error("another bundle was pushed")
	}
}

func FuzzPublish(f *testing.F) {
	x := newFixture(f, "mem://", "")
	f.Add([]byte(line(1, "")))
	f.Add([]byte("\n{}\n\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		w := httptest.NewRecorder()
		x.server.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/submissions", bytes.NewReader(body)))
		if w.Code != http.StatusOK {
			t.Errorf("status %d", w.Code)
		}
		for text := range strings.Lines(w.Body.String()) {
			var a answer
			if err := json.Unmarshal([]byte(text), &a); err != nil || a.Status == "failed" || a.Status == "" {
				t.Errorf("answer %s", text)
			}
		}
	})
}
