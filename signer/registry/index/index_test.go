package index

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"

	"steps.example/signer"
	"steps.example/signer/registry/lookup"
	"steps.example/signer/registry/store"
)

const testRegistry = "https://registry.example"

type fixture struct {
	t      testing.TB
	store  *store.Store
	keys   *Keys
	key    *signer.Key
	policy *signer.Policy
	now    time.Time
	mu     sync.Mutex
}

func newFixture(t testing.TB, bucketURL string) *fixture {
	t.Helper()
	f := &fixture{t: t, now: time.Now().Truncate(time.Second)}
	var err error
	f.store, err = store.Open(t.Context(), bucketURL, testRegistry)
	check(t, err)
	t.Cleanup(func() { f.store.Close() })
	f.key, err = signer.GenerateKey()
	check(t, err)
	text, err := json.Marshal(map[string]any{"version": 1, "rules": []any{map[string]any{
		"match": map[string]any{"registry": testRegistry, "package": "pkg:generic/acme/*"},
		"anyOf": []any{map[string]any{"key": map[string]any{"id": f.key.ID(), "pem": string(f.key.PublicPEM())}}},
	}}})
	check(t, err)
	f.policy, err = signer.ParsePolicy(text)
	check(t, err)
	dir := filepath.Join(t.TempDir(), "keys")
	check(t, GenerateKeys(dir))
	f.keys, err = LoadKeys(dir)
	check(t, err)
	check(t, Init(t.Context(), f.store, f.keys, f.options("init")))
	return f
}

func (f *fixture) options(holder string) Options {
	return Options{
		Bits: 3, Holder: holder, Every: time.Millisecond,
		Now: func() time.Time {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.now
		},
		Verify: func(_ context.Context, bundle []byte, want signer.Expectation) (*signer.Verified, error) {
			return signer.Verify(bundle, f.policy, want)
		},
	}
}

func (f *fixture) indexer(holder string) *Indexer {
	f.t.Helper()
	x, err := Open(f.store, f.keys, f.options(holder))
	check(f.t, err)
	return x
}

