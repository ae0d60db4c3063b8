package commit

import (
	"errors"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// disk is every operation that changes a file system. All take an open
// directory and a name in it, or an open file; none follows a link in the last
// component. "Durable" below means: survives a power failure; without mention,
// an operation is durable after the next [disk.sync] of its file system.
type disk struct {
	// hook is nil but under a test; see [Store.Intercept].
	hook func(Call) error
	// window is nil but under a test, which may change what is at a name between two
	// looks at it; see [disk.between].
	window func(between string, dir int, name string)
	// noFlags makes every file system one without rename flags, for tests.
	noFlags bool
	// noSync leaves out all syncs, for tests that crash thousands of times.
	noSync bool
}

func (d *disk) do(c Call, f func() error) error {
	if d.hook != nil {
		if err := d.hook(c); err == ErrInstead {
			return nil
		} else if err != nil {
			return err
		}
	}
	err := f()
	for err == unix.EINTR {
		err = f()
	}
	if err == nil && d.hook != nil {
		c.After = true
		_ = d.hook(c)
	}
	return err
}

// between is called where something was looked at and will be looked at once more,
// opened or read, so that a test can show that what others do meanwhile is noticed.
// What names the place.
func (d *disk) between(what string, dir int, name string) {
	if d.window != nil {
		d.window(what, dir, name)
	}
}

// mkdir makes an empty directory with mode less the umask. Atomic; fails with
// EEXIST if anything is there.
func (d *disk) mkdir(dir int, name string, mode uint32) error {
	return d.do(at("mkdir", dir, name), func() error { return unix.Mkdirat(dir, name, mode) })
}

// create makes an empty regular file with mode less the umask and opens it for
// writing. Atomic; fails with EEXIST if anything is there, a dangling link too.
func (d *disk) create(dir int, name string, mode uint32) (fd int, err error) {
	err = d.do(at("create", dir, name), func() (err error) {
		fd, err = unix.Openat(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		return err
	})
	return fd, err
}

// write appends all of data at the file's offset. Not atomic: a crash may leave
// any prefix, and a power failure anything.
func (d *disk) write(fd int, name string, data []byte) error {
	for len(data) > 0 {
		var n int
		err := d.do(Call{Op: "write", Name: name, FD: fd, Dir: -1, Offset: -1, Length: int64(len(data)), Data: data}, func() (err error) { n, err = unix.Write(fd, data); return err })
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// writeAt writes all of data at an offset. Not atomic.
func (d *disk) writeAt(fd int, name string, data []byte, offset int64) error {
	for len(data) > 0 {
		var n int
		err := d.do(Call{Op: "write", Name: name, FD: fd, Dir: -1, Offset: offset, Length: int64(len(data)), Data: data}, func() (err error) { n, err = unix.Pwrite(fd, data, offset); return err })
		if err != nil {
			return err
		}
		data, offset = data[n:], offset+int64(n)
	}
	return nil
}

// truncate cuts an open file to size, or extends it by a hole. Atomic.
func (d *disk) truncate(fd int, name string, size int64) error {
	return d.do(Call{Op: "truncate", Name: name, FD: fd, Dir: -1, Length: size}, func() error { return unix.Ftruncate(fd, size) })
}

// symlink makes a symbolic link. Atomic; fails with EEXIST if anything is there.
func (d *disk) symlink(target string, dir int, name string) error {
	return d.do(at("symlink", dir, name), func() error { return unix.Symlinkat(target, dir, name) })
}

// move renames an object to a place where nothing is. Atomic: the object is
// always at exactly one of the two places. Fails with EEXIST if anything is at
// the new one; on a file system without RENAME_NOREPLACE that is looked at
// first, and who creates something in between loses it.
func (d *disk) move(from int, name string, to int, newName string) error {
	return d.do(Call{Op: "move", Name: newName, FD: -1, Dir: from, Entry: name, To: to, NewEntry: newName}, func() error {
		err := error(unix.EINVAL)
		if !d.noFlags {
			err = renameExcl(from, name, to, newName)
		}
		if !flagUnsupported(err) {
			return err
		}
		var st unix.Stat_t
		err = unix.Fstatat(to, newName, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == nil {
			return unix.EEXIST
		}
		if err != unix.ENOENT {
			return err
		}
		return unix.Renameat(from, name, to, newName)
	})
}

// exchange makes two objects change places. Atomic: at both places there is
// always one of the two. There is no fallback; see [disk.canExchange].
func (d *disk) exchange(dir int, name string, dir2 int, name2 string) error {
	return d.do(Call{Op: "exchange", Name: name2, FD: -1, Dir: dir, Entry: name, To: dir2, NewEntry: name2}, func() error { return renameSwap(dir, name, dir2, name2) })
}

// canExchange tells by trying whether the file system of dir, a private
// directory, can do it.
func (d *disk) canExchange(dir int) (bool, error) {
	if d.noFlags {
		return false, nil
	}
	const a, b = "probe-a", "probe-b"
	for _, name := range []string{a, b} {
		if err := d.mkdir(dir, name, 0o700); err != nil && err != unix.EEXIST {
			return false, err
		}
	}
	err := d.exchange(dir, a, dir, b)
	if flagUnsupported(err) {
		return false, errors.Join(d.rmdir(dir, a), d.rmdir(dir, b))
	}
	if err == nil {
		err = d.rmdir(dir, a)
	}
	if err == nil {
		err = d.rmdir(dir, b)
	}
	return err == nil, err
}

func flagUnsupported(err error) bool {
	return err == unix.EINVAL || err == unix.ENOSYS || err == unix.ENOTSUP
}

// unlink removes a name that is no directory. Atomic. Only ever called inside a
// transaction's own directories.
func (d *disk) unlink(dir int, name string) error {
	return d.do(at("unlink", dir, name), func() error { return unix.Unlinkat(dir, name, 0) })
}

// rmdir removes an empty directory. Atomic.
func (d *disk) rmdir(dir int, name string) error {
	return d.do(at("rmdir", dir, name), func() error { return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR) })
}

// chmod sets the mode of the object obj is open on (see [openObject]). Atomic.
func (d *disk) chmod(obj int, name string, mode uint32) error {
	return d.do(on("chmod", obj, name), func() error { return chmodObject(obj, mode) })
}

// chown sets owner and group, -1 for as it is. Atomic. The kernel may clear
// set-id bits, so chmod comes after.
func (d *disk) chown(obj int, name string, uid, gid int) error {
	return d.do(on("chown", obj, name), func() error { return chownObject(obj, uid, gid) })
}

// chtime sets the modification time of the object, which is name in dir, and
// leaves the access time. Atomic.
func (d *disk) chtime(obj, dir int, name string, mtime int64) error {
	return d.do(on("chtime", obj, name), func() error { return chtimeObject(obj, dir, name, mtime) })
}

// fsync makes one open file durable.
func (d *disk) fsync(fd int, name string) error {
	return d.do(on("fsync", fd, name), func() error { return fsyncFile(fd) })
}

// sync makes everything so far on the file system that the directory fd is open
// on durable, whoever wrote it. It takes as long as the dirty data there takes.
func (d *disk) sync(fd int, name string) error {
	return d.do(on("sync", fd, name), func() error { return syncFS(fd) })
}

// openObject opens name in dir, whatever it is, without following a link and
// without side effects, for the attribute calls above, and stamps it. name "."
// is dir itself.
func openObject(dir int, name string) (int, changeset.Stamp, error) {
	fd, err := unix.Openat(dir, name, objectFlags, 0)
	for err == unix.EINTR {
		fd, err = unix.Openat(dir, name, objectFlags, 0)
	}
	if err != nil {
		return -1, changeset.Stamp{}, err
	}
	stamp, err := fsroot.StampFD(fd)
	if err != nil {
		unix.Close(fd)
		return -1, stamp, err
	}
	return fd, stamp, nil
}
