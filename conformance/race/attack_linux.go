package race

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// An attacker changes a tree behind the back of who works on it, as a process of
// the same user can. It never passes a link itself. What it takes away it puts
// aside, so that nothing is lost by what it does.
type attacker struct {
	root   int             // the tree
	aside  int             // a directory on the same file system
	mirror string          // has at each path what the tree had there, and is outside
	apart  int             // likewise, open, for hard links
	n      int             // of tokens
	own    map[uint64]bool // the files of apart, by inode
	// made, if set, is told of every object that the attacker makes or writes to.
	made func(dir int, name string)
}

// An attack is one change to what is at a path of the tree. It fails where it does
// not fit what is there. What it returns takes it back, as far as that is possible
// by then.
type attack struct {
	name string
	do   func(a *attacker, p place) (back func(), err error)
}

// attacks are all that an attacker does to a path.
var attacks = []attack{
	{"link in its place", (*attacker).link},
	{"exchanged with a link", (*attacker).exchange},
	{hardLinked, (*attacker).hardLink},
	{"another in its place", (*attacker).twin},
	{writtenTo, (*attacker).write},
	{"entry added", (*attacker).add},
	{"moved away", (*attacker).away},
	{"file planted", (*attacker).plantFile},
	{"link planted", (*attacker).plantLink},
	{"directory planted", (*attacker).plantDir},
}

const hardLinked, writtenTo = "hard link in its place", "written to"

var errUnfit = errors.New("the attack does not fit what is there")

// theirs begins everything that an attacker writes.
const theirs = "theirs-"

// place is an entry of an open directory.
type place struct {
	rel  string // below the root
	dir  int
	name string
}

// strike does the attack at a path below the root.
func (a *attacker) strike(do attack, rel string) (back func(), err error) {
	p := place{rel: rel, name: filepath.Base(rel)}
	p.dir, err = unix.Openat2(a.root, filepath.Dir(rel), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return nil, err
	}
	undo, err := do.do(a, p)
	if err != nil {
		unix.Close(p.dir)
		return nil, err
	}
	return func() {
		undo()
		unix.Close(p.dir)
	}, nil
}

func (a *attacker) token() string {
	a.n++
	return fmt.Sprintf("%s%d", theirs, a.n)
}

func (a *attacker) makes(dir int, name string) {
	if a.made != nil {
		a.made(dir, name)
	}
}

func (p place) mode() (uint32, unix.Stat_t) {
	var st unix.Stat_t
	if unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return 0, st
	}
	return st.Mode & unix.S_IFMT, st
}

func (p place) is(kind uint32) bool { mode, _ := p.mode(); return mode == kind }

// takeAside moves what is there out of the way.
func (a *attacker) takeAside(p place) (string, error) {
	kept := a.token()
	return kept, unix.Renameat2(p.dir, p.name, a.aside, kept, unix.RENAME_NOREPLACE)
}

// putBack moves it to where it was, in the place of what the attacker put there.
func (a *attacker) putBack(p place, kept string) {
	if unix.Renameat2(a.aside, kept, p.dir, p.name, unix.RENAME_EXCHANGE) != nil {
		_ = unix.Renameat2(a.aside, kept, p.dir, p.name, unix.RENAME_NOREPLACE)
	}
}

// replace is an attack that moves what is there aside and then makes something.
func (a *attacker) replace(p place, makeIt func(kept string) error) (func(), error) {
	kept, err := a.takeAside(p)
	if err != nil {
		return nil, err
	}
	if err := makeIt(kept); err != nil {
		a.putBack(p, kept)
		return nil, err
	}
	a.makes(p.dir, p.name)
	return func() { a.putBack(p, kept) }, nil
}

func (a *attacker) link(p place) (func(), error) {
	return a.replace(p, func(string) error { return unix.Symlinkat(filepath.Join(a.mirror, p.rel), p.dir, p.name) })
}

// exchange is link without a moment in which nothing is there.
func (a *attacker) exchange(p place) (func(), error) {
	kept := a.token()
	if err := unix.Symlinkat(filepath.Join(a.mirror, p.rel), a.aside, kept); err != nil {
		return nil, err
	}
	if err := unix.Renameat2(a.aside, kept, p.dir, p.name, unix.RENAME_EXCHANGE); err != nil {
		return nil, errors.Join(err, unix.Unlinkat(a.aside, kept, 0))
	}
	a.makes(p.dir, p.name)
	return func() { a.putBack(p, kept) }, nil
}

