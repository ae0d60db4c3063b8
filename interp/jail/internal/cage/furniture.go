//go:build linux

package cage

import (
	"errors"

	"golang.org/x/sys/unix"
)

// What every private root has, whatever is granted.

// scratch are directories that the command has for itself, empty and writable.
var scratch = []string{"/tmp", "/dev/shm"}

// scratchSize is what all of them hold together, in bytes and in files.
const scratchSize, scratchFiles = "1g", "262144"

// mountScratch puts a directory of the root's own file system on top of itself,
// so that it can be writable in a root that is not.
func (r *root) mountScratch(path string) (int, error) {
	if err := unix.Fchmodat(r.fd, path[1:], 0o1777, 0); err != nil {
		return -1, err
	}
	dir, _, err := openBelow(r.fd, path)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	fd, err := clone(dir)
	if err != nil {
		return -1, err
	}
	if err := attach(fd, dir, ""); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// mountDevices puts the devices there. They are read-only as files; what is
// written to a device is not stopped by that.
func (r *root) mountDevices() error {
	for _, dev := range devices {
		from, kind, err := Open(dev.path)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return refuse(err, "granting %q", dev.path)
		}
		if kind == unix.S_IFCHR {
			err = r.mount(dev.path, from, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID)
		}
		unix.Close(from)
		if err != nil {
			return noRoot(err, "mounting %q", dev.path)
		}
	}
	return nil
}

// mountProc shows the command's own processes in /proc, where Landlock grants
// nothing: no file in it can be opened. But programs find themselves and their
// pipes by its links, /proc/self/exe and /dev/fd, and these they may follow to
// whatever is granted. A container may forbid it; then it is not there.
func (r *root) mountProc() error {
	fd, err := newFS("proc", readOnly|unix.MOUNT_ATTR_NOEXEC, func(fs int) error {
		return unix.FsconfigSetString(fs, "subset", "pid")
	})
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	if err := attach(fd, r.fd, "proc"); err != nil {
		return noRoot(err, "mounting /proc")
	}
	return nil
}
