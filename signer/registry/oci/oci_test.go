package oci

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
)

// places are where packages can lie: a layout directory, a registry with the referrers
// API, and one that is older than it.
func places(t *testing.T, test func(t *testing.T, place string)) {
	t.Run("layout", func(t *testing.T) {
		t.Parallel()
		test(t, "oci:"+filepath.Join(t.TempDir(), "packages"))
	})
	for _, referrers := range []bool{true, false} {
		t.Run(fmt.Sprintf("registry referrers=%v", referrers), func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(registry.New(registry.WithReferrersSupport(referrers), registry.Logger(log.New(io.Discard, "", 0))))
			t.Cleanup(server.Close)
			test(t, strings.TrimPrefix(server.URL, "http://")+"/acme/foo")
		})
	}
}

func open(t *testing.T, ref string) (*Repository, string) {
	t.Helper()
	r, tag, err := Open(ref, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, tag
}

func bundle(n int) []byte {
	return fmt.Appendf(nil, `{"mediaType":%q,"n":%d}`, BundleType, n)
}

func TestPushAttachPull(t *testing.T) {
	t.Parallel()
	places(t, pushAttachPull)
}

func pushAttachPull(t *testing.T, place string) {
	path := filepath.Join(t.TempDir(), "foo.tar")
	if err := os.WriteFile(path, []byte("the package"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, tag := open(t, place+":1.0")
	digest, err := r.Push(t.Context(), tag, path)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := r.Push(t.Context(), tag, path); err != nil || again != digest {
		t.Errorf("pushed again: %s, %v; before %s", again, err, digest)
	}
	for n := range 2 {
		if _, err := r.Attach(t.Context(), tag, bundle(n), time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
	}
	r.Close()

	// Another process, and by digest.
	for _, ref := range []string{":1.0", "@" + digest} {
		r, tag := open(t, place+ref)
		list, err := r.Bundles(t.Context(), tag, DefaultLimits)
		if err != nil || len(list) != 2 {
			t.Fatalf("%d bundles, %v", len(list), err)
		}
		for n := range 2 {
			if !bytes.Equal(list[0], bundle(n)) && !bytes.Equal(list[1], bundle(n)) {
				t.Errorf("bundle %d is not in %s", n, list)
			}
		}
		var file bytes.Buffer
		if name, err := r.Pull(t.Context(), tag, &file, 100); err != nil || name != "foo.tar" || file.String() != "the package" {
			t.Errorf("pulled %q, %v: %q", name, err, &file)
		}
		if _, err := r.Pull(t.Context(), tag, io.Discard, 10); err == nil {
			t.Error("a package beyond the limit was pulled")
		}
		r.Close()
	}
}

// What cosign looks for: artifact type, subject, layer and annotations.
func TestManifestIsCosigns(t *testing.T) {
	t.Parallel()
	r, tag := open(t, "oci:"+t.TempDir()+":1")
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	subject, err := r.Push(t.Context(), tag, path)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := r.Attach(t.Context(), tag, bundle(1), time.Unix(1e9, 0))
	if err != nil {
		t.Fatal(err)
	}
	d, err := r.target.Resolve(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.manifest(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if m.ArtifactType != "application/vnd.dev.sigstore.bundle.v0.3+json" || m.Subject == nil || m.Subject.Digest.String() != subject ||
		m.Config.MediaType != "application/vnd.oci.empty.v1+json" || len(m.Layers) != 1 || m.Layers[0].MediaType != m.ArtifactType ||
		m.Annotations["dev.sigstore.bundle.content"] != "dsse-envelope" ||
		m.Annotations["dev.sigstore.bundle.predicateType"] != "https://steps.example/install-steps/v1" {
		t.Errorf("got %+v", m)
	}
}

func TestPutTagged(t *testing.T) {
	t.Parallel()
	places(t, putTagged)
}

func putTagged(t *testing.T, place string) {
	r, _ := open(t, place)
	created := time.Unix(1e9, 0)
	first, err := r.Put(t.Context(), "steps-1", bundle(1), created)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := r.Put(t.Context(), "steps-1", bundle(1), created); err != nil || again != first {
		t.Errorf("put again: %s, %v", again, err)
	}
	d, err := r.target.Resolve(t.Context(), "steps-1")
	if err != nil || d.Digest.String() != first {
		t.Errorf("%v, %v", d, err)
	}
}

// A registry that adds bundles without end, or large ones, or of other kinds.
func TestHostileRegistry(t *testing.T) {
	t.Parallel()
	r, tag := open(t, "oci:"+t.TempDir()+":1")
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Push(t.Context(), tag, path); err != nil {
		t.Fatal(err)
	}
	subject, err := r.resolve(t.Context(), tag)
	if err != nil {
		t.Fatal(err)
	}
	other := oras.PackManifestOptions{Subject: &subject, ManifestAnnotations: map[string]string{annotationPredicate: "https://slsa.dev/provenance/v1"}}
	if _, err := oras.PackManifest(t.Context(), r.target, oras.PackManifestVersion1_1, BundleType, other); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if _, err := r.Attach(t.Context(), tag, bundle(n), time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := r.Bundles(t.Context(), tag, Limits{BundleBytes: 1000, Bundles: 3}); err != nil || len(list) != 3 {
		t.Errorf("control: %d bundles, %v", len(list), err)
	}
	if _, err := r.Bundles(t.Context(), tag, Limits{BundleBytes: 1000, Bundles: 2}); err == nil {
		t.Error("more bundles than the limit were read")
	}
	if _, err := r.Bundles(t.Context(), tag, Limits{BundleBytes: 10, Bundles: 3}); err == nil {
		t.Error("bundles beyond the limit were read")
	}
	// A blob that is not what its digest says.
	dir := strings.TrimPrefix(r.name, "oci:")
	sum := sha256.Sum256(bundle(0))
	blob := filepath.Join(dir, "blobs", "sha256", fmt.Sprintf("%x", sum))
	if err := os.Chmod(blob, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(blob, bytes.ReplaceAll(bundle(0), []byte("0}"), []byte("9}")), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Bundles(t.Context(), tag, DefaultLimits); err == nil {
		t.Error("an altered bundle was read")
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	r, _ := open(t, "oci:"+t.TempDir())
	for _, data := range []string{"", "{}", "[]", `{"mediaType":"text/plain"}`} {
		if _, err := r.Put(t.Context(), "x", []byte(data), time.Now()); err == nil {
			t.Errorf("%q was attached", data)
		}
	}
	if _, err := r.Attach(t.Context(), "", bundle(1), time.Unix(1e9, 0)); err == nil {
		t.Error("a bundle was attached to nothing")
	}
	if _, err := r.Attach(t.Context(), "absent", bundle(1), time.Unix(1e9, 0)); err == nil {
		t.Error("a bundle was attached to an absent package")
	}
	for _, ref := range []string{"", "oci:", "foo", "host/UPPER:1", "host/repo@sha256:short"} {
		if _, _, err := Open(ref, Options{}); err == nil {
			t.Errorf("%q was opened", ref)
		}
	}
}

// Whatever a manifest says, reading it ends, within bounds.
func FuzzManifest(f *testing.F) {
	good, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, ArtifactType: BundleType,
		Layers: []ocispec.Descriptor{content.NewDescriptorFromBytes(BundleType, bundle(1))},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"layers":[{"mediaType":"` + BundleType + `","size":-1}]}`))
	r, _, err := Open("oci:"+f.TempDir(), Options{})
	if err != nil {
		f.Fatal(err)
	}
	defer r.Close()
	f.Fuzz(func(t *testing.T, data []byte) {
		d := content.NewDescriptorFromBytes(ocispec.MediaTypeImageConfig, data)
		if err := r.push(t.Context(), d, bytes.NewReader(data)); err != nil {
			t.Skip(err)
		}
		if got, err := r.bundle(t.Context(), d, DefaultLimits); err == nil && int64(len(got)) > DefaultLimits.BundleBytes {
			t.Errorf("%d bytes", len(got))
		}
	})
}
