package commit

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// smallFile is up to what size, in bytes, a file is copied through memory. Larger
// ones are cloned or copied in the kernel where it can, and keep their holes.
const smallFile = 1 << 20

// copyFile copies size bytes of f to the empty file fd.
func (w *work) copyFile(fd int, name string, f *os.File, size int64) error {
	src := int(f.Fd())
	if size <= smallFile {
		return w.copyByHand(fd, name, src, 0, size)
	}
	if err := w.disk.do(Call{Op: "clone", Name: name, FD: fd, Dir: -1, Length: size}, func() error { return clone(fd, src) }); err == nil {
		return nil
	}
	if err := w.disk.truncate(fd, name, size); err != nil {
		return err
	}
	for at := int64(0); at < size; {
		from, to, err := extent(src, at, size)
		if err != nil {
			return err
		}
		if err := w.copyExtent(fd, name, src, from, to); err != nil {
			return err
		}
		at = to
	}
	return nil
}

// extent finds the next part of a file, from at on, that is no hole. It ends at
// size if there is none, and is all there is where the file system knows no
// holes.
func extent(fd int, at, size int64) (from, to int64, err error) {
	from, err = unix.Seek(fd, at, unix.SEEK_DATA)
	if err == unix.ENXIO {
		return size, size, nil
	}
	if err == nil {
		to, err = unix.Seek(fd, from, unix.SEEK_HOLE)
	}
	if err == unix.EINVAL || err == unix.ENOTSUP {
		return at, size, nil
	}
	return min(from, size), min(to, size), err
}

func (w *work) copyExtent(fd int, name string, src int, from, to int64) error {
	for from < to {
		if err := w.stopped(); err != nil {
			return err
		}
		n := 0
		err := w.disk.do(Call{Op: "copy", Name: name, FD: fd, Dir: -1, Offset: from, Length: to - from}, func() (err error) {
			n, err = copyRange(fd, src, from, int(min(to-from, 1<<30)))
			return err
		})
		if err != nil || n == 0 {
			// Not between these file systems; should it be something else, the
			// same will happen again.
			return w.copyByHand(fd, name, src, from, to)
		}
		from += int64(n)
	}
	return nil
}

// copyByHand copies the bytes of src from one offset to another to the same
// place in fd. That src is shorter is an error.
func (w *work) copyByHand(fd int, name string, src int, from, to int64) error {
	buf := make([]byte, min(to-from, smallFile))
	for from < to {
		if err := w.stopped(); err != nil {
			return err
		}
		part := buf[:min(to-from, smallFile)]
		if _, err := io.ReadFull(io.NewSectionReader(borrowed{src}, from, int64(len(part))), part); err != nil {
			return err
		}
		if err := w.disk.writeAt(fd, name, part, from); err != nil {
			return err
		}
		from += int64(len(part))
	}
	return nil
}
