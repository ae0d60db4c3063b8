package commit

import (
	"golang.org/x/sys/unix"

	"steps.example/interp/internal/fsroot"
)

const objectFlags = unix.O_RDONLY | unix.O_SYMLINK | unix.O_NONBLOCK | unix.O_CLOEXEC

// fsyncEach: there is no syncfs, and sync(2) does not wait.
const fsyncEach = true

func renameExcl(from int, name string, to int, newName string) error {
	return unix.RenameatxNp(from, name, to, newName, unix.RENAME_EXCL)
}

func renameSwap(dir int, name string, dir2 int, name2 string) error {
	return unix.RenameatxNp(dir, name, dir2, name2, unix.RENAME_SWAP)
}

func chmodObject(obj int, mode uint32) error { return unix.Fchmod(obj, mode) }

func chownObject(obj, uid, gid int) error { return unix.Fchown(obj, uid, gid) }

func chtimeObject(_, dir int, name string, mtime int64) error {
	// setattrlist has no "leave the access time"; it is set to the same.
	ts := unix.NsecToTimespec(mtime)
	return unix.UtimesNanoAt(dir, name, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
}

// fsyncFile hands the file to the drive; the drive's own cache is flushed by
// the F_FULLFSYNC in syncFS, once.
func fsyncFile(fd int) error { return unix.Fsync(fd) }

// syncFS flushes the directory fd, with it the file system's log of renames
// before it, and the drive's cache.
func syncFS(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0)
	if err == unix.ENOTSUP || err == unix.EINVAL {
		return unix.Fsync(fd)
	}
	return err
}

// clone has no form on macOS that fills an open file.
func clone(int, int) error { return unix.ENOTSUP }

func copyRange(int, int, int64, int) (int, error) { return 0, unix.ENOTSUP }

func mountOf(fd int) (mount, error) {
	st, err := fsroot.StampFD(fd)
	return mount{dev: st.Dev}, err
}
