package fsroot

import (
	"errors"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

var (
	errNotRegular = errors.New("not a regular file")
	errTooLarge   = errors.New("file is too large to be read into memory")
)

// StampOf is a stat result as a stamp.
func StampOf(st *unix.Stat_t) changeset.Stamp { return stampOf(st) }

// StampFD stamps the object that fd is open on.
func StampFD(fd int) (changeset.Stamp, error) {
	var st unix.Stat_t
	if err := ignoringEINTR(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return changeset.Stamp{}, err
	}
	return stampOf(&st), nil
}

func ignoringEINTR(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}
