package jail

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/cage"
)

// protectedSize is the largest file whose content is compared and put back.
const protectedSize = 1 << 20

// A guard remembers one protected file or directory.
type guard struct {
	path    string
	reach   bool     // inside a writable path, where more than metadata can change
	parent  *os.File // names its directory
	file    *os.File // names the object itself
	stat    unix.Stat_t
	content []byte // of a regular file that is not too large; otherwise nil
}

// protect remembers the protected paths of p that mounts do not keep: those
// inside writable paths, unless a layer takes what is written there, and
// without namespaces all of them.
//
// Outside the writable paths the command can change mode, owner and times, and
// no more, so nothing else is held against it: a user's own editing meanwhile
// stays. A directory's times change with its use and are not compared.
func protect(p Policy, s Support) ([]*guard, error) {
	var guards []*guard
	for _, path := range p.Protect {
		in := func(dir string) bool { return within(path, dir) }
		reach := slices.ContainsFunc(p.Writes, in)
		layered := slices.ContainsFunc(p.Layers, func(l Layer) bool { return in(l.Dir) })
		if layered || s.Namespaces && !reach {
			continue
		}
		g, err := newGuard(path, reach)
		if err != nil {
			forget(guards)
			return nil, fmt.Errorf("jail: protecting %q: %w", path, err)
		}
		guards = append(guards, g)
	}
	return guards, nil
}

func forget(guards []*guard) {
	for _, g := range guards {
		g.parent.Close()
		g.file.Close()
	}
}

func newGuard(path string, reach bool) (*guard, error) {
	parent, err := openName(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	g := &guard{path: path, reach: reach, parent: parent}
	if g.file, err = openName(path); err != nil {
		parent.Close()
		return nil, err
	}
	if err = unix.Fstat(int(g.file.Fd()), &g.stat); err == nil {
		switch kind := g.stat.Mode & unix.S_IFMT; {
		case kind == unix.S_IFREG && g.stat.Size <= protectedSize:
			g.content, err = g.read()
		case kind != unix.S_IFREG && kind != unix.S_IFDIR:
			err = errors.New("neither a directory nor a regular file")
		}
	}
	if err != nil {
		forget([]*guard{g})
		return nil, err
	}
	return g, nil
}

// openName opens path to name it and no more, through no link.
func openName(path string) (*os.File, error) {
	fd, _, err := cage.Open(path)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// again opens what a descriptor names, whatever its name leads to by now.
func again(file *os.File, flags int) (*os.File, error) {
	return os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(file.Fd())), flags, 0)
}

func (g *guard) read() ([]byte, error) {
	f, err := again(g.file, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, protectedSize+1))
}

// check compares all guarded things with what they were, puts back what
// changed, and says so in a [TamperError].
func check(guards []*guard) error {
	tampered := &TamperError{}
	for _, g := range guards {
		changed, err := g.check()
		if changed || err != nil {
			tampered.Paths = append(tampered.Paths, g.path)
		}
		if err != nil {
			tampered.Left = append(tampered.Left, g.path)
		}
	}
	if len(tampered.Paths) == 0 {
		return nil
	}
	return tampered
}

// check reports whether the thing changed; an error says that it could not be
// put back.
func (g *guard) check() (changed bool, err error) {
	now, err := openName(g.path)
	if err == nil {
		defer now.Close()
		var st unix.Stat_t
		if err = unix.Fstat(int(now.Fd()), &st); err == nil && st.Dev == g.stat.Dev && st.Ino == g.stat.Ino {
			return g.restore(st)
		}
	}
	if !g.reach { // not this command's doing
		return false, nil
	}
	return true, g.replace()
}

// restore puts back what changed of an object that is still in its place.
func (g *guard) restore(now unix.Stat_t) (changed bool, err error) {
	regular := g.stat.Mode&unix.S_IFMT == unix.S_IFREG
	content := false
	if regular && g.content != nil {
		have, err := g.read()
		if err != nil {
			return true, err
		}
		content = !bytes.Equal(have, g.content)
	} else if regular {
		content = now.Size != g.stat.Size || now.Mtim != g.stat.Mtim
	}
	if content && !g.reach { // not this command's doing, and neither are its times
		now.Mtim = g.stat.Mtim
		content = false
	}
	if regular && content {
		if g.content == nil {
			return true, errors.New("too large to be put back")
		}
		f, err := again(g.file, os.O_WRONLY|os.O_TRUNC)
		if err != nil {
			return true, err
		}
		_, err = f.Write(g.content)
		if err = errors.Join(err, f.Close()); err != nil {
			return true, err
		}
	}
	if !content && now.Mode == g.stat.Mode && now.Uid == g.stat.Uid && now.Gid == g.stat.Gid &&
		(!regular || now.Mtim == g.stat.Mtim) {
		return false, nil
	}
	return true, g.attributes(g.file)
}

// replace puts a copy of a file where the file was, if its directory still is
// where it was.
func (g *guard) replace() error {
	if g.content == nil {
		return errors.New("gone from its place and no copy of it was kept")
	}
	dir, err := openName(filepath.Dir(g.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	var was, is unix.Stat_t
	if err := errors.Join(unix.Fstat(int(g.parent.Fd()), &was), unix.Fstat(int(dir.Fd()), &is)); err != nil {
		return err
	}
	if was.Dev != is.Dev || was.Ino != is.Ino {
		return errors.New("its directory was replaced")
	}
	at, name := int(g.parent.Fd()), filepath.Base(g.path)
	temporary := fmt.Sprintf(".%s.%d.restored", name, time.Now().UnixNano())
	fd, err := unix.Openat(at, temporary, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), temporary)
	_, err = f.Write(g.content)
	err = errors.Join(err, g.attributes(f), f.Close())
	if err == nil {
		err = unix.Renameat(at, temporary, at, name)
	}
	if err != nil {
		unix.Unlinkat(at, temporary, 0)
	}
	return err
}

// attributes gives a file the owner, mode and times that it had.
func (g *guard) attributes(file *os.File) error {
	path := "/proc/self/fd/" + strconv.Itoa(int(file.Fd()))
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	if st.Uid != g.stat.Uid || st.Gid != g.stat.Gid {
		if err := unix.Chown(path, int(g.stat.Uid), int(g.stat.Gid)); err != nil {
			return err
		}
	}
	return errors.Join(
		unix.Chmod(path, g.stat.Mode&0o7777),
		unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{g.stat.Atim, g.stat.Mtim}, 0))
}
