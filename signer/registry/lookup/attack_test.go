package lookup_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/theupdateframework/go-tuf/v2/metadata"

	"steps.example/signer"
	"steps.example/signer/registry/index"
	"steps.example/signer/registry/lookup"
)

// The honest case, which every attack below departs from.
func TestInstall(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	root, err := os.OpenRoot(r.dir)
	check(t, err)
	defer root.Close()
	server := httptest.NewServer(served{root})
	defer server.Close()
	m := r.machine(t)
	for revision := 1; revision <= 3; revision++ {
		doc := document("foo", "1.2.3", mkdir(fmt.Sprint("etc/", revision)))
		r.publish(testPURL, doc)
		c := m.config(r.dir)
		c.BaseURL = server.URL
		client := m.open(c)
		entry, err := client.Lookup(t.Context(), testPURL)
		check(t, err)
		if entry.Revision != revision || !entry.StepsRequired || entry.ArtifactSHA256 != artifact(testPURL) || entry.Stale != "" {
			t.Errorf("got %+v", entry)
		}
		bundle, err := client.Bundle(t.Context(), entry)
		check(t, err)
		v, err := m.accept(client, entry, bundle, testPURL)
		check(t, err)
		if string(v.Document) != doc {
			t.Errorf("got %s", v.Document)
		}
		if mark, err := client.Seen(testRegistry, testPURL); err != nil || mark != entry.Mark() {
			t.Errorf("seen %v, %v", mark, err)
		}
	}
	// A second look at the same index is as good.
	if _, err := m.install(r.dir, testPURL); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(m.dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("state directory: %v, %v", info.Mode(), err)
	}
}

// A package without steps says so in a signed statement; one that the registry does not
// know is told apart from it and from a failure.
func TestNoSteps(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.publish(testPURL, document("foo", "1.2.3"))
	m := r.machine(t)
	entry, err := m.look(r.dir, testPURL)
	check(t, err)
	if entry.StepsRequired {
		t.Error("steps are required of a package that has none")
	}
	if _, err := m.install(r.dir, testPURL); err != nil {
		t.Error(err)
	}
	_, err = m.look(r.dir, otherPURL)
	refused(t, err, lookup.KindAbsent, "no entry")
}

func TestRollback(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.publish(testPURL, document("foo", "1.2.3", mkdir("a")))
	old := r.save()
	r.publish(testPURL, document("foo", "1.2.3", mkdir("b")))
	m := r.machine(t)
	_, err := m.look(r.dir, testPURL)
	check(t, err)
	_, err = m.look(old, testPURL)
	refused(t, err, lookup.KindRollback, "rollback")

	// The same without go-tuf's copies, as after a crash.
	for _, name := range []string{"timestamp.json", "snapshot.json"} {
		check(t, os.Remove(filepath.Join(m.dir, "tuf", name)))
	}
	_, err = m.look(old, testPURL)
	refused(t, err, lookup.KindRollback, "rollback")

	// What state does not help with, and doc.go says so: a first look.
	if entry, err := r.machine(t).look(old, testPURL); err != nil || entry.Revision != 1 {
		t.Errorf("a machine that has seen nothing: %v, %v", entry, err)
	}
	// The honest index still passes.
	_, err = m.install(r.dir, testPURL)
	check(t, err)
}

func TestFreeze(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.publish(testPURL, document("foo", "1.2.3", mkdir("a")))
	frozen := r.save()
	m := r.machine(t)
	_, err := m.look(frozen, testPURL)
	check(t, err)
	r.later(25 * time.Hour)
	_, err = m.look(frozen, testPURL)
	refused(t, err, lookup.KindExpired, "freeze")

	// Stale is accepted on demand, and said.
	c := m.config(frozen)
	c.AllowStale = true
	entry, err := m.open(c).Lookup(t.Context(), testPURL)
	check(t, err)
	if !strings.Contains(entry.Stale, "expired") {
		t.Errorf("stale is not recorded: %q", entry.Stale)
	}
	// It does not make an older index good.
	_, err = m.look(r.dir, testPURL)
	check(t, err)
	_, err = m.open(c).Lookup(t.Context(), testPURL)
	refused(t, err, lookup.KindRollback, "rollback")
	// The honest index was renewed.
	entry, err = m.look(r.dir, testPURL)
	check(t, err)
	if entry.Stale != "" {
		t.Errorf("a fresh index is called stale: %s", entry.Stale)
	}
}

