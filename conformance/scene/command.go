package scene

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp"
	"steps.example/interp/commit"
)

// scripted is a machine whose commands do what the scene says.
type scripted struct {
	interp.Machine
	w *World
}

func (w *World) host() interp.Host {
	if w.Jail {
		return interp.Machine{}
	}
	if w.Broker {
		return user{scripted{w: w}}
	}
	return scripted{w: w}
}

// Settle implements [interp.Host].
func (scripted) Settle(*interp.Run) error { return nil }

// SystemCommand implements [interp.Host]: every machine has these.
func (scripted) SystemCommand(file string) bool { return strings.HasPrefix(file, "/bin/") }

// Run implements [interp.Host].
func (h scripted) Run(_ context.Context, r *interp.Run) ([]byte, interp.RunReport, error) {
	if err := h.w.edit(h.w.Command, h.w.Watch); err != nil {
		return nil, interp.RunReport{}, err
	}
	if filepath.Base(r.Name) == "false" {
		return nil, interp.RunReport{ExitCode: 1}, &interp.CommandError{Command: r.Name, ExitCode: 1}
	}
	return nil, interp.RunReport{}, nil
}

// edit changes the tree as the lines say: mkdir PATH, write PATH TEXT (a new file),
// append PATH TEXT, empty PATH, remove PATH, rmdir PATH, move PATH PATH, chmod MODE
// PATH, link PATH TEXT. Each is the system calls that a program would make, and watch
// sees them.
func (w *World) edit(lines string, watch func(commit.Call) error) error {
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(words) < 2 {
			return fmt.Errorf("edit %q: it has too few words", line)
		}
		if err := (&editor{w: w, watch: watch}).edit(words[0], words[1], strings.Join(words[2:], " ")); err != nil {
			return fmt.Errorf("edit %q: %w", line, err)
		}
	}
	return nil
}

type editor struct {
	w     *World
	watch func(commit.Call) error
	open  []int
}

func (e *editor) edit(verb, path, arg string) error {
	defer e.close() // also where watch panics
	mode := path
	if verb == "chmod" {
		path = arg
	}
	dir, name, err := e.parent(path)
	if err != nil {
		return err
	}
	c := commit.Call{Op: verb, Name: path, FD: -1, Dir: dir, Entry: name, To: -1}
	switch verb {
	case "mkdir":
		return e.do(c, func() error { return unix.Mkdirat(dir, name, 0o755) })
	case "write":
		c.Op = "create"
		fd := -1
		err := e.do(c, func() (err error) {
			fd, err = unix.Openat(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
			return err
		})
		if err != nil {
			return err
		}
		e.open = append(e.open, fd)
		return e.write(fd, name, 0, arg)
	case "append", "empty":
		fd, err := unix.Openat(dir, name, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		e.open = append(e.open, fd)
		if verb == "empty" {
			return e.do(commit.Call{Op: "truncate", Name: name, FD: fd, Dir: -1}, func() error { return unix.Ftruncate(fd, 0) })
		}
		end, err := unix.Seek(fd, 0, unix.SEEK_END)
		if err != nil {
			return err
		}
		return e.write(fd, name, end, arg)
	case "remove":
		c.Op = "unlink"
		return e.do(c, func() error { return unix.Unlinkat(dir, name, 0) })
	case "rmdir":
		return e.do(c, func() error { return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR) })
	case "move":
		if c.To, c.NewEntry, err = e.parent(arg); err != nil {
			return err
		}
		return e.do(c, func() error { return unix.Renameat(dir, name, c.To, c.NewEntry) })
	case "chmod":
		var bits uint32
		if _, err := fmt.Sscanf(mode, "%o", &bits); err != nil {
			return err
		}
		fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		e.open = append(e.open, fd)
		return e.do(commit.Call{Op: "chmod", Name: name, FD: fd, Dir: -1}, func() error { return unix.Fchmod(fd, bits) })
	case "link":
		c.Op = "symlink"
		return e.do(c, func() error { return unix.Symlinkat(arg, dir, name) })
	}
	return errors.New("there is no such edit")
}

func (e *editor) write(fd int, name string, at int64, text string) error {
	c := commit.Call{Op: "write", Name: name, FD: fd, Dir: -1, Offset: at, Length: int64(len(text))}
	return e.do(c, func() error { _, err := unix.Pwrite(fd, []byte(text), at); return err })
}

// do makes a system call and shows it to watch before and after.
func (e *editor) do(c commit.Call, f func() error) error {
	if e.watch != nil {
		if err := e.watch(c); err == commit.ErrInstead {
			return nil
		} else if err != nil {
			return err
		}
	}
	err := f()
	if err == nil && e.watch != nil {
		c.After = true
		_ = e.watch(c)
	}
	return err
}

// parent opens the directory of a path. Like a command in a jail it passes no link
// that others put on the way.
func (e *editor) parent(path string) (int, string, error) {
	at := e.w.at(path)
	from := e.w.Root
	if strings.HasPrefix(at, e.w.Home+"/") {
		from = e.w.Home
	}
	fd, err := unix.Open(from, dirFlags, 0)
	for part := range strings.SplitSeq(strings.TrimPrefix(filepath.Dir(at), from), "/") {
		if err != nil || part == "" {
			continue
		}
		e.open = append(e.open, fd)
		fd, err = unix.Openat(fd, part, dirFlags, 0)
	}
	if err != nil {
		return -1, "", &os.PathError{Op: "open", Path: filepath.Dir(at), Err: err}
	}
	e.open = append(e.open, fd)
	return fd, filepath.Base(at), nil
}

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

func (e *editor) close() {
	for _, fd := range e.open {
		unix.Close(fd)
	}
}
