package jail

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Answers of the jail's layers: Landlock EACCES, and EXDEV where a link or
// rename would carry rights along; read-only mounts EROFS; a private root has
// no such file.
const (
	noRead  = "EACCES ENOENT"
	noWrite = "EACCES EROFS ENOENT"
	noMove  = "EACCES EXDEV EROFS ENOENT"
)

func read(path string) error {
	_, err := os.ReadFile(path)
	return err
}

func put(path string) error { return os.WriteFile(path, []byte("changed"), 0o644) }

func open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

var fileProbes = []probe{
	denied(1, "read outside", "reads", noRead, func(w *world) error { return read(w.out("file")) }),
	denied(1, "read by dot-dot", "reads", noRead, func(w *world) error { return read(w.In + "/../out/file") }),
	denied(1, "read password hashes", "reads", noRead, func(*world) error { return read("/etc/shadow") }).
		butHard("only root may read them"),
	denied(2, "list outside", "reads", noRead, func(w *world) error { _, err := os.ReadDir(w.Out); return err }),
	denied(3, "write outside", "writes", noWrite, func(w *world) error { return put(w.out("file")) }),
	denied(3, "write readable", "writes", noWrite, func(w *world) error { return put(w.ro("file")) }),
	denied(3, "append to readable", "writes", noWrite, func(w *world) error { return open(w.ro("file"), unix.O_WRONLY|unix.O_APPEND) }),
	denied(4, "create outside", "writes", noWrite, func(w *world) error { return put(w.out("new")) }),
	denied(4, "create beside readable", "writes", noWrite, func(w *world) error { return put(w.ro("new")) }),
	denied(4, "mkdir outside", "writes", noWrite, func(w *world) error { return os.Mkdir(w.out("new"), 0o755) }),
	denied(4, "symlink outside", "writes", noWrite, func(w *world) error { return unix.Symlink("x", w.out("new")) }),
	denied(4, "fifo outside", "writes", noWrite, func(w *world) error { return unix.Mkfifo(w.out("new"), 0o644) }),
	denied(4, "unnamed file outside", "writes", noWrite, func(w *world) error { return open(w.Out, unix.O_TMPFILE|unix.O_RDWR) }),
	denied(5, "unlink outside", "writes", noWrite, func(w *world) error { return unix.Unlink(w.out("file")) }),
	denied(5, "rmdir outside", "writes", noWrite, func(w *world) error { return unix.Rmdir(w.out("dir")) }),
	denied(6, "truncate outside", "writes", noWrite, func(w *world) error { return unix.Truncate(w.out("file"), 0) }),
	denied(6, "truncate readable", "writes", noWrite, func(w *world) error { return unix.Truncate(w.ro("file"), 0) }),
	denied(7, "open readable truncating", "writes", noWrite, func(w *world) error {
		return open(w.ro("file"), unix.O_RDONLY|unix.O_TRUNC)
	}),
	denied(76, "chmod outside", "metadata", "EROFS EPERM EACCES ENOENT", func(w *world) error {
		return unix.Chmod(w.out("file"), 0o600)
	}).orGap(),
	denied(76, "chown outside", "metadata", "EROFS EPERM EACCES ENOENT", func(w *world) error {
		return unix.Chown(w.out("file"), os.Getuid(), os.Getgid())
	}).orGap(),
	denied(76, "set times outside", "metadata", "EROFS EPERM EACCES ENOENT", func(w *world) error {
		return unix.Utimes(w.ro("file"), []unix.Timeval{{Sec: 1}, {Sec: 1}})
	}).orGap(),
	denied(76, "learn names outside", "names", "ENOENT EACCES", func(w *world) error {
		return unix.Stat(w.out("file"), new(unix.Stat_t))
	}).orGap(),
}

// plant makes a link in the writable directory, which is no attack yet.
func plant(w *world, target string) error {
	if err := unix.Symlink(target, w.in("planted")); err != nil {
		return fmt.Errorf("planting a link: %v", err)
	}
	return nil
}

