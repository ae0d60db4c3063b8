//go:build linux

package cage

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

var errLink = errors.New("passes through a symbolic link; name the place it leads to")

// open returns a descriptor that only names the object at path, walking from
// the root without following any link. The file type is that of the object.
func open(path string) (fd int, kind uint32, err error) {
	fd, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, 0, err
	}
	var st unix.Stat_t
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if name == "" { // the root itself
			break
		}
		next, err := unix.Openat(fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		unix.Close(fd)
		if err != nil {
			return -1, 0, err
		}
		fd = next
		if err := unix.Fstat(fd, &st); err != nil {
			unix.Close(fd)
			return -1, 0, err
		}
		if st.Mode&unix.S_IFMT == unix.S_IFLNK {
			unix.Close(fd)
			return -1, 0, errLink
		}
	}
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, 0, err
	}
	return fd, st.Mode & unix.S_IFMT, nil
}
