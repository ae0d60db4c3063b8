package commit

import (
	"strconv"

	"golang.org/x/sys/unix"
)

const objectFlags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC

// fsyncEach says that files must be made durable one by one before a sync
// covers them. Here syncfs(2) does it all.
const fsyncEach = false

func renameExcl(from int, name string, to int, newName string) error {
	return unix.Renameat2(from, name, to, newName, unix.RENAME_NOREPLACE)
}

func renameSwap(dir int, name string, dir2 int, name2 string) error {
	return unix.Renameat2(dir, name, dir2, name2, unix.RENAME_EXCHANGE)
}

// procFD names an O_PATH descriptor for calls that take no such descriptor on
// older kernels. The kernel resolves it to the object, not through its name.
func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func chmodObject(obj int, mode uint32) error {
	// fchmodat2(2) is there since 6.6.
	err := unix.Fchmodat(obj, "", mode, unix.AT_EMPTY_PATH)
	if err == nil || err == unix.EPERM || err == unix.EROFS {
		return err
	}
	return unix.Fchmodat(unix.AT_FDCWD, procFD(obj), mode, 0)
}

func chownObject(obj, uid, gid int) error {
	return unix.Fchownat(obj, "", uid, gid, unix.AT_EMPTY_PATH)
}

func chtimeObject(obj, _ int, _ string, mtime int64) error {
	ts := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(mtime)}
	err := unix.UtimesNanoAt(obj, "", ts, unix.AT_EMPTY_PATH)
	if err == unix.EINVAL || err == unix.ENOENT {
		// utimensat(2) takes AT_EMPTY_PATH since 5.8.
		err = unix.UtimesNanoAt(unix.AT_FDCWD, procFD(obj), ts, 0)
	}
	return err
}

func fsyncFile(fd int) error { return unix.Fsync(fd) }

func syncFS(fd int) error { return unix.Syncfs(fd) }

// clone makes the empty file dst share the blocks of src. Atomic; an error
// where the file system cannot.
func clone(dst, src int) error { return unix.IoctlFileClone(dst, src) }

// copyRange copies up to n bytes from and to an offset inside the kernel.
func copyRange(dst, src int, at int64, n int) (int, error) {
	to := at
	return unix.CopyFileRange(src, &at, dst, &to, n, 0)
}

// mountOf identifies the mount that the directory fd is on: renames work only
// within one. Two bind mounts of one file system have one device.
func mountOf(fd int) (mount, error) {
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st)
	if err != nil {
		return mount{}, err
	}
	return mount{dev: unix.Mkdev(st.Dev_major, st.Dev_minor), id: st.Mnt_id}, nil
}
