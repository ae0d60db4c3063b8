package commit

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// committed reports whether the transaction is one to complete, not to take back.
func (w *work) committed() (bool, error) {
	if w.state != stateCommitted {
		return false, nil
	}
	return w.sealed()
}

// sealed reports whether the files of a committed transaction are what they were
// when the commit record was written. They and the record become durable with one
// sync, in no order: where the power failed meanwhile, the record may be there and
// one of them not. Then nobody was told of the commit.
func (w *work) sealed() (bool, error) {
	if w.seal == "" {
		return true, nil
	}
	data, ok, err := w.holds(receiptName, w.seal, maxReceipt)
	if err != nil || !ok {
		return false, err
	}
	r, err := decodeReceipt(data)
	if err != nil {
		return false, err
	}
	if r.Stored != "" {
		if _, ok, err := w.holds(documentName, r.Stored, MaxDocument); err != nil || !ok {
			return false, err
		}
	}
	for _, b := range r.Bases {
		if !b.Held {
			continue
		}
		if _, ok, err := w.holds(basePrefix+b.SHA256, b.SHA256, MaxBase); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// holds reads a file of the transaction and reports whether it has that content.
func (w *work) holds(name, sum string, max int64) ([]byte, bool, error) {
	data, err := readPrivate(w.dir, name, max)
	if errors.Is(err, unix.ENOENT) {
		return nil, false, nil
	}
	return data, err == nil && hashHex(data) == sum, err
}

// readPrivate reads a file of the store, which must be a regular one of at most max
// bytes, and ours alone.
func readPrivate(dir int, name string, max int64) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	size, err := checkPrivate(fd, max)
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	_, err = io.ReadFull(f, data)
	return data, err
}

// exposedError says who else could have written a file.
type exposedError struct{ error }

// checkPrivate makes sure that an open file of the store is what only we can have
// written, and not larger than max.
func checkPrivate(fd int, max int64) (size int64, err error) {
	st, err := fsroot.StampFD(fd)
	switch {
	case err != nil:
		return 0, err
	case st.Kind() != changeset.File:
		return 0, errors.New("is not a regular file")
	case int(st.UID) != os.Geteuid():
		return 0, exposedError{fmt.Errorf("is owned by uid %d, not by you (uid %d)", st.UID, os.Geteuid())}
	case st.Perm()&0o077 != 0:
		return 0, exposedError{fmt.Errorf("has mode %04o, others may use it; chmod it to 0600 if you trust what is in it", st.Perm())}
	case st.Size > max:
		return 0, fmt.Errorf("has %d bytes: at most %d", st.Size, max)
	}
	return st.Size, nil
}