func TestOffline(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.publish(testPURL, document("foo", "1.2.3", mkdir("a")))
	m := r.machine(t)
	offline := m.config("/nowhere")
	offline.Offline, offline.MaxAge = true, 10*time.Hour
	_, err := m.open(offline).Lookup(t.Context(), testPURL)
	refused(t, err, lookup.KindUnreachable, "not stored")

	online := m.config("/nowhere")
	_, err = m.open(online).Lookup(t.Context(), testPURL)
	if err == nil {
		t.Error("an index was read from nowhere")
	}
	_, err = m.look(r.dir, testPURL)
	check(t, err)
	entry, err := m.open(offline).Lookup(t.Context(), testPURL)
	check(t, err)
	if entry.Revision != 1 || entry.Stale != "" {
		t.Errorf("got %+v", entry)
	}
	_, err = m.open(offline).Bundle(t.Context(), entry)
	refused(t, err, lookup.KindUnreachable, "offline")

	r.now = r.now.Add(11 * time.Hour)
	_, err = m.open(offline).Lookup(t.Context(), testPURL)
	refused(t, err, lookup.KindExpired, "11h")
	offline.AllowStale = true
	r.now = r.now.Add(24 * time.Hour)
	entry, err = m.open(offline).Lookup(t.Context(), testPURL)
	check(t, err)
	if !strings.Contains(entry.Stale, "expired") || !strings.Contains(entry.Stale, "35h") {
		t.Errorf("stale is not recorded: %q", entry.Stale)
	}
}

// Parts of two indexes, both signed, are not an index.
func TestMixAndMatch(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.publish(testPURL, document("foo", "1.2.3", mkdir("a")))
	old := r.save()
	r.publish(testPURL, document("foo", "1.2.3", mkdir("b")))
	for _, tc := range []struct {
		name string
		mix  func(dir string)
		kind signer.Kind
	}{
		{"old bin under the new name", func(dir string) { rename(t, old, dir, "bin") }, lookup.KindMixed},
		{"old snapshot under the new name", func(dir string) { rename(t, old, dir, "snapshot") }, lookup.KindMixed},
		{"one bin in place of another", func(dir string) {
			name := newest(t, dir, "bin")
			others, err := filepath.Glob(filepath.Join(dir, "tuf", "1.bin-*.json"))
			check(t, err)
			copyFile(t, others[0], name)
		}, lookup.KindMixed},
		{"bundle of another revision", func(dir string) {
			name := strings.Replace(bundlePath(dir, 2), dir, old, 1)
			copyFile(t, strings.Replace(name, "2.json", "1.json", 1), bundlePath(dir, 2))
		}, lookup.KindMixed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := r.save()
			if _, err := r.machine(t).install(dir, testPURL); err != nil {
				t.Fatal("control:", err)
			}
			tc.mix(dir)
			_, err := r.machine(t).install(dir, testPURL)
			// Signatures differ in length: what is longer than the index says is
			// refused for that already.
			kind := tc.kind
			if e, ok := errors.AsType[*signer.Error](err); ok && e.Kind == signer.KindTooLarge {
				kind = e.Kind
			}
			refused(t, err, kind, "")
		})
	}
}

func TestOmission(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.publish(testPURL, document("foo", "1.2.3", mkdir("a")))
	for _, tc := range []struct {
		name   string
		remove func(dir string) string
		kind   signer.Kind
	}{
		{"bundle", func(dir string) string { return bundlePath(dir, 1) }, lookup.KindOmitted},
		{"bin", func(dir string) string { return newest(t, dir, "bin") }, lookup.KindUnreachable},
		{"snapshot", func(dir string) string { return newest(t, dir, "snapshot") }, lookup.KindUnreachable},
		{"timestamp", func(dir string) string { return filepath.Join(dir, "tuf", "timestamp.json") }, lookup.KindUnreachable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := r.save()
			check(t, os.Remove(tc.remove(dir)))
			_, err := r.machine(t).install(dir, testPURL)
			// Signatures differ in length: what is longer than the index says is
			// refused for that already.
			kind := tc.kind
			if e, ok := errors.AsType[*signer.Error](err); ok && e.Kind == signer.KindTooLarge {
				kind = e.Kind
			}
			refused(t, err, kind, "")
		})
	}
}

