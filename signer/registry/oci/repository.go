package oci

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"
)

// layoutPrefix marks the directory of an OCI layout: oci:/srv/packages:tag.
const layoutPrefix = "oci:"

// Options are for registries.
type Options struct {
	// PlainHTTP: do not use TLS. Loopback addresses never need it.
	PlainHTTP bool
}

// Repository is one repository of a registry, or one layout directory. A directory is
// locked while it is open, since its index is one file.
type Repository struct {
	target oras.GraphTarget
	lock   *os.File
	name   string
}

// Open opens what ref names: host/repository:tag or @digest, or oci:DIRECTORY:tag or
// @digest; a directory is made if need be. The second result is the tag or digest, ""
// if ref has none. Credentials come from Docker's configuration.
func Open(ref string, o Options) (*Repository, string, error) {
	if dir, ok := strings.CutPrefix(ref, layoutPrefix); ok {
		return openLayout(dir)
	}
	parsed, err := registry.ParseReference(ref)
	if err != nil {
		return nil, "", fmt.Errorf("%w; write it like registry.example/acme/foo:1.0 or oci:/srv/packages:1.0", err)
	}
	repo := &remote.Repository{Reference: parsed, PlainHTTP: o.PlainHTTP || loopback(parsed.Host())}
	// What a registry may make us read: 16 pages of 4 MiB.
	repo.ReferrerListMaxPages, repo.TagListMaxPages, repo.MaxMetadataBytes = 16, 16, maxManifestBytes
	// Many registries do not let anybody delete, and then attaching would fail.
	repo.SkipReferrersGC = true
	client := &auth.Client{Client: retry.DefaultClient, Cache: auth.NewCache()}
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	switch {
	case err == nil:
		client.Credential = credentials.Credential(store)
	case errors.Is(err, fs.ErrPermission):
		// Another user's, as under sudo or setpriv: go on without.
	default:
		return nil, "", fmt.Errorf("docker's credentials: %w", err)
	}
	repo.Client = client
	return &Repository{target: repo, name: parsed.Registry + "/" + parsed.Repository}, parsed.Reference, nil
}

func loopback(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = hostPort
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func openLayout(spec string) (*Repository, string, error) {
	dir, tag := spec, ""
	if name, digest, ok := strings.Cut(spec, "@"); ok {
		dir, tag = name, digest
	} else if i := strings.LastIndexByte(spec, ':'); i > strings.LastIndexByte(spec, '/') {
		dir, tag = spec[:i], spec[i+1:]
	}
	if dir == "" {
		return nil, "", errors.New("oci: needs a directory, as in oci:/srv/packages:1.0")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, "", err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		lock.Close()
		return nil, "", err
	}
	store, err := oci.NewWithContext(context.Background(), dir)
	if err != nil {
		lock.Close()
		return nil, "", fmt.Errorf("%s: %w", dir, err)
	}
	return &Repository{target: store, lock: lock, name: layoutPrefix + dir}, tag, nil
}

// Close lets others use a layout directory.
func (r *Repository) Close() error {
	if r.lock == nil {
		return nil
	}
	return r.lock.Close()
}