func (a *attacker) hardLink(p place) (func(), error) {
	if !p.is(unix.S_IFREG) {
		return nil, errUnfit
	}
	return a.replace(p, func(string) error { return unix.Linkat(a.apart, p.rel, p.dir, p.name, 0) })
}

// twin puts another object of the same kind, size, mode and time in the place.
func (a *attacker) twin(p place) (func(), error) {
	kind, st := p.mode()
	return a.replace(p, func(kept string) error {
		switch kind {
		case unix.S_IFDIR:
			return unix.Mkdirat(p.dir, p.name, st.Mode&0o777)
		case unix.S_IFLNK:
			buf := make([]byte, unix.PathMax)
			n, err := unix.Readlinkat(a.aside, kept, buf)
			if err != nil {
				return err
			}
			return unix.Symlinkat(string(buf[:n]), p.dir, p.name)
		case unix.S_IFREG:
			if err := p.create(foreign(a.token(), st.Size), st.Mode&0o777); err != nil {
				return err
			}
			times := []unix.Timespec{st.Atim, st.Mtim}
			return unix.UtimesNanoAt(p.dir, p.name, times, unix.AT_SYMLINK_NOFOLLOW)
		}
		return errUnfit
	})
}

// foreign is an attacker's content of a given size, longer if it must be.
func foreign(token string, size int64) []byte {
	out := []byte(token)
	for int64(len(out)) < size {
		out = append(out, '.')
	}
	return out
}

// create makes a file where nothing is.
func (p place) create(content []byte, mode uint32) error {
	fd, err := unix.Openat(p.dir, p.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, content)
	return errors.Join(err, unix.Close(fd))
}

func (a *attacker) write(p place) (func(), error) {
	if !p.is(unix.S_IFREG) {
		return nil, errUnfit
	}
	fd, err := unix.Openat(p.dir, p.name, unix.O_WRONLY|unix.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	// Not to what is apart, wherever that was moved by now: others would be blamed.
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || a.isOwn(st.Ino) {
		return nil, errUnfit
	}
	if _, err := unix.Write(fd, []byte(a.token())); err != nil {
		return nil, err
	}
	a.makes(p.dir, p.name)
	return func() {}, nil
}

func (a *attacker) isOwn(ino uint64) bool {
	if a.own == nil {
		a.own = map[uint64]bool{}
		_ = filepath.WalkDir(fmt.Sprintf("/proc/self/fd/%d/.", a.apart), func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if info, err := d.Info(); err == nil {
				a.own[info.Sys().(*syscall.Stat_t).Ino] = true
			}
			return nil
		})
	}
	return a.own[ino]
}

// add puts something into a directory.
func (a *attacker) add(p place) (func(), error) {
	if !p.is(unix.S_IFDIR) {
		return nil, errUnfit
	}
	dir, err := unix.Openat(p.dir, p.name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	in := place{dir: dir, name: a.token()}
	if err := in.create([]byte(in.name), 0o644); err != nil {
		unix.Close(dir)
		return nil, err
	}
	a.makes(in.dir, in.name)
	return func() {
		_, _ = a.takeAside(in)
		unix.Close(dir)
	}, nil
}

func (a *attacker) away(p place) (func(), error) {
	kept, err := a.takeAside(p)
	if err != nil {
		return nil, err
	}
	return func() { _ = unix.Renameat2(a.aside, kept, p.dir, p.name, unix.RENAME_NOREPLACE) }, nil
}

func (a *attacker) plant(p place, err error) (func(), error) {
	if err != nil {
		return nil, err
	}
	a.makes(p.dir, p.name)
	return func() { _, _ = a.takeAside(p) }, nil
}

func (a *attacker) plantFile(p place) (func(), error) {
	return a.plant(p, p.create([]byte(a.token()), 0o644))
}

// plantLink leads to where something would be made outside.
func (a *attacker) plantLink(p place) (func(), error) {
	return a.plant(p, unix.Symlinkat(filepath.Join(a.mirror, p.rel), p.dir, p.name))
}

func (a *attacker) plantDir(p place) (func(), error) {
	return a.plant(p, unix.Mkdirat(p.dir, p.name, 0o755))
}