func (f *fixture) later(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// sign publishes and signs the next revision of a package.
func (f *fixture) sign(i int, text string) store.Ref {
	f.t.Helper()
	purl := purl(i)
	doc := fmt.Appendf(nil, `{"schema":1,"layout":"generic","name":"p","version":"1","post_install_steps":[{"type":"mkdir_p","path":{"base":"prefix","path":%q}}]}`, text)
	record, _, err := f.store.Reserve(f.t.Context(), store.Submission{PURL: purl, Artifact: sha256.Sum256([]byte(purl)), Document: doc}, false)
	check(f.t, err)
	bundle, err := signer.Sign(f.t.Context(), f.key, signer.Request{
		Registry: testRegistry, PURL: purl, Revision: record.Revision, IssuedAt: f.now, Document: doc,
		ArtifactSHA256: record.ArtifactSHA256(), Capabilities: nil,
	})
	check(f.t, err)
	_, err = f.store.PutBundle(f.t.Context(), record.Ref(), bundle)
	check(f.t, err)
	return record.Ref()
}

func purl(i int) string { return fmt.Sprintf("pkg:generic/acme/p%d@1", i) }

// revision is what the committed index says of a package, 0 if nothing.
func (f *fixture) revision(i int) int {
	f.t.Helper()
	c, err := latest(f.t.Context(), f.store)
	check(f.t, err)
	r, err := load(f.t.Context(), f.store, f.keys.Pinned, c)
	check(f.t, err)
	bin, err := r.bin(f.t.Context(), r.binOf(purl(i)))
	check(f.t, err)
	target := bin.Signed.Targets[purl(i)]
	if target == nil {
		return 0
	}
	custom, err := lookup.ParseCustom(*target.Custom)
	check(f.t, err)
	return custom.Revision
}

func (f *fixture) unindexed() (n int) {
	f.t.Helper()
	check(f.t, f.store.Marked(f.t.Context(), store.Unindexed, func(store.Ref, time.Time) error {
		n++
		return nil
	}))
	return n
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://")
	x := f.indexer("a")
	for i := range 20 {
		f.sign(i, "a")
	}
	f.sign(7, "b") // both revisions in one batch
	n, err := x.Fold(t.Context())
	check(t, err)
	if n != 21 || f.unindexed() != 0 {
		t.Errorf("folded %d, %d are left", n, f.unindexed())
	}
	for i := range 20 {
		want := 1
		if i == 7 {
			want = 2
		}
		if got := f.revision(i); got != want {
			t.Errorf("package %d has revision %d", i, got)
		}
	}
	// The same marks again change nothing, and an older revision does not come back.
	before, err := lastCommit(t.Context(), f.store)
	check(t, err)
	check(t, f.store.SetMark(t.Context(), store.Unindexed, store.Ref{Package: store.PackageKey(purl(7)), Revision: 1}, ""))
	_, err = x.Fold(t.Context())
	check(t, err)
	after, err := lastCommit(t.Context(), f.store)
	check(t, err)
	if before != after || f.unindexed() != 0 || f.revision(7) != 2 {
		t.Errorf("commits %d and %d, %d marks, revision %d", before, after, f.unindexed(), f.revision(7))
	}
}

// Several indexers at once, without a lease even, lose nothing.
func TestIndexersAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "file://"+filepath.ToSlash(t.TempDir()))
	const n = 40
	for i := range n {
		f.sign(i, "a")
	}
	var group sync.WaitGroup
	for holder := range 3 {
		o := f.options(fmt.Sprint(holder))
		o.Batch = 7
		x, err := Open(f.store, f.keys, o)
		check(t, err)
		group.Go(func() {
			for f.unindexed() > 0 {
				if _, err := x.Fold(t.Context()); err != nil && !errors.Is(err, errBehind) {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	for i := range n {
		if f.revision(i) != 1 {
			t.Errorf("package %d is lost", i)
		}
	}
}

// An indexer that was paused in the middle of a commit, while another took over, finds
// its place taken, even after its place in the chain was pruned.
func TestLateIndexer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://")
	late, other := f.indexer("late"), f.indexer("other")
	f.sign(0, "a")
	check(t, late.refresh(t.Context()))
	batch, err := late.collect(t.Context())
	check(t, err)
	paused := &edit{repo: late.repo, keys: f.keys, now: f.now, life: late.o.Life}
	check(t, paused.apply(t.Context(), batch))

	for i := range keepCommits + 4 {
		f.sign(i, "b")
		f.later(grace)
		_, err := other.Fold(t.Context())
		check(t, err)
	}
	if ok, err := f.store.Exists(t.Context(), commitKey(paused.repo.commit.Number+1)); err != nil || ok {
		t.Fatalf("the late one's place was not pruned: %v, %v", ok, err)
	}
	if _, err := paused.commit(t.Context()); !errors.Is(err, errBehind) {
		t.Errorf("the late indexer got %v", err)
	}
	// Whatever it left behind, the index is whole, and stays so when that is pruned.
	for i := range keepCommits + 4 {
		f.sign(100+i, "c")
		f.later(grace)
		_, err := other.Fold(t.Context())
		check(t, err)
	}
	for i := range keepCommits + 4 {
		if got := f.revision(i); got < 1 {
			t.Errorf("package %d has revision %d", i, got)
		}
	}
	if f.revision(0) != 2 {
		t.Errorf("package 0 has revision %d", f.revision(0))
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://")
	x := f.indexer("a")
	for i := range 3 * keepCommits {
		f.sign(i, "a")
		f.later(10 * time.Minute)
		_, err := x.Fold(t.Context())
		check(t, err)
	}
	count := func(prefix string) (n int) {
		check(t, f.store.List(t.Context(), prefix, func(string, time.Time) error {
			n++
			return nil
		}))
		return n
	}
	// Each commit writes a bin, a snapshot and its link; renewal a bin more at times.
	if commits := count(commitPrefix); commits > keepCommits+8 {
		t.Errorf("%d commits are kept", commits)
	}
	if files := count("tuf/"); files > 8+3*(keepCommits+8) {
		t.Errorf("%d files are kept", files)
	}
}

func TestLease(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://")
	a, b := &f.indexer("a").lease, &f.indexer("b").lease
	check(t, a.acquire(t.Context()))
	var held *errHeld
	if err := b.acquire(t.Context()); !errors.As(err, &held) || held.Holder != "a" {
		t.Errorf("b got %v", err)
	}
	f.later(50 * time.Second)
	check(t, a.renew(t.Context()))
	f.later(50 * time.Second)
	if err := b.acquire(t.Context()); !errors.As(err, &held) {
		t.Errorf("b got %v after a renewed", err)
	}
	f.later(11 * time.Second)
	check(t, b.acquire(t.Context())) // a's has ended
	if err := a.renew(t.Context()); !errors.Is(err, errLost) {
		t.Errorf("a renewed: %v", err)
	}
	check(t, a.release(t.Context())) // and does not release b's
	c := &f.indexer("c").lease
	if err := c.acquire(t.Context()); !errors.As(err, &held) || held.Holder != "b" {
		t.Errorf("c got %v", err)
	}
	check(t, b.release(t.Context()))
	check(t, c.acquire(t.Context()))

	// A holder that is known to be dead keeps nobody waiting.
	d := &f.indexer("d").lease
	d.gone = func(holder string) bool { return holder == "c" }
	check(t, d.acquire(t.Context()))
}

// Two indexers run: one works, the other takes over when it stops.
func TestRunTakesOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://")
	run := func(holder string) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		x := f.indexer(holder)
		go func() {
			defer close(done)
			if err := x.Run(ctx); err != nil {
				t.Error(err)
			}
		}()
		return func() {
			cancel()
			<-done
		}
	}
	stopA, stopB := run("a"), run("b")
	defer stopB()
	f.sign(0, "a")
	wait(t, func() bool { return f.unindexed() == 0 })
	stopA()
	f.sign(1, "a")
	wait(t, func() bool { return f.unindexed() == 0 })
	if f.revision(0) != 1 || f.revision(1) != 1 {
		t.Error("a package is lost")
	}
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

// Everything is signed again before it expires, whether there is news or not.
func TestRenew(t *testing.T) {
	t.Parallel()
	for _, news := range []bool{false, true} {
		t.Run(fmt.Sprintf("news=%v", news), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "mem://")
			x := f.indexer("a")
			// One of the eight bins has its turn each time; go through a year and a half.
			for day := 0; day < 550; day += 7 {
				if news {
					f.sign(day%3, fmt.Sprint(day))
				}
				f.later(7 * 24 * time.Hour)
				_, err := x.Fold(t.Context())
				check(t, err)
				check(t, x.refresh(t.Context()))
				trusted := x.repo.trusted
				if trusted.Timestamp.Signed.IsExpired(f.now) || trusted.Snapshot.Signed.IsExpired(f.now) || trusted.Targets[metadata.TARGETS].Signed.IsExpired(f.now) {
					t.Fatalf("day %d: a role has expired", day)
				}
				for _, name := range x.repo.bins().GetRoles() {
					bin, err := x.repo.bin(t.Context(), name)
					check(t, err)
					if bin.Signed.IsExpired(f.now) {
						t.Fatalf("day %d: %s has expired", day, name)
					}
				}
			}
		})
	}
}

// Bundles that nobody should trust do not get into the index, and stop nothing.
func TestUnfitBundles(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://")
	x := f.indexer("a")
	good := f.sign(0, "a")
	bundle, err := f.store.Bundle(t.Context(), good)
	check(t, err)
	forged := f.sign(1, "a")
	check(t, f.store.Write(t.Context(), forged.BundleKey(), bundle)) // of another package
	broken := f.sign(2, "a")
	check(t, f.store.Write(t.Context(), broken.BundleKey(), []byte("{")))
	f.sign(3, "a")
	check(t, f.store.SetMark(t.Context(), store.Unindexed, store.Ref{Package: store.PackageKey("x"), Revision: 1}, ""))
	_, err = x.Fold(t.Context())
	check(t, err)
	if f.revision(0) != 1 || f.revision(1) != 0 || f.revision(2) != 0 || f.revision(3) != 1 {
		t.Errorf("revisions %d %d %d %d", f.revision(0), f.revision(1), f.revision(2), f.revision(3))
	}
}

// Whoever can write to the bucket does not get a change signed.
func TestTamperedBucket(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://")
	x := f.indexer("a")
	f.sign(0, "a")
	_, err := x.Fold(t.Context())
	check(t, err)
	name := x.repo.binOf(purl(0))
	key := roleKey(name, x.repo.trusted.Snapshot.Signed.Meta[name+".json"].Version)
	original, err := f.store.Read(t.Context(), key, maxMetaBytes)
	check(t, err)
	check(t, f.store.Write(t.Context(), key, []byte(strings.Replace(string(original), `"revision":1`, `"revision":9`, 1))))
	f.sign(0, "b")
	if _, err := f.indexer("b").Fold(t.Context()); err == nil {
		t.Error("a tampered bin was signed again")
	}
	check(t, f.store.Write(t.Context(), key, original))
	if _, err := f.indexer("b").Fold(t.Context()); err != nil {
		t.Error("control:", err)
	}
	// A timestamp that a late process wrote over the current one is put right.
	check(t, f.store.Write(t.Context(), timestampKey, []byte("old")))
	check(t, f.indexer("c").refresh(t.Context()))
	c, err := latest(t.Context(), f.store)
	check(t, err)
	if served, err := f.store.Read(t.Context(), timestampKey, maxMetaBytes); err != nil || string(served) != string(c.Timestamp) {
		t.Errorf("served %q, %v", served, err)
	}
}

func TestInitAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "mem://")
	pinned := f.keys.Pinned
	if err := Init(t.Context(), f.store, f.keys, f.options("x")); err == nil {
		t.Error("an index was made twice with the same pinned root")
	}
	// Cut short before the root was pinned.
	f.keys.Pinned = nil
	check(t, Init(t.Context(), f.store, f.keys, f.options("x")))
	if string(f.keys.Pinned) != string(pinned) {
		t.Error("another root")
	}
	dir := filepath.Join(t.TempDir(), "keys")
	check(t, GenerateKeys(dir))
	others, err := LoadKeys(dir)
	check(t, err)
	if err := Init(t.Context(), f.store, others, f.options("x")); err == nil || others.Pinned != nil {
		t.Error("a second index was made over the first")
	}
	if _, err := Open(f.store, others, f.options("x")); err == nil {
		t.Error("an indexer without a pinned root was opened")
	}
}

func FuzzCommit(f *testing.F) {
	s, err := store.Open(f.Context(), "mem://", testRegistry)
	check(f, err)
	f.Add([]byte(`{"number":1,"version":1,"timestamp":"e30="}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		check(t, s.Write(t.Context(), commitKey(1), data))
		c, err := latest(t.Context(), s)
		if err == nil && c.Number != 1 {
			t.Errorf("got %+v", c)
		}
	})
}
