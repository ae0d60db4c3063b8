package commit

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// removeDepth is how deep [disk.removeAll] goes with a descriptor open for each
// level. A command may have made a tree that is deeper than there are
// descriptors.
const removeDepth = 64

// removeAll removes name in dir and all below it, following no link and going
// to no other file system. Not atomic; only for a transaction's own directories.
func (d *disk) removeAll(dir int, name string) error {
	err := d.unlink(dir, name)
	if err == nil || err == unix.ENOENT {
		return nil
	}
	if err != unix.EISDIR && err != unix.EPERM {
		return err
	}
	err = d.removeDir(dir, name, &removal{disk: d, top: -1}, 0)
	if err == unix.ENOENT {
		return nil
	}
	return err
}

// removal is one call of removeAll.
type removal struct {
	disk *disk
	top  int // the directory that is removed
	n    int // of names given to what was too deep
}

func (d *disk) removeDir(dir int, name string, r *removal, depth int) error {
	fd, dev, err := d.openToEmpty(dir, name)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if depth == 0 {
		r.top = fd
	}
	for {
		names, err := someNames(fd)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return d.rmdir(dir, name)
		}
		for _, n := range names {
			if err := r.remove(fd, n, dev, depth); err != nil {
				return err
			}
		}
	}
}

func (r *removal) remove(dir int, name string, dev uint64, depth int) error {
	d := r.disk
	err := d.unlink(dir, name)
	if err == nil || err == unix.ENOENT {
		return nil
	}
	if err != unix.EISDIR && err != unix.EPERM {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if uint64(st.Dev) != dev {
		return fmt.Errorf("%s is on another file system: %w", name, unix.EXDEV)
	}
	if depth < removeDepth {
		return d.removeDir(dir, name, r, depth+1)
	}
	fd, _, err := d.openToEmpty(dir, name) // it must be writable to be moved
	if err != nil {
		return err
	}
	unix.Close(fd)
	for {
		r.n++
		if err := d.move(dir, name, r.top, "deep-"+strconv.Itoa(r.n)); err != unix.EEXIST && err != unix.ENOTEMPTY {
			return err
		}
	}
}

// openToEmpty opens a directory and makes sure that its entries can be removed.
func (d *disk) openToEmpty(dir int, name string) (fd int, dev uint64, err error) {
	obj, stamp, err := openObject(dir, name)
	if err != nil {
		return -1, 0, err
	}
	if err == nil && stamp.Kind() != changeset.Dir {
		unix.Close(obj)
		return -1, 0, unix.EPERM // only then was it not unlinked
	}
	if stamp.Perm()&0o700 != 0o700 {
		err = d.chmod(obj, name, 0o700)
	}
	unix.Close(obj)
	if err != nil {
		return -1, 0, err
	}
	d.between("looked at and emptied", dir, name)
	fd, err = unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, 0, err
	}
	now, err := fsroot.StampFD(fd)
	if err == nil && !now.SameObject(stamp) {
		err = moved(name, "it is another directory")
	}
	if err != nil {
		unix.Close(fd)
		return -1, 0, err
	}
	return fd, stamp.Dev, nil
}

// errTooMany says that a directory has more entries than were asked for.
var errTooMany = errors.New("too many entries")

// someNames lists a bounded part of a directory.
func someNames(dir int) ([]string, error) {
	names, err := namesUpTo(dir, 1000)
	if err == errTooMany {
		err = nil
	}
	return names, err
}

// namesUpTo lists the directory dir, in no order. Where it has more than max
// entries that is [errTooMany], together with the first max.
func namesUpTo(dir, max int) ([]string, error) {
	f, err := reopenDir(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(max + 1)
	if err == io.EOF {
		err = nil
	}
	if err == nil && len(names) > max {
		return names[:max], errTooMany
	}
	return names, err
}
