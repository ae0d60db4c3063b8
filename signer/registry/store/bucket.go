package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/fileblob" // file://
	_ "gocloud.dev/blob/memblob"  // mem://
	_ "gocloud.dev/blob/s3blob"   // s3://, also for servers that speak its protocol
	"gocloud.dev/gcerrors"
)

// ErrExists says that [Store.Create] lost to an earlier writer.
var ErrExists = errors.New("exists already")

// ErrNotFound says that there is nothing under a key.
var ErrNotFound = errors.New("not found")

// openBucket opens a bucket by URL. For file:// it also returns the directory.
func openBucket(ctx context.Context, bucketURL string) (*blob.Bucket, string, error) {
	u, err := url.Parse(bucketURL)
	if err != nil {
		return nil, "", fmt.Errorf("store: %w; write it like file:///var/lib/steps or s3://bucket?region=eu-west-1", err)
	}
	dir := ""
	if u.Scheme == "file" {
		if u.Host != "" || !filepath.IsAbs(u.Path) || u.RawQuery != "" {
			return nil, "", fmt.Errorf("store: %q is no absolute directory; write it like file:///var/lib/steps", bucketURL)
		}
		dir = filepath.Clean(u.Path)
		// Temporary files beside their destinations, so that renaming works; no
		// second file with attributes for each object.
		u.RawQuery = "create_dir=true&metadata=skip&no_tmp_dir=true"
	}
	bucket, err := blob.OpenBucket(ctx, u.String())
	if err == nil && dir != "" {
		err = sweepNew(filepath.Join(dir, newDir))
	}
	if err != nil {
		return nil, "", fmt.Errorf("store: open %s: %w; file://, mem:// and s3:// are known", u.Redacted(), err)
	}
	return bucket, dir, nil
}

// newDir holds files that are being written and have no name yet.
const newDir = ".new"

// sweepNew makes the directory, and removes what a killed process left in it. What is
// younger than an hour may be another process's.
func sweepNew(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range list {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
			os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
	return nil
}

// Create writes data under a key that must be free; of several writers at once one
// wins, and the others get [ErrExists].
func (s *Store) Create(ctx context.Context, key string, data []byte) error {
	if s.dir != "" {
		return s.createFile(ctx, key, data)
	}
	err := s.bucket.WriteAll(ctx, key, data, &blob.WriterOptions{IfNotExist: true, DisableContentTypeDetection: true})
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return ErrExists
	}
	return within(key, err)
}

// createFile is Create for a directory. The bucket's own looks for the file and then
// renames over it, which two processes can do at once; a hard link is made by one.
func (s *Store) createFile(ctx context.Context, key string, data []byte) error {
	err := s.placeFile(ctx, key, data, os.Link)
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	return within(key, err)
}

// Write writes data under key, over what was there.
func (s *Store) Write(ctx context.Context, key string, data []byte) error {
	if s.dir != "" {
		return within(key, s.placeFile(ctx, key, data, os.Rename))
	}
	return within(key, s.bucket.WriteAll(ctx, key, data, &blob.WriterOptions{DisableContentTypeDetection: true}))
}

// placeFile writes a file without a name and has place give it one.
func (s *Store) placeFile(ctx context.Context, key string, data []byte, place func(temp, path string) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	temp, err := os.OpenFile(filepath.Join(s.dir, newDir, rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(data)
	if err := errors.Join(err, temp.Close()); err != nil {
		return err
	}
	path := filepath.Join(s.dir, filepath.FromSlash(key))
	err = place(temp.Name(), path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		err = place(temp.Name(), path)
	}
	return err
}

// touch is Write for a directory and a file with nothing in it, which is never seen
// half written.
func (s *Store) touch(key string) error {
	path := filepath.Join(s.dir, filepath.FromSlash(key))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		f, err = os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// Read returns what is under key, at most limit bytes; more is an error.
func (s *Store) Read(ctx context.Context, key string, limit int64) ([]byte, error) {
	r, err := s.bucket.NewReader(ctx, key, nil)
	return readAll(r, key, limit, err)
}

// readHead is Read for the first part of what is under key.
func (s *Store) readHead(ctx context.Context, key string, length int64) ([]byte, error) {
	r, err := s.bucket.NewRangeReader(ctx, key, 0, length, nil)
	return readAll(r, key, length, err)
}

func readAll(r io.ReadCloser, key string, limit int64, err error) ([]byte, error) {
	if err != nil {
		return nil, within(key, err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("more than %d bytes; somebody else wrote it", limit)
	}
	return data, within(key, err)
}

// Exists tells whether there is something under key.
func (s *Store) Exists(ctx context.Context, key string) (bool, error) {
	ok, err := s.bucket.Exists(ctx, key)
	return ok, within(key, err)
}

// Delete removes what is under key; nothing there is not an error.
func (s *Store) Delete(ctx context.Context, key string) error {
	err := within(key, s.bucket.Delete(ctx, key))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// List calls f with each key under prefix, which ends in a slash, in order, and with
// the time it was written.
func (s *Store) List(ctx context.Context, prefix string, f func(key string, written time.Time) error) error {
	if s.dir != "" {
		return s.listFiles(ctx, prefix, f)
	}
	iter := s.bucket.List(&blob.ListOptions{Prefix: prefix})
	for {
		object, err := iter.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return within(prefix, err)
		case object.IsDir:
			continue
		}
		if err := f(object.Key, object.ModTime); err != nil {
			return err
		}
	}
}

// listFiles is List for a directory. The bucket's own fails if a file goes away
// meanwhile, as marks do all the time.
func (s *Store) listFiles(ctx context.Context, prefix string, f func(key string, written time.Time) error) error {
	root := filepath.Join(s.dir, filepath.FromSlash(prefix))
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		var info fs.FileInfo
		if err == nil && !entry.IsDir() {
			info, err = entry.Info()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && info == nil:
			return nil
		case err != nil:
			return within(prefix, err)
		}
		key, err := filepath.Rel(s.dir, path)
		if err != nil {
			return err
		}
		return f(filepath.ToSlash(key), info.ModTime())
	})
}

// within says which key an error is about.
func within(key string, err error) error {
	switch {
	case err == nil:
		return nil
	case gcerrors.Code(err) == gcerrors.NotFound:
		return fmt.Errorf("store: %s: %w", key, ErrNotFound)
	}
	return fmt.Errorf("store: %s: %w", key, err)
}
