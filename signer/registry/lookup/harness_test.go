package lookup_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"steps.example/signer"
	"steps.example/signer/registry/index"
	"steps.example/signer/registry/lookup"
	"steps.example/signer/registry/store"
)

const (
	testRegistry = "https://registry.example"
	testPURL     = "pkg:generic/acme/foo@1.2.3?arch=amd64&os=linux"
	otherPURL    = "pkg:generic/acme/bar@1.0"
)

// registry is a whole registry without servers: a store in a directory, a signing key
// and an index, and a clock that tests turn.
type registry struct {
	t      testing.TB
	dir    string
	store  *store.Store
	key    *signer.Key
	policy *signer.Policy
	keyDir string
	keys   *index.Keys
	now    time.Time
	x      *index.Indexer
}

func newRegistry(t testing.TB) *registry {
	t.Helper()
	r := &registry{t: t, dir: t.TempDir(), keyDir: filepath.Join(t.TempDir(), "keys"), now: time.Now().Truncate(time.Second)}
	var err error
	r.key, err = signer.GenerateKey()
	check(t, err)
	r.policy = policyOf(t, r.key)
	r.store, err = store.Open(t.Context(), "file://"+filepath.ToSlash(r.dir), testRegistry)
	check(t, err)
	t.Cleanup(func() { r.store.Close() })
	check(t, index.GenerateKeys(r.keyDir))
	r.keys, err = index.LoadKeys(r.keyDir)
	check(t, err)
	check(t, index.Init(t.Context(), r.store, r.keys, r.options()))
	check(t, r.keys.Pin(r.keyDir))
	r.x = r.indexer()
	return r
}

func policyOf(t testing.TB, key *signer.Key) *signer.Policy {
	data, err := json.Marshal(map[string]any{
		"version": 1,
		"rules": []any{map[string]any{
			"match": map[string]any{"registry": testRegistry, "package": "pkg:generic/acme/*"},
			"anyOf": []any{map[string]any{"key": map[string]any{"id": key.ID(), "pem": string(key.PublicPEM())}}},
		}},
	})
	check(t, err)
	p, err := signer.ParsePolicy(data)
	check(t, err)
	return p
}

func (r *registry) options() index.Options {
	return index.Options{
		Bits: 2, Now: func() time.Time { return r.now }, Holder: "test",
		Verify: func(_ context.Context, bundle []byte, want signer.Expectation) (*signer.Verified, error) {
			return signer.Verify(bundle, r.policy, want)
		},
	}
}

func (r *registry) indexer() *index.Indexer {
	r.t.Helper()
	x, err := index.Open(r.store, r.keys, r.options())
	check(r.t, err)
	return x
}

// publish publishes, signs and indexes a document, and returns its bundle.
func (r *registry) publish(purl, document string) []byte {
	r.t.Helper()
	bundle := r.sign(purl, document)
	r.fold()
	return bundle
}

func (r *registry) sign(purl, document string) []byte {
	r.t.Helper()
	record, _, err := r.store.Reserve(r.t.Context(), store.Submission{PURL: purl, Artifact: artifact(purl), Document: []byte(document)}, false)
	check(r.t, err)
	bundle := r.bundle(record.Revision, purl, document)
	_, err = r.store.PutBundle(r.t.Context(), record.Ref(), bundle)
	check(r.t, err)
	return bundle
}

// bundle signs a document as any revision, whether the registry knows it or not.
func (r *registry) bundle(revision int, purl, document string) []byte {
	r.t.Helper()
	bundle, err := signer.Sign(r.t.Context(), r.key, signer.Request{
		Registry: testRegistry, PURL: purl, Revision: revision, IssuedAt: r.now,
		Document: []byte(document), ArtifactSHA256: artifact(purl),
	})
	check(r.t, err)
	return bundle
}

func (r *registry) fold() {
	r.t.Helper()
	_, err := r.x.Fold(r.t.Context())
	check(r.t, err)
}

// later lets time pass, and the indexer renew.
func (r *registry) later(d time.Duration) {
	r.now = r.now.Add(d)
	r.fold()
}

// save copies what the registry serves, for an attacker to serve again.
func (r *registry) save() string {
	dir := r.t.TempDir()
	check(r.t, os.CopyFS(dir, os.DirFS(r.dir)))
	return dir
}

// machine is a client with a state of its own.
type machine struct {
	t   testing.TB
	r   *registry
	dir string
}

func (r *registry) machine(t testing.TB) *machine {
	t.Helper()
	return &machine{t, r, filepath.Join(t.TempDir(), "state")}
}

func (m *machine) config(served string) lookup.Config {
	return lookup.Config{
		Root: m.r.keys.Pinned, BaseURL: "file://" + filepath.ToSlash(served), Dir: m.dir,
		Now: func() time.Time { return m.r.now },
	}
}

func (m *machine) open(c lookup.Config) *lookup.Client {
	m.t.Helper()
	client, err := lookup.Open(c)
	check(m.t, err)
	return client
}

// look asks what is served for a package.
func (m *machine) look(served, purl string) (*lookup.Entry, error) {
	m.t.Helper()
	return m.open(m.config(served)).Lookup(m.t.Context(), purl)
}

// install does all that a package manager does, up to the steps.
func (m *machine) install(served, purl string) (*signer.Verified, error) {
	m.t.Helper()
	c := m.open(m.config(served))
	entry, err := c.Lookup(m.t.Context(), purl)
	if err != nil {
		return nil, err
	}
	bundle, err := c.Bundle(m.t.Context(), entry)
	if err != nil {
		return nil, err
	}
	return m.accept(c, entry, bundle, purl)
}

func (m *machine) accept(c *lookup.Client, entry *lookup.Entry, bundle []byte, purl string) (*signer.Verified, error) {
	v, err := signer.Verify(bundle, m.r.policy, signer.Expectation{PURL: purl, Registry: testRegistry, ArtifactSHA256: artifact(purl), Now: m.r.now})
	if err != nil {
		return nil, err
	}
	return v, c.Accept(entry, v)
}

func artifact(purl string) [32]byte { return sha256.Sum256([]byte("the file of " + purl)) }

func document(name, version string, steps ...string) string {
	return fmt.Sprintf(`{"schema":1,"layout":"generic","name":%q,"version":%q,"post_install_steps":[%s]}`, name, version, strings.Join(steps, ","))
}

func mkdir(path string) string {
	return fmt.Sprintf(`{"type":"mkdir_p","path":{"base":"prefix","path":%q}}`, path)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused checks an error's kind, and that it says what to do in printable words.
func refused(t testing.TB, err error, kind signer.Kind, text string) {
	t.Helper()
	var e *signer.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an error of kind %s", err, kind)
	}
	if e.Kind != kind || !strings.Contains(e.Msg, text) || e.Hint == "" {
		t.Errorf("got %s: %s; %s\nwant %s: …%s…", e.Kind, e.Msg, e.Hint, kind, text)
	}
	if strings.ContainsFunc(e.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
		t.Errorf("control characters in %q", e.Error())
	}
}

// serve is the registry over http.
type served struct{ root *os.Root }

func (s served) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	data, err := fs.ReadFile(s.root.FS(), strings.TrimPrefix(q.URL.Path, "/"))
	if err != nil {
		http.NotFound(w, q)
		return
	}
	http.ServeContent(w, q, "", time.Time{}, bytes.NewReader(data))
}
