package oci

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
)

// PackageType is the artifact type of packages that [Repository.Push] adds.
const PackageType = "application/vnd.steps.package.v1"

const fileType = "application/octet-stream"

// Push adds a package file under a tag and returns the digest of its manifest. The
// same file makes the same manifest.
func (r *Repository) Push(ctx context.Context, tag, path string) (string, error) {
	if tag == "" {
		return "", fmt.Errorf("%s: give the package a :tag", r.name)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum, err := digest.FromReader(f)
	if err != nil {
		return "", err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return "", err
	}
	layer := ocispec.Descriptor{MediaType: fileType, Digest: sum, Size: size}
	// A file that changes meanwhile does not fit its digest, and is refused.
	if err := r.push(ctx, layer, f); err != nil {
		return "", r.fault(path, err)
	}
	layer.Annotations = map[string]string{ocispec.AnnotationTitle: filepath.Base(path)}
	manifest, err := oras.PackManifest(ctx, r.target, oras.PackManifestVersion1_1, PackageType, oras.PackManifestOptions{
		Layers:              []ocispec.Descriptor{layer},
		ManifestAnnotations: map[string]string{ocispec.AnnotationCreated: "1970-01-01T00:00:00Z"},
	})
	if err == nil {
		err = r.target.Tag(ctx, manifest, tag)
	}
	if err != nil {
		return "", r.fault(tag, err)
	}
	return manifest.Digest.String(), nil
}

// Pull writes the only file of the package that ref names, and returns what the package
// calls it: a name to show, not one to write to.
func (r *Repository) Pull(ctx context.Context, ref string, to io.Writer, limit int64) (name string, err error) {
	d, err := r.resolve(ctx, ref)
	if err != nil {
		return "", err
	}
	m, err := r.manifest(ctx, d)
	if err != nil {
		return "", err
	}
	if len(m.Layers) != 1 {
		return "", fmt.Errorf("%s: %s is no package with one file, but has %d layers; fetch it with a tool for its kind", r.name, ref, len(m.Layers))
	}
	layer := m.Layers[0]
	if layer.Size < 0 || layer.Size > limit {
		return "", fmt.Errorf("%s: %s has %d bytes, more than %d", r.name, ref, layer.Size, limit)
	}
	body, err := r.target.Fetch(ctx, layer)
	if err != nil {
		return "", r.fault(ref, err)
	}
	defer body.Close()
	verified := content.NewVerifyReader(body, layer)
	if _, err := io.Copy(to, verified); err != nil {
		return "", r.fault(ref, err)
	}
	return layer.Annotations[ocispec.AnnotationTitle], r.fault(ref, verified.Verify())
}
