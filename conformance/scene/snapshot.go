package scene

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Snapshot is a tree: slash-separated path below its root → what is there.
type Snapshot map[string]Object

// Object is one object of a tree.
type Object struct {
	// Kind is dir, file, symlink or other.
	Kind string
	// SHA256 is of a file's content, in hex, and Size its length in bytes.
	SHA256 string
	Size   int64
	// Mode has the permission bits, set-id and sticky included; 0 for a link.
	Mode     uint32
	UID, GID uint32
	// MTime is a file's time of modification in nanoseconds; 0 for all else.
	MTime int64
	// Target is a link's text, {W} for the directory that the root is in.
	Target   string
	Dev, Ino uint64
	// Nlink counts a file's names, Names lists those in the tree, if several.
	Nlink uint64
	Names string
	// Xattrs are the extended attributes of the user's namespace, a line each.
	Xattrs string
	// Was is the first path of the object in an earlier snapshot; see [Snapshot.Since].
	Was string
}

// Take looks at the tree below root. What its owner may not read is opened up for
// the moment and closed again.
func Take(root string) (Snapshot, error) {
	s := Snapshot{}
	if err := s.add(root, "", filepath.Dir(root)); err != nil {
		return nil, err
	}
	s.link()
	return s, nil
}

func (s Snapshot) add(at, rel, home string) error {
	var st unix.Stat_t
	if err := unix.Lstat(at, &st); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	o := Object{Mode: uint32(st.Mode) & 0o7777, UID: st.Uid, GID: st.Gid, Dev: uint64(st.Dev), Ino: st.Ino}
	var err error
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		o.Kind = "dir"
		err = opened(at, o.Mode, 0o500, func() error {
			o.Xattrs = xattrs(at)
			entries, err := os.ReadDir(at)
			for _, e := range entries {
				err = errors.Join(err, s.add(filepath.Join(at, e.Name()), strings.TrimPrefix(rel+"/"+e.Name(), "/"), home))
			}
			return err
		})
	case unix.S_IFREG:
		o.Kind, o.Size, o.Nlink, o.MTime = "file", st.Size, uint64(st.Nlink), st.Mtim.Nano()
		err = opened(at, o.Mode, 0o400, func() error {
			o.Xattrs = xattrs(at)
			data, err := os.ReadFile(at)
			sum := sha256.Sum256(data)
			o.SHA256 = hex.EncodeToString(sum[:])
			return err
		})
	case unix.S_IFLNK:
		o.Kind, o.Mode = "symlink", 0
		var text string
		text, err = os.Readlink(at)
		o.Target = strings.ReplaceAll(text, home, "{W}")
	default:
		o.Kind = "other"
	}
	if rel == "" {
		rel = "."
	}
	s[rel] = o
	return err
}

// link notes the names of files that have several.
func (s Snapshot) link() {
	names := map[[2]uint64][]string{}
	for p, o := range s {
		if o.Kind == "file" {
			id := [2]uint64{o.Dev, o.Ino}
			names[id] = append(names[id], p)
		}
	}
	for _, list := range names {
		if len(list) < 2 {
			continue
		}
		slices.Sort(list)
		for _, p := range list {
			o := s[p]
			o.Names = strings.Join(list, " ")
			s[p] = o
		}
	}
}

// opened calls f while the owner has at least the rights need on path.
func opened(path string, mode, need uint32, f func() error) error {
	if mode&need == need {
		return f()
	}
	if err := unix.Chmod(path, mode|need); err != nil {
		return err
	}
	return errors.Join(f(), unix.Chmod(path, mode))
}

// xattrs lists the extended attributes in the user's namespace; a file system
// without them has none.
func xattrs(path string) string {
	buf := make([]byte, 4096)
	n, err := unix.Llistxattr(path, buf)
	if err != nil {
		return ""
	}
	var lines []string
	for name := range strings.SplitSeq(string(buf[:n]), "\x00") {
		if !strings.HasPrefix(name, "user.") {
			continue
		}
		value := make([]byte, 4096)
		if m, err := unix.Lgetxattr(path, name, value); err == nil {
			lines = append(lines, fmt.Sprintf("%s=%q", name, value[:m]))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Diff lists how s differs from want, a line each, sorted by path.
func (s Snapshot) Diff(want Snapshot) []string {
	paths := make([]string, 0, len(s)+len(want))
	for p := range want {
		paths = append(paths, p)
	}
	for p := range s {
		if _, ok := want[p]; !ok {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	var out []string
	for _, p := range paths {
		got, have := s[p]
		w, wanted := want[p]
		switch {
		case !have:
			out = append(out, fmt.Sprintf("%s: missing, want %v", p, w))
		case !wanted:
			out = append(out, fmt.Sprintf("%s: %v, want nothing", p, got))
		case got != w:
			out = append(out, fmt.Sprintf("%s: %s", p, got.differs(w)))
		}
	}
	return out
}

func (o Object) String() string {
	switch o.Kind {
	case "symlink":
		return fmt.Sprintf("symlink to %q", o.Target)
	case "file":
		return fmt.Sprintf("file %04o of %d bytes", o.Mode, o.Size)
	}
	return fmt.Sprintf("%s %04o", o.Kind, o.Mode)
}

// differs says in what o differs from want.
func (o Object) differs(want Object) string {
	var out []string
	say := func(differs bool, format string, args ...any) {
		if differs {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	say(o.Kind != want.Kind, "is a %s, want a %s", o.Kind, want.Kind)
	say(o.SHA256 != want.SHA256, "content of %d bytes, want other content of %d", o.Size, want.Size)
	say(o.Mode != want.Mode, "mode %04o, want %04o", o.Mode, want.Mode)
	say(o.UID != want.UID || o.GID != want.GID, "owner %d:%d, want %d:%d", o.UID, o.GID, want.UID, want.GID)
	say(o.MTime != want.MTime, "time %d, want %d", o.MTime, want.MTime)
	say(o.Target != want.Target, "link to %q, want %q", o.Target, want.Target)
	say(o.Dev != want.Dev || o.Ino != want.Ino, "is another object, inode %d, want %d", o.Ino, want.Ino)
	say(o.Was != want.Was, "is what was at %q, want %q", o.Was, want.Was)
	say(o.Nlink != want.Nlink, "has %d names, want %d", o.Nlink, want.Nlink)
	say(o.Names != want.Names, "is also %q, want %q", o.Names, want.Names)
	say(o.Xattrs != want.Xattrs, "extended attributes %q, want %q", o.Xattrs, want.Xattrs)
	return strings.Join(out, "; ")
}

// now is the time that stands for any since the scenes were written.
const now = 1

// Since is s in terms of an earlier snapshot, so that two worlds of one scene can be
// compared: an object is known by the path that it had then, and a file that was
// written since has the time 1.
func (s Snapshot) Since(before Snapshot) Snapshot {
	first := map[[2]uint64]string{}
	for p, o := range before {
		id := [2]uint64{o.Dev, o.Ino}
		if at, ok := first[id]; !ok || p < at {
			first[id] = p
		}
	}
	out := Snapshot{}
	for p, o := range s {
		o.Was = first[[2]uint64{o.Dev, o.Ino}]
		o.Dev, o.Ino = 0, 0
		if o.MTime > old+day {
			o.MTime = now
		}
		out[p] = o
	}
	return out
}

// Loose is s without which object each is.
func (s Snapshot) Loose() Snapshot {
	out := Snapshot{}
	for p, o := range s {
		o.Dev, o.Ino, o.Was, o.Nlink, o.Names = 0, 0, "", 0, ""
		out[p] = o
	}
	return out
}
