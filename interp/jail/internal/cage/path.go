//go:build linux

package cage

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

var (
	errLink = errors.New("passes through a symbolic link; name the place it leads to")
	errKind = errors.New("neither a directory nor a regular file")
)

// Open returns a descriptor that only names the object at path, without
// following any link on the way. The file type is that of the object.
func Open(path string) (fd int, kind uint32, err error) {
	return openBelow(unix.AT_FDCWD, path)
}

// openBelow is Open with the directory root as the root, unless that is
// AT_FDCWD.
func openBelow(root int, path string) (fd int, kind uint32, err error) {
	if root != unix.AT_FDCWD {
		if path = strings.TrimPrefix(path, "/"); path == "" {
			path = "."
		}
	}
	fd, err = unix.Openat2(root, path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err == unix.ENOSYS { // the filter of a jail around this one
		fd, err = walk(root, path)
	}
	if err == unix.ELOOP {
		err = errLink
	}
	if err != nil {
		return -1, 0, err
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if kind = st.Mode & unix.S_IFMT; err == nil && kind == unix.S_IFLNK {
		err = errLink
	}
	if err != nil {
		unix.Close(fd)
		return -1, 0, err
	}
	return fd, kind, nil
}

// walk does by single steps what openat2 does at once.
func walk(root int, path string) (fd int, err error) {
	start := "."
	if strings.HasPrefix(path, "/") {
		start = "/"
	}
	fd, err = unix.Openat(root, start, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if name == "" || name == "." {
			continue
		}
		next, err := unix.Openat(fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == unix.ENOTDIR {
			// Also the answer for a link on the way.
			var st unix.Stat_t
			if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
				err = unix.ELOOP
			}
		}
		unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

// A set of clean absolute paths.
type set map[string]bool

// covers reports whether path, or something above it, is in the set.
func (s set) covers(path string) bool {
	for !s[path] {
		if path == "/" {
			return false
		}
		path = path[:max(1, strings.LastIndexByte(path, '/'))]
	}
	return true
}
