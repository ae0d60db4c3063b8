package commit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

const scriptEnv = "STEPS_COMMIT_SCRIPT"

// call is one thing that a command does to the tree.
type call struct {
	Do       string
	Path, To string // below the root
	Text     string
	Mode     uint32
}

func init() {
	children[scriptEnv] = func(string) error { return scriptChild(os.Stdin, os.Stdout) }
}

// script is what a child process does in Dir: with a layer mounted over it
// first, if Layer has one.
type script struct {
	Dir   string
	Layer *Layer
	Calls []call
}

// scriptChild is the command. It prints what came of each call.
func scriptChild(in io.Reader, out io.Writer) error {
	var s script
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return err
	}
	if s.Layer != nil {
		if err := mountLayer(s.Layer); err != nil {
			return fmt.Errorf("mount: %w", err)
		}
	}
	if err := dropRights(); err != nil {
		return fmt.Errorf("drop rights: %w", err)
	}
	syscall.Umask(0o022)
	for _, c := range s.Calls {
		err := c.run(s.Dir)
		var errno syscall.Errno
		errors.As(err, &errno)
		fmt.Fprintf(out, "%+v: %v\n", c, error(errno))
	}
	return nil
}

func (c *call) run(root string) error {
	p, to := filepath.Join(root, c.Path), filepath.Join(root, c.To)
	if st, err := os.Stat(p); err == nil && st.Mode()&fs.ModeNamedPipe != 0 && (c.Do == "write" || c.Do == "again") {
		return unix.ENXIO // rather than wait for who is at the other end
	}
	switch c.Do {
	case "write":
		return os.WriteFile(p, []byte(c.Text), os.FileMode(c.Mode))
	case "append":
		f, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(c.Text)
		return errors.Join(err, f.Close())
	case "truncate":
		if st, err := os.Lstat(p); err == nil && st.Mode().IsRegular() {
			return os.Truncate(p, int64(len(c.Text)))
		}
	case "sparse":
		f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.WriteAt([]byte(c.Text), 3<<20)
		return errors.Join(err, f.Close())
	case "again": // the same bytes in another file
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		st, err := os.Lstat(p)
		if err != nil || !st.Mode().IsRegular() {
			return err
		}
		if err := os.Remove(p); err != nil {
			return err
		}
		return errors.Join(os.WriteFile(p, data, 0o600), os.Chmod(p, st.Mode()))
	case "mkdir":
		return os.Mkdir(p, os.FileMode(c.Mode))
	case "unlink":
		return unix.Unlink(p)
	case "rmdir":
		return unix.Rmdir(p)
	case "rm -r":
		// RemoveAll would open a FIFO that it takes for the parent directory.
		if _, err := os.Lstat(p); err != nil {
			return err
		}
		return os.RemoveAll(p)
	case "remake": // an opaque directory, in a layer
		if st, err := os.Lstat(p); err != nil || !st.IsDir() {
			return err
		}
		if err := os.RemoveAll(p); err != nil {
			return err
		}
		return os.Mkdir(p, os.FileMode(c.Mode))
	case "symlink":
		return os.Symlink(c.Text, p)
	case "link":
		return os.Link(p, to)
	case "mkfifo":
		return unix.Mkfifo(p, 0o644)
	case "chmod":
		return unix.Fchmodat(unix.AT_FDCWD, p, c.Mode, unix.AT_SYMLINK_NOFOLLOW)
	case "touch":
		return os.Chtimes(p, baseTime, baseTime)
	case "mv":
		return mv(p, to)
	}
	return nil
}

// mv renames, and where a directory cannot be renamed does what mv(1) does.
func mv(from, to string) error {
	if strings.HasPrefix(to, from+"/") || strings.HasPrefix(from, to+"/") || from == to {
		return nil
	}
	st, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if st.IsDir() && !copyable(from) {
		return nil
	}
	if there, err := os.Lstat(to); err == nil && os.SameFile(st, there) {
		return nil
	}
	err = unix.Rename(from, to)
	if err != unix.EXDEV || !st.IsDir() {
		return err
	}
	if there, err := os.Lstat(to); err == nil {
		if !there.IsDir() {
			return unix.ENOTDIR
		}
		if err := unix.Rmdir(to); err != nil {
			return err
		}
	}
	if err := copyTree(from, to); err != nil {
		return err
	}
	return os.RemoveAll(from)
}

