package crash

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"steps.example/interp/commit"
)

// disk is what a power failure may leave of the calls that it was shown: it keeps
// enough of each to take it back. The calls are made for real; what goes away goes
// to a graveyard on the same file system, so that it can come back as the object
// that it was.
//
// On each file system the changes of names and attributes are lost from some point
// on and kept before it. That point is not before the last sync there, whether of
// the whole file system or of a file. The content of a file is lost in whole or in
// part, or kept, unless it was synced.
type disk struct {
	graves map[uint64]int // device → its graveyard
	buried int
	ops    []done
	dirty  map[object]*content
	// pending is a call that is being made.
	pending *done
}

// object is a file, by device and inode.
type object struct{ dev, ino uint64 }

// done is a change of names or attributes that is not durable.
type done struct {
	dev  uint64
	what string
	undo func() error
	fds  []int
}

// content is a file with content that is not durable.
type content struct {
	fd   int
	name string
	// durable is what was there at the last sync.
	durable []byte
	// grown are the writes since that made it longer.
	grown []growth
}

// growth is that a file became longer. That is a change of its attributes, in order
// with the others: it is not there where a name is not that was changed before.
type growth struct {
	names int // that were changed before and are not durable
	size  int64
}

// newDisk is for file systems with a directory for its own use on each.
func newDisk(dirs []string) (*disk, error) {
	d := &disk{graves: map[uint64]int{}, dirty: map[object]*content{}}
	for _, dir := range dirs {
		var st unix.Stat_t
		grave := filepath.Join(dir, "graveyard")
		err := os.Mkdir(grave, 0o700)
		if err == nil {
			err = unix.Stat(grave, &st)
		}
		if err != nil {
			return nil, errors.Join(err, d.close())
		}
		if _, known := d.graves[st.Dev]; known {
			continue
		}
		if d.graves[st.Dev], err = unix.Open(grave, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return nil, errors.Join(err, d.close())
		}
	}
	return d, nil
}

func (d *disk) close() error {
	err := d.forget(func(uint64) bool { return true })
	for _, fd := range d.graves {
		err = errors.Join(err, unix.Close(fd))
	}
	d.graves = nil
	return err
}

// before prepares for a call, and after notes that it was made. Instead means that
// before made it itself, so that there is no after.
func (d *disk) before(c commit.Call) (instead bool, err error) {
	if d.pending != nil { // its call failed
		err = d.pending.close()
		d.pending = nil
	}
	dev, err2 := d.device(c)
	if err = errors.Join(err, err2); err != nil {
		return false, err
	}
	o := &done{dev: dev, what: c.Op + " " + c.Name}
	switch c.Op {
	case "mkdir", "create", "symlink":
		dir, err := o.hold(c.Dir)
		o.undo = func() error { return d.bury(dev, dir, c.Entry) }
		d.pending = o
		return false, err
	case "unlink", "rmdir":
		return d.remove(o, c)
	case "move", "exchange":
		from, err := o.hold(c.Dir)
		to, err2 := o.hold(c.To)
		flag := uint(unix.RENAME_NOREPLACE)
		if c.Op == "exchange" {
			flag = unix.RENAME_EXCHANGE
		}
		o.undo = func() error { return unix.Renameat2(to, c.NewEntry, from, c.Entry, flag) }
		d.pending = o
		return false, errors.Join(err, err2)
	case "chmod", "chown", "chtime":
		return false, d.attribute(o, c)
	case "write", "truncate", "clone", "copy":
		return false, d.write(dev, c)
	case "setxattr", "removexattr": // of the store's own directories; they mean nothing
		return false, nil
	case "fsync", "sync":
		return true, d.sync(dev, c)
	}
	return false, fmt.Errorf("BUG(steps): a call %s is not known", c.Op)
}

func (d *disk) after() {
	if d.pending != nil {
		d.ops = append(d.ops, *d.pending)
		d.pending = nil
	}
}

func (d *disk) device(c commit.Call) (uint64, error) {
	fd := c.FD
	if fd < 0 {
		fd = c.Dir
	}
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return st.Dev, err
}

// hold keeps a descriptor for as long as the operation may be taken back.
func (o *done) hold(fd int) (int, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		o.fds = append(o.fds, dup)
	}
	return dup, err
}

func (d *disk) grave() string {
	d.buried++
	return strconv.Itoa(d.buried)
}

// bury moves something out of the way.
func (d *disk) bury(dev uint64, dir int, name string) error {
	grave, ok := d.graves[dev]
	if !ok {
		return fmt.Errorf("%s is on a file system without a graveyard", name)
	}
	return unix.Renameat2(dir, name, grave, d.grave(), unix.RENAME_NOREPLACE)
}

