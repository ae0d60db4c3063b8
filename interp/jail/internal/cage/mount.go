//go:build linux

package cage

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Mounts are made, joined and changed by descriptor only, so that nothing that
// happens to a name meanwhile can lead them elsewhere. A mount is named by a
// descriptor of its root.

// Attributes of all mounts of the private root, and of those that are to stay
// as they are.
const (
	plain    = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	readOnly = plain | unix.MOUNT_ATTR_RDONLY
)

// newFS makes a file system and a mount of it, which is nowhere yet.
func newFS(kind string, attrs int, configure func(fs int) error) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	if err := configure(fs); err != nil {
		return -1, err
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attrs)
}

// clone makes another mount of what fd names, with all that is mounted below
// it; it is nowhere yet.
func clone(fd int) (int, error) {
	return unix.OpenTree(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
}

// attach puts a mount that is nowhere on top of what a descriptor names, or what
// is at a path from there.
func attach(mount, from int, path string) error {
	return unix.MoveMount(mount, "", from, path, unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// setAll gives a mount and all below it attributes, and keeps what happens to
// other mounts away from them.
func setAll(mount int, attrs uint64) error {
	return unix.MountSetattr(mount, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE,
		&unix.MountAttr{Attr_set: attrs, Propagation: unix.MS_PRIVATE})
}

// writable takes the read-only attribute from one mount.
func writable(mount int) error {
	return unix.MountSetattr(mount, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
}

// exists makes a success of the error that says so.
func exists(err error) error {
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}
