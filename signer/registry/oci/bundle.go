package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"

	"steps.example/signer"
)

// BundleType is the media type of bundles, and the artifact type of their manifests.
const BundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// Annotations that cosign writes and reads.
const (
	annotationContent   = "dev.sigstore.bundle.content"
	annotationPredicate = "dev.sigstore.bundle.predicateType"
)

// Limits bound what is read from a registry.
type Limits struct {
	BundleBytes int64 // of one bundle
	Bundles     int   // of one package
}

// DefaultLimits fit the default limits of trust policies.
var DefaultLimits = Limits{BundleBytes: signer.DefaultLimits().BundleBytes, Bundles: 64}

const (
	maxManifestBytes = 4 << 20
	maxReferrers     = 1024
)

// Attach adds a bundle to the package that ref names, a tag or digest, and returns the
// digest of the bundle's manifest. Attaching the same bundle with the same time, which
// counts in seconds, changes nothing.
func (r *Repository) Attach(ctx context.Context, ref string, bundle []byte, created time.Time) (string, error) {
	subject, err := r.resolve(ctx, ref)
	if err != nil {
		return "", err
	}
	return r.put(ctx, &subject, bundle, created)
}

// Put adds a bundle that refers to no package, under a tag.
func (r *Repository) Put(ctx context.Context, tag string, bundle []byte, created time.Time) (string, error) {
	digest, err := r.put(ctx, nil, bundle, created)
	if err != nil {
		return "", err
	}
	if _, err := oras.Tag(ctx, r.target, digest, tag); err != nil {
		return "", r.fault(tag, err)
	}
	return digest, nil
}

func (r *Repository) put(ctx context.Context, subject *ocispec.Descriptor, bundle []byte, created time.Time) (string, error) {
	if err := looksLikeBundle(bundle); err != nil {
		return "", err
	}
	layer := content.NewDescriptorFromBytes(BundleType, bundle)
	if err := r.push(ctx, layer, bytes.NewReader(bundle)); err != nil {
		return "", r.fault("bundle", err)
	}
	manifest, err := oras.PackManifest(ctx, r.target, oras.PackManifestVersion1_1, BundleType, oras.PackManifestOptions{
		Subject: subject, Layers: []ocispec.Descriptor{layer},
		ManifestAnnotations: map[string]string{
			ocispec.AnnotationCreated: created.UTC().Format(time.RFC3339),
			annotationContent:         "dsse-envelope",
			annotationPredicate:       signer.PredicateType,
		},
	})
	if err != nil {
		return "", r.fault("bundle", err)
	}
	return manifest.Digest.String(), nil
}

// looksLikeBundle refuses what is no bundle at all, so that no file is attached by
// mistake. It verifies nothing.
func looksLikeBundle(data []byte) error {
	var b struct {
		MediaType string `json:"mediaType"`
	}
	if err := json.Unmarshal(data, &b); err != nil || b.MediaType != BundleType {
		return errors.New("not a bundle as steps sign makes it; only bundles can be attached")
	}
	return nil
}

// Bundles fetches the bundles with install steps that are attached to the package that
// ref names. There may be any number, none included.
func (r *Repository) Bundles(ctx context.Context, ref string, limits Limits) ([][]byte, error) {
	subject, err := r.resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	// Not every registry copies type and annotations into its list, and some get them
	// wrong; the manifests have them.
	referrers, err := registry.Referrers(ctx, r.target, subject, "")
	if err != nil {
		return nil, r.fault(ref, err)
	}
	if len(referrers) > maxReferrers {
		return nil, fmt.Errorf("%s: %d things are attached to %s, more than %d", r.name, len(referrers), ref, maxReferrers)
	}
	var list [][]byte
	for _, d := range referrers {
		bundle, err := r.bundle(ctx, d, limits)
		if err != nil {
			return nil, err
		}
		if bundle == nil {
			continue
		}
		if list = append(list, bundle); len(list) > limits.Bundles {
			return nil, fmt.Errorf("%s: more than %d bundles; fetch the one that the index names", r.name, limits.Bundles)
		}
	}
	return list, nil
}

// Tagged fetches the bundle under a tag of its own.
func (r *Repository) Tagged(ctx context.Context, tag string, limits Limits) ([]byte, error) {
	d, err := r.resolve(ctx, tag)
	if err != nil {
		return nil, err
	}
	bundle, err := r.bundle(ctx, d, limits)
	if err == nil && bundle == nil {
		err = fmt.Errorf("%s: %s is no bundle with install steps", r.name, tag)
	}
	return bundle, err
}

// bundle reads the bundle in a manifest, nil if it is about something else.
func (r *Repository) bundle(ctx context.Context, d ocispec.Descriptor, limits Limits) ([]byte, error) {
	m, err := r.manifest(ctx, d)
	if err != nil {
		return nil, err
	}
	if predicate := m.Annotations[annotationPredicate]; predicate != "" && predicate != signer.PredicateType {
		return nil, nil
	}
	if m.ArtifactType != BundleType || len(m.Layers) != 1 || m.Layers[0].MediaType != BundleType {
		return nil, nil
	}
	return r.blob(ctx, m.Layers[0], limits.BundleBytes)
}

func (r *Repository) manifest(ctx context.Context, d ocispec.Descriptor) (*ocispec.Manifest, error) {
	data, err := r.blob(ctx, d, maxManifestBytes)
	if err != nil {
		return nil, err
	}
	m := new(ocispec.Manifest)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, r.fault(d.Digest.String(), err)
	}
	return m, nil
}

// blob reads what a descriptor names and checks its digest.
func (r *Repository) blob(ctx context.Context, d ocispec.Descriptor, limit int64) ([]byte, error) {
	if d.Size < 0 || d.Size > limit {
		return nil, fmt.Errorf("%s: %s has %d bytes, more than %d", r.name, d.Digest, d.Size, limit)
	}
	data, err := content.FetchAll(ctx, r.target, d)
	return data, r.fault(d.Digest.String(), err)
}

func (r *Repository) resolve(ctx context.Context, ref string) (ocispec.Descriptor, error) {
	if ref == "" {
		return ocispec.Descriptor{}, fmt.Errorf("%s: say which package, by :tag or @digest", r.name)
	}
	d, err := r.target.Resolve(ctx, ref)
	return d, r.fault(ref, err)
}

// push adds a blob unless it is there.
func (r *Repository) push(ctx context.Context, d ocispec.Descriptor, from io.Reader) error {
	err := r.target.Push(ctx, d, from)
	if errors.Is(err, errdef.ErrAlreadyExists) {
		return nil
	}
	return err
}

func (r *Repository) fault(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", r.name, what, err)
}