// A thief of the timestamp key shows one machine two indexes of one version.
func TestEquivocation(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.publish(testPURL, document("foo", "1.2.3", mkdir("a")))
	m := r.machine(t)
	_, err := m.install(r.dir, testPURL)
	check(t, err)
	path := filepath.Join(r.save(), "tuf", "timestamp.json")
	forged, err := metadata.Timestamp().FromFile(path)
	check(t, err)

	// Signed again, with the same content, it is the same.
	r.resign(forged, path)
	dir := filepath.Dir(filepath.Dir(path))
	if _, err := m.look(dir, testPURL); err != nil {
		t.Error("control:", err)
	}
	forged.Signed.Expires = forged.Signed.Expires.Add(time.Hour)
	r.resign(forged, path)
	_, err = m.look(dir, testPURL)
	refused(t, err, lookup.KindEquivocation, "signed twice")

	// The same by somebody without the key is no equivocation but a forgery.
	forged.Signatures[0].Signature[9] ^= 1
	check(t, forged.ToFile(path, false))
	_, err = m.look(dir, testPURL)
	refused(t, err, lookup.KindSignature, "not signed")
}

// A registry whose signing key says two things of one revision.
func TestEquivocatingBundle(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.publish(testPURL, document("foo", "1.2.3", mkdir("a")))
	m := r.machine(t)
	_, err := m.install(r.dir, testPURL)
	check(t, err)
	client := m.open(m.config(r.dir))
	entry, err := client.Lookup(t.Context(), testPURL)
	check(t, err)
	_, err = m.accept(client, entry, r.bundle(1, testPURL, document("foo", "1.2.3", mkdir("evil"))), testPURL)
	refused(t, err, lookup.KindEquivocation, "differ")

	// And the index says the other thing too: what was accepted here tells.
	two := newRegistry(t)
	two.key, two.policy = r.key, r.policy
	two.publish(testPURL, document("foo", "1.2.3", mkdir("evil")))
	c := m.config(two.dir)
	c.Root = two.keys.Pinned
	_, err = m.open(c).Lookup(t.Context(), testPURL)
	refused(t, err, lookup.KindEquivocation, "not what was accepted here")
}

// An older bundle of the same package file is signed and fits it. Only the index knows.
func TestReplay(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	first := r.publish(testPURL, document("foo", "1.2.3", mkdir("a")))
	second := r.publish(testPURL, document("foo", "1.2.3", mkdir("b")))
	m := r.machine(t)
	client := m.open(m.config(r.dir))
	entry, err := client.Lookup(t.Context(), testPURL)
	check(t, err)
	_, err = m.accept(client, entry, first, testPURL)
	refused(t, err, signer.KindStale, "revision 1, but 2 is current")
	if _, err := m.accept(client, entry, second, testPURL); err != nil {
		t.Error("control:", err)
	}
	// On another machine, an index that names the first again is refused by its
	// version; here by the revision as well.
	back := newRegistry(t)
	back.key, back.policy = r.key, r.policy
	back.publish(testPURL, document("foo", "1.2.3", mkdir("a")))
	c := m.config(back.dir)
	c.Root = back.keys.Pinned
	_, err = m.open(c).Lookup(t.Context(), testPURL)
	refused(t, err, lookup.KindRollback, "revision 2 was accepted")
}

// A bundle of another package, or of a revision out of the signer's own head.
func TestForeignBundle(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.publish(testPURL, document("foo", "1.2.3", mkdir("a")))
	other := r.publish(otherPURL, document("bar", "1.0", mkdir("a")))
	m := r.machine(t)
	client := m.open(m.config(r.dir))
	entry, err := client.Lookup(t.Context(), testPURL)
	check(t, err)
	_, err = m.accept(client, entry, other, otherPURL)
	refused(t, err, signer.KindWrongPackage, "another package")
	_, err = m.accept(client, entry, r.bundle(1<<31-1, testPURL, document("foo", "1.2.3")), testPURL)
	refused(t, err, lookup.KindFastForward, "does not know")
}

// A thief of the timestamp key makes the version so large that no honest one follows.
// New keys end it, and nothing else does.
func TestFastForward(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.publish(testPURL, document("foo", "1.2.3", mkdir("a")))
	m := r.machine(t)
	_, err := m.look(r.dir, testPURL)
	check(t, err)
	dir := r.save()
	path := filepath.Join(dir, "tuf", "timestamp.json")
	forged, err := metadata.Timestamp().FromFile(path)
	check(t, err)
	forged.Signed.Version = 1 << 40
	r.resign(forged, path)
	_, err = r.machine(t).look(dir, testPURL)
	refused(t, err, lookup.KindFastForward, "honest count")

	forged.Signed.Version = 1 << 30
	r.resign(forged, path)
	_, err = m.look(dir, testPURL)
	check(t, err) // within bounds, and signed: this is what the thief can do
	_, err = m.look(r.dir, testPURL)
	refused(t, err, lookup.KindRollback, "rollback")

	r.rotate()
	entry, err := m.look(r.dir, testPURL)
	check(t, err)
	if entry.Revision != 1 {
		t.Errorf("got %+v", entry)
	}
	// The thief's key is out.
	_, err = m.look(dir, testPURL)
	if err == nil {
		t.Error("an index under the old keys was accepted after the new")
	}
	// And hiding the new root does not bring it back.
	_, err = m.look(dir, testPURL)
	refused(t, err, lookup.KindSignature, "not signed")
}

