package race

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"steps.example/conformance"
	"steps.example/conformance/scene"
)

// secret is in every file that links lead to. It may turn up nowhere else.
const secret = "c81f0e77-not-for-you"

// outside is what links lead to, and what files are hard-linked from. Nobody has
// business there: whoever opens, reads or changes something in the mirror is seen.
// Of what is apart only changes are, for its files have names in the tree as well.
type outside struct {
	mirror, apart string
	watch         int // an inotify descriptor
	watched       map[int32]string
	before        scene.Snapshot
	base          string
}

// newOutside makes them below base, which is empty, like the tree. Where that has
// something the mirror has it, too, so that a link on the way changes nothing but
// where things are.
func newOutside(base string, tree conformance.Tree) (_ *outside, err error) {
	o := &outside{base: base, mirror: filepath.Join(base, "mirror"), apart: filepath.Join(base, "apart"), watch: -1, watched: map[int32]string{}}
	defer func() {
		if err != nil {
			o.close()
		}
	}()
	mirror, apart := conformance.Tree{}, conformance.Tree{}
	for p, e := range tree {
		m, a := e, e
		if e.Type == "file" {
			m.Content, a.Content = secret+"\n"+e.Content, "apart\n"+e.Content
		}
		if e.Type == "dir" {
			m.Mode, a.Mode = "0755", "0755"
		}
		mirror[p] = m
		if e.Type != "symlink" {
			apart[p] = a
		}
	}
	if err := errors.Join(os.Mkdir(o.mirror, 0o755), os.Mkdir(o.apart, 0o755)); err != nil {
		return nil, err
	}
	if err := errors.Join(mirror.Build(o.mirror), apart.Build(o.apart)); err != nil {
		return nil, err
	}
	if o.before, err = o.take(); err != nil {
		return nil, err
	}
	if err = o.begin(); err == nil {
		o.seen() // the walk itself
	}
	return o, err
}

func (o *outside) close() {
	if o.watch >= 0 {
		unix.Close(o.watch)
		o.watch = -1
	}
}

// take looks at everything. A file's number of names is the attacker's business.
func (o *outside) take() (scene.Snapshot, error) {
	s, err := scene.Take(o.base)
	for p, e := range s {
		e.Nlink = 0
		s[p] = e
	}
	return s, err
}

const events = unix.IN_OPEN | unix.IN_ACCESS | unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CREATE | unix.IN_DELETE |
	unix.IN_MOVED_FROM | unix.IN_MOVED_TO

// begin watches every directory of the mirror.
func (o *outside) begin() error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watch what is outside: inotify: %w", err)
	}
	o.watch = fd
	return filepath.WalkDir(o.mirror, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		wd, err := unix.InotifyAddWatch(fd, p, events|unix.IN_ONLYDIR)
		if err != nil {
			return fmt.Errorf("watch %s: inotify: %w", p, err)
		}
		o.watched[int32(wd)] = p
		return nil
	})
}

// seen lists what happened in the mirror since it was last asked, the first few.
func (o *outside) seen() []string {
	var out []string
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.Read(o.watch, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return out
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			e := (*unix.InotifyEvent)(unsafe.Pointer(&buf[at]))
			name := string(bytes.TrimRight(buf[at+unix.SizeofInotifyEvent:at+unix.SizeofInotifyEvent+int(e.Len)], "\x00"))
			at += unix.SizeofInotifyEvent + int(e.Len)
			if len(out) < 5 {
				out = append(out, fmt.Sprintf("%s: %s", filepath.Join(o.watched[e.Wd], name), eventName(e.Mask)))
			}
		}
	}
}

func eventName(mask uint32) string {
	for _, n := range []struct {
		bit  uint32
		name string
	}{
		{unix.IN_OPEN, "opened"}, {unix.IN_ACCESS, "read"}, {unix.IN_MODIFY, "written to"}, {unix.IN_ATTRIB, "attributes changed"},
		{unix.IN_CREATE, "made"}, {unix.IN_DELETE, "deleted"}, {unix.IN_MOVED_FROM, "moved away"}, {unix.IN_MOVED_TO, "moved there"},
	} {
		if mask&n.bit != 0 {
			return n.name
		}
	}
	return fmt.Sprintf("event %#x", mask)
}

// changed lists how it is not what it was when it was last asked. It looks at
// everything, which it does not see itself do. With soft, a file that is apart may
// have got other attributes.
func (o *outside) changed(soft bool) ([]string, error) {
	seen := o.seen()
	now, err := o.take()
	if err != nil {
		return nil, err
	}
	o.seen()
	was := o.before
	o.before = now
	if soft {
		now, was = contents(now), contents(was)
	}
	return append(seen, now.Diff(was)...), nil
}

// contents is a snapshot without attributes.
func contents(s scene.Snapshot) scene.Snapshot {
	out := scene.Snapshot{}
	for p, o := range s {
		o.Mode, o.UID, o.GID, o.MTime = 0, 0, 0, 0
		out[p] = o
	}
	return out
}

// leaked finds files with the secret below a directory.
func leaked(dir string) (found []string, err error) {
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if errors.Is(err, fs.ErrPermission) {
			return nil // nor can anybody else read it
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(p)
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err == nil && strings.Contains(string(data), secret) {
			found = append(found, p+": has what is secret")
		}
		return err
	})
	return found, err
}
