package fsroot

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

// Dir is an open directory. Everything it does is relative to its descriptor
// and takes a single name, never a path.
type Dir struct {
	fd int
	// Path is where the directory was when it was opened, for messages.
	Path string
}

// FD is the descriptor; it stays the Dir's.
func (d *Dir) FD() int { return d.fd }

func (d *Dir) close() {
	if d.fd >= 0 {
		_ = unix.Close(d.fd)
		d.fd = -1
	}
}

func (d *Dir) fail(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: filepath.Join(d.Path, name), Err: err}
}

// Stamp stamps the directory itself.
func (d *Dir) Stamp() (changeset.Stamp, error) {
	var st unix.Stat_t
	if err := ignoringEINTR(func() error { return unix.Fstat(d.fd, &st) }); err != nil {
		return changeset.Stamp{}, d.fail("stat", "", err)
	}
	return stampOf(&st), nil
}

// Lstat stamps the entry name, not following a link.
func (d *Dir) Lstat(name string) (changeset.Stamp, error) {
	var st unix.Stat_t
	err := ignoringEINTR(func() error { return unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return changeset.Stamp{}, d.fail("lstat", name, err)
	}
	return stampOf(&st), nil
}

// Readlink reads the text of the symlink name.
func (d *Dir) Readlink(name string) (string, error) {
	for size := 256; ; size *= 4 {
		buf := make([]byte, size)
		var n int
		err := ignoringEINTR(func() (err error) { n, err = unix.Readlinkat(d.fd, name, buf); return err })
		if err != nil {
			return "", d.fail("readlink", name, err)
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}

// Names lists the entries, sorted by nothing in particular.
func (d *Dir) Names() ([]string, error) {
	fd, err := unix.Openat(d.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, d.fail("open", "", err)
	}
	f := os.NewFile(uintptr(fd), d.Path)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, d.fail("read", "", err)
	}
	return names, nil
}

// Open opens the regular file name for reading, not following a link and not
// waiting on a FIFO, and stamps what it opened.
func (d *Dir) Open(name string) (*os.File, changeset.Stamp, error) {
	var fd int
	err := ignoringEINTR(func() (err error) {
		fd, err = unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		return err
	})
	if err != nil {
		return nil, changeset.Stamp{}, d.fail("open", name, err)
	}
	f := os.NewFile(uintptr(fd), filepath.Join(d.Path, name))
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		f.Close()
		return nil, changeset.Stamp{}, d.fail("stat", name, err)
	}
	stamp := stampOf(&st)
	if stamp.Kind() != changeset.File {
		f.Close()
		return nil, stamp, d.fail("open", name, errNotRegular)
	}
	return f, stamp, nil
}

// ReadFile reads the regular file name whole, up to max bytes.
func (d *Dir) ReadFile(name string, max int64) ([]byte, changeset.Stamp, error) {
	f, stamp, err := d.Open(name)
	if err != nil {
		return nil, stamp, err
	}
	defer f.Close()
	if stamp.Size > max {
		return nil, stamp, d.fail("read", name, errTooLarge)
	}
	data, err := io.ReadAll(io.LimitReader(f, max))
	if err != nil {
		return nil, stamp, d.fail("read", name, err)
	}
	// It may have grown since it was stamped.
	if n, _ := f.Read(make([]byte, 1)); n > 0 {
		return nil, stamp, d.fail("read", name, errTooLarge)
	}
	return data, stamp, nil
}