// Rotation keeps every entry, and machines old and new follow.
func TestRotate(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.publish(testPURL, document("foo", "1.2.3", mkdir("a")))
	m := r.machine(t)
	_, err := m.install(r.dir, testPURL)
	check(t, err)
	for i := range 3 {
		if i == 2 { // the root's key as well
			r.rotateRoot()
		} else {
			r.rotate()
		}
		r.publish(otherPURL, document("bar", "1.0", mkdir(fmt.Sprint(time.Now().UnixNano()))))
	}
	for _, machine := range []*machine{m, r.machine(t)} {
		for _, purl := range []string{testPURL, otherPURL} {
			if _, err := machine.install(r.dir, purl); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestOtherRoot(t *testing.T) {
	t.Parallel()
	r, other := newRegistry(t), newRegistry(t)
	r.publish(testPURL, document("foo", "1.2.3", mkdir("a")))
	c := r.machine(t).config(r.dir)
	c.Root = other.keys.Pinned
	_, err := r.machine(t).open(c).Lookup(t.Context(), testPURL)
	refused(t, err, lookup.KindSignature, "")
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	m := r.machine(t)
	for name, bend := range map[string]func(*lookup.Config){
		"no root":         func(c *lookup.Config) { c.Root = nil },
		"root is no root": func(c *lookup.Config) { c.Root = []byte(`{"signed":{"_type":"targets"}}`) },
		"no base":         func(c *lookup.Config) { c.BaseURL = "" },
		"ftp":             func(c *lookup.Config) { c.BaseURL = "ftp://x/" },
		"query":           func(c *lookup.Config) { c.BaseURL = "https://x/?a" },
		"no directory":    func(c *lookup.Config) { c.Dir = "" },
		"open to others": func(c *lookup.Config) {
			c.Dir = filepath.Join(t.TempDir(), "open")
			check(t, os.Mkdir(c.Dir, 0o755))
		},
		"link": func(c *lookup.Config) {
			c.Dir = filepath.Join(t.TempDir(), "link")
			check(t, os.Symlink(t.TempDir(), c.Dir))
		},
	} {
		c := m.config(r.dir)
		bend(&c)
		var e *signer.Error
		if _, err := lookup.Open(c); !errors.As(err, &e) || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// rotate replaces all online keys.
func (r *registry) rotate() { r.rotateTo(r.keys.Root) }

// rotateRoot replaces all keys.
func (r *registry) rotateRoot() { r.rotateTo(nil) }

func (r *registry) rotateTo(root signature.Signer) {
	r.t.Helper()
	dir := filepath.Join(r.t.TempDir(), "keys")
	check(r.t, index.GenerateKeys(dir))
	next, err := index.LoadKeys(dir)
	check(r.t, err)
	if root != nil {
		next.Root = root
	}
	check(r.t, r.x.Rotate(r.t.Context(), next))
	r.keys = next
}

// resign signs a timestamp with the stolen key.
func (r *registry) resign(m *metadata.Metadata[metadata.TimestampType], path string) {
	r.t.Helper()
	m.ClearSignatures()
	_, err := m.Sign(r.keys.Timestamp)
	check(r.t, err)
	check(r.t, m.ToFile(path, false))
}

func bundlePath(dir string, revision int) string {
	sum := sha256.Sum256([]byte(testPURL))
	name := hex.EncodeToString(sum[:])
	return filepath.Join(dir, "bundles", name[:2], fmt.Sprintf("%s.%010d.json", name, revision))
}

// newest is the metadata file of a role, or of some bin, with the highest version.
func newest(t testing.TB, dir, role string) (path string) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "tuf", "*."+role+"*.json"))
	check(t, err)
	best := 0
	for _, name := range list {
		var version int
		if _, err := fmt.Sscanf(filepath.Base(name), "%d.", &version); err == nil && version > best {
			best, path = version, name
		}
	}
	return path
}

// rename puts the old file of a role under the name of the new one.
func rename(t testing.TB, old, dir, role string) {
	t.Helper()
	copyFile(t, newest(t, old, role), newest(t, dir, role))
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	check(t, err)
	check(t, os.WriteFile(to, data, 0o644))
}