// remove buries what the call is to remove, in its place. A call that will fail is
// left to fail.
func (d *disk) remove(o *done, c commit.Call) (instead bool, err error) {
	var st unix.Stat_t
	err = unix.Fstatat(c.Dir, c.Entry, &st, unix.AT_SYMLINK_NOFOLLOW)
	isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	if err != nil || isDir != (c.Op == "rmdir") {
		return false, nil
	}
	if isDir {
		if empty, err := isEmpty(c.Dir, c.Entry); err != nil || !empty {
			return false, nil
		}
	}
	dir, err := o.hold(c.Dir)
	if err != nil {
		return false, err
	}
	grave, name := d.graves[o.dev], d.grave()
	if err := unix.Renameat2(dir, c.Entry, grave, name, unix.RENAME_NOREPLACE); err != nil {
		return false, errors.Join(err, o.close())
	}
	o.undo = func() error { return unix.Renameat2(grave, name, dir, c.Entry, unix.RENAME_NOREPLACE) }
	d.ops = append(d.ops, *o)
	return true, nil
}

func isEmpty(dir int, name string) (bool, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	return len(names) == 0, err
}

func (d *disk) attribute(o *done, c commit.Call) error {
	fd, err := o.hold(c.FD)
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	o.undo = func() error {
		link := st.Mode&unix.S_IFMT == unix.S_IFLNK
		switch c.Op {
		case "chtime":
			return setTime(fd, st.Mtim)
		case "chown":
			if err := unix.Fchownat(fd, "", int(st.Uid), int(st.Gid), unix.AT_EMPTY_PATH); err != nil || link {
				return err
			}
		}
		return unix.Fchmodat(unix.AT_FDCWD, procFD(fd), st.Mode&0o7777, 0)
	}
	d.pending = o
	return err
}

func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func setTime(fd int, mtime unix.Timespec) error {
	return unix.UtimesNanoAt(fd, "", []unix.Timespec{{Nsec: unix.UTIME_OMIT}, mtime}, unix.AT_EMPTY_PATH)
}

// write keeps the durable content of a file that is written to.
func (d *disk) write(dev uint64, c commit.Call) error {
	var st unix.Stat_t
	if err := unix.Fstat(c.FD, &st); err != nil {
		return err
	}
	id := object{dev, st.Ino}
	f := d.dirty[id]
	if f == nil {
		f = &content{name: c.Name, durable: make([]byte, st.Size)}
		if _, err := unix.Pread(c.FD, f.durable, 0); err != nil {
			return err
		}
		var err error
		if f.fd, err = unix.FcntlInt(uintptr(c.FD), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			return err
		}
		d.dirty[id] = f
	}
	end := c.Offset + c.Length
	if c.Offset < 0 {
		at, err := unix.Seek(c.FD, 0, unix.SEEK_CUR)
		if err != nil {
			return err
		}
		end = at + c.Length
	}
	f.grown = append(f.grown, growth{d.names(dev), end})
	return nil
}

// names counts the changes on a file system that are not durable.
func (d *disk) names(dev uint64) int {
	n := 0
	for i := range d.ops {
		if d.ops[i].dev == dev {
			n++
		}
	}
	return n
}

// sync makes what was done on a file system durable: the names and attributes of
// all of it, and the content of one file or all of them.
func (d *disk) sync(dev uint64, c commit.Call) error {
	if err := d.settleNames(dev); err != nil {
		return err
	}
	if c.Op == "sync" {
		return d.settleContents(func(id object) bool { return id.dev == dev })
	}
	var st unix.Stat_t
	if err := unix.Fstat(c.FD, &st); err != nil {
		return err
	}
	return d.settleContents(func(id object) bool { return id == object{dev, st.Ino} })
}

func (d *disk) settleNames(dev uint64) error {
	var err error
	rest := d.ops[:0]
	for _, o := range d.ops {
		if o.dev != dev {
			rest = append(rest, o)
			continue
		}
		err = errors.Join(err, o.close())
	}
	d.ops = rest
	for id, f := range d.dirty {
		for i := range f.grown {
			if id.dev == dev {
				f.grown[i].names = 0
			}
		}
	}
	return err
}

func (o *done) close() error {
	var err error
	for _, fd := range o.fds {
		err = errors.Join(err, unix.Close(fd))
	}
	return err
}

func (d *disk) settleContents(which func(object) bool) error {
	var err error
	for id, f := range d.dirty {
		if which(id) {
			err = errors.Join(err, unix.Close(f.fd))
			delete(d.dirty, id)
		}
	}
	return err
}

// forget makes what is there now durable.
func (d *disk) forget(which func(dev uint64) bool) error {
	var err error
	for dev := range d.graves {
		if which(dev) {
			err = errors.Join(err, d.settleNames(dev), d.settleContents(func(id object) bool { return id.dev == dev }))
		}
	}
	return err
}