var linkProbes = []probe{
	denied(8, "rename out to in", "writes", noMove, func(w *world) error { return unix.Rename(w.out("file"), w.in("new")) }),
	denied(9, "rename in to out", "writes", noMove, func(w *world) error { return unix.Rename(w.in("file"), w.out("new")) }),
	denied(9, "link in to out", "writes", noMove, func(w *world) error { return unix.Link(w.in("file"), w.out("new")) }),
	denied(10, "hard link out to in", "writes", noMove, func(w *world) error { return unix.Link(w.out("file"), w.in("new")) }),
	denied(11, "hard link readable to in", "writes", noMove, func(w *world) error { return unix.Link(w.ro("file"), w.in("new")) }),
	denied(12, "link an inherited file", "descriptors", "ENOENT EACCES EXDEV EBADF", func(w *world) error {
		return unix.Linkat(unix.AT_FDCWD, fdPath(inheritedWriteFD), unix.AT_FDCWD, w.in("new"), unix.AT_SYMLINK_FOLLOW)
	}),
	denied(12, "link a readable descriptor", "writes", noMove, func(w *world) error {
		fd, err := unix.Open(w.ro("file"), unix.O_RDONLY, 0)
		if err != nil {
			return fmt.Errorf("opening: %v", err)
		}
		return unix.Linkat(unix.AT_FDCWD, fdPath(fd), unix.AT_FDCWD, w.in("new"), unix.AT_SYMLINK_FOLLOW)
	}),
	denied(13, "exchange in and out", "writes", noMove, func(w *world) error {
		return unix.Renameat2(unix.AT_FDCWD, w.in("file"), unix.AT_FDCWD, w.out("file"), unix.RENAME_EXCHANGE)
	}),
	denied(14, "rename the writable root", "writes", noMove+" EBUSY", func(w *world) error { return unix.Rename(w.In, w.In+"2") }),
	denied(15, "read via planted symlink", "reads", noRead, func(w *world) error {
		return planted(plant(w, w.out("file")), func() error { return read(w.in("planted")) })
	}),
	denied(15, "write via planted symlink", "writes", noWrite, func(w *world) error {
		return planted(plant(w, w.out("file")), func() error { return put(w.in("planted")) })
	}),
	denied(15, "create via planted directory", "writes", noWrite, func(w *world) error {
		return planted(plant(w, w.Out), func() error { return put(w.in("planted/new")) })
	}),
	denied(16, "reopen a path descriptor", "reads", noRead, func(w *world) error {
		fd, err := unix.Open(w.out("file"), unix.O_PATH, 0)
		if err != nil {
			return err
		}
		return read(fdPath(fd))
	}),
	denied(16, "open below a path descriptor", "reads", noRead, func(w *world) error {
		fd, err := unix.Open(w.Out, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		_, err = unix.Openat(fd, "file", unix.O_RDONLY, 0)
		return err
	}),
	denied(17, "upgrade an inherited file", "descriptors", "EACCES ENOENT EBADF", func(*world) error {
		return open(fdPath(inheritedReadFD), unix.O_RDWR)
	}),
	denied(17, "upgrade a readable file", "writes", noWrite, func(w *world) error {
		fd, err := unix.Open(w.ro("file"), unix.O_RDONLY, 0)
		if err != nil {
			return fmt.Errorf("opening: %v", err)
		}
		return open(fdPath(fd), unix.O_RDWR)
	}),
	denied(18, "read by /proc/self/root", "reads", noRead, func(w *world) error { return read("/proc/self/root" + w.out("file")) }),
	denied(30, "write an inherited file", "descriptors", "EBADF", func(*world) error {
		_, err := unix.Write(inheritedWriteFD, []byte("x"))
		return err
	}),
	denied(30, "truncate an inherited file", "descriptors", "EBADF", func(*world) error { return unix.Ftruncate(inheritedWriteFD, 1) }),
	denied(31, "chmod below an inherited dir", "descriptors", "EBADF", func(*world) error {
		return unix.Fchmodat(inheritedDirFD, "file", 0o640, 0)
	}),
	denied(31, "enter an inherited directory", "descriptors", "EBADF", func(*world) error { return unix.Fchdir(inheritedDirFD) }),
}

func fdPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// planted is next once a link was planted.
func planted(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

var modeProbes = []probe{
	denied(23, "character device node", "devices", "EPERM EACCES", func(w *world) error {
		return unix.Mknod(w.in("new"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3)))
	}).butHard("only root makes device nodes"),
	denied(23, "block device node", "devices", "EPERM EACCES", func(w *world) error {
		return unix.Mknod(w.in("new"), unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0)))
	}).butHard("only root makes device nodes"),
	denied(24, "socket node", "unix-sockets", "EPERM EACCES", func(w *world) error {
		return unix.Mknod(w.in("new"), unix.S_IFSOCK|0o600, 0)
	}),
	denied(24, "bind a socket file", "unix-sockets", "EPERM EACCES", func(w *world) error {
		return socketThen(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Bind(fd, &unix.SockaddrUnix{Name: w.in("s")}) })
	}),
	denied(24, "bind one of a socket pair", "unix-sockets", "EPERM EACCES", func(w *world) error {
		return pairThen(unix.SOCK_DGRAM, func(fd int) error { return unix.Bind(fd, &unix.SockaddrUnix{Name: w.in("s")}) })
	}),
	denied(25, "chmod u+s", "set-id", "EPERM", func(w *world) error { return unix.Chmod(w.in("file"), 0o4755) }),
	denied(25, "chmod g+s of a directory", "set-id", "EPERM", func(w *world) error { return unix.Chmod(w.in("dir"), 0o2755) }),
	denied(25, "fchmod u+s", "set-id", "EPERM", func(w *world) error {
		fd, err := unix.Open(w.in("file"), unix.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("opening: %v", err)
		}
		return unix.Fchmod(fd, 0o4755)
	}),
	denied(26, "fchmodat2 u+s", "set-id", "EPERM ENOSYS", func(w *world) error {
		return raw(unix.SYS_FCHMODAT2, cwd, text(w.in("file")), 0o4755, unix.AT_SYMLINK_NOFOLLOW)
	}).butHard("no fchmodat2 before Linux 6.6"),
	denied(27, "create u+s", "set-id", "EPERM", func(w *world) error {
		_, err := unix.Open(w.in("new"), unix.O_CREAT|unix.O_WRONLY, 0o4755)
		return err
	}),
	denied(27, "create u+s by openat2", "set-id", "EPERM ENOSYS", func(w *world) error {
		_, err := unix.Openat2(unix.AT_FDCWD, w.in("new"), &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755})
		return err
	}),
	denied(28, "setxattr", "attributes", "EOPNOTSUPP", func(w *world) error {
		return unix.Setxattr(w.in("file"), "user.steps", []byte("x"), 0)
	}).butHard("this file system has no extended attributes"),
	denied(28, "setxattr outside", "attributes", "EOPNOTSUPP EROFS ENOENT", func(w *world) error {
		return unix.Setxattr(w.out("file"), "user.steps", []byte("x"), 0)
	}).butHard("this file system has no extended attributes"),
	denied(29, "set file flags", "attributes", "ENOTTY EPERM EROFS", func(w *world) error {
		fd, err := unix.Open(w.ro("file"), unix.O_RDONLY, 0)
		if err != nil {
			return fmt.Errorf("opening: %v", err)
		}
		return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, fsNoAtime)
	}).butHard("this file system has no flags"),
}

// fsNoAtime is FS_NOATIME_FL of linux/fs.h.
const fsNoAtime = 0x80