// copyable reports whether a copy of a directory would be like the original.
func copyable(dir string) bool {
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() && info.Mode()&0o700 != 0o700 || info.Mode().IsRegular() && info.Mode()&0o400 == 0 ||
			!d.IsDir() && info.Sys().(*syscall.Stat_t).Nlink > 1 {
			return unix.EPERM
		}
		return nil
	})
	return err == nil
}

func copyTree(from, to string) error {
	var st unix.Stat_t
	if err := unix.Lstat(from, &st); err != nil {
		return err
	}
	mode := uint32(st.Mode) & changeset.PermMask
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFLNK:
		target, err := os.Readlink(from)
		return errors.Join(err, os.Symlink(target, to))
	case unix.S_IFIFO:
		return errors.Join(unix.Mkfifo(to, 0o600), unix.Chmod(to, mode))
	case unix.S_IFREG:
		data, err := os.ReadFile(from)
		return errors.Join(err, os.WriteFile(to, data, 0o600), unix.Chmod(to, mode))
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		err = errors.Join(err, copyTree(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())))
	}
	return errors.Join(err, unix.Chmod(to, mode))
}

// portrait renders a tree, the root included, past modes that keep its owner out.
func portrait(t testing.TB, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	if err := portray(root, ".", out); err != nil {
		t.Fatal(err)
	}
	return out
}

func portray(root, rel string, out map[string]string) error {
	p := filepath.Join(root, rel)
	var st unix.Stat_t
	if err := unix.Lstat(p, &st); err != nil {
		return err
	}
	mode := uint32(st.Mode) & changeset.PermMask
	kind := uint32(st.Mode) & unix.S_IFMT
	owner := fmt.Sprintf("%d:%d", st.Uid, st.Gid)
	open := func(need uint32, f func() error) error {
		if mode&need == need {
			return f()
		}
		return errors.Join(unix.Chmod(p, mode|need), f(), unix.Chmod(p, mode))
	}
	switch kind {
	case unix.S_IFLNK:
		target, err := os.Readlink(p)
		out[rel] = fmt.Sprintf("link %s %q", owner, target)
		return err
	case unix.S_IFREG:
		return open(0o400, func() error {
			data, err := os.ReadFile(p)
			if len(data) > 1000 {
				data = []byte(hashHex(data))
			}
			out[rel] = fmt.Sprintf("file %04o %s %q", mode, owner, data)
			return err
		})
	case unix.S_IFDIR:
		out[rel] = fmt.Sprintf("dir %04o %s", mode, owner)
		return open(0o700, func() error {
			entries, err := os.ReadDir(p)
			for _, e := range entries {
				if !strings.HasPrefix(e.Name(), slotDirStart) {
					err = errors.Join(err, portray(root, filepath.Join(rel, e.Name()), out))
				}
			}
			return err
		})
	}
	out[rel] = fmt.Sprintf("other %04o %s", mode, owner)
	return nil
}

// gist is what two captures of the same thing must agree on.
func gist(c *changeset.Captured) *changeset.Captured {
	out := &changeset.Captured{Changes: &changeset.Changeset{}, Linked: c.Linked, Shared: c.Shared}
	for _, ch := range c.Changes.Changes {
		if (ch.Stamp == nil) != (ch.Before == nil) {
			panic(ch.Path + ": stamp and state before do not go together")
		}
		ch.Stamp = nil
		if ch.Content != nil {
			ch.Content = &changeset.Content{}
		}
		out.Changes.Changes = append(out.Changes.Changes, ch)
	}
	return out
}

// special lists the paths of captured sockets, FIFOs and devices.
func special(c *changeset.Captured) (list []string) {
	for _, ch := range c.Changes.Changes {
		if ch.After != nil && ch.After.Kind == changeset.Other {
			list = append(list, ch.Path)
		}
	}
	return list
}
