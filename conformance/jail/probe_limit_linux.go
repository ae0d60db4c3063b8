package jail

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

var limitProbes = []probe{
	denied(72, "core file", "rlimit", "EPERM", func(w *world) error {
		var now unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_CORE, &now); err != nil {
			return fmt.Errorf("reading the limit: %v", err)
		}
		raised := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1 << 24, Max: max(now.Max, 1<<24)})
		// Whatever came of that: is there one?
		cmd := exec.Command("/bin/sh", "-c", "kill -ABRT $$")
		cmd.Dir = w.In
		if err := cmd.Run(); cmd.ProcessState == nil {
			return fmt.Errorf("starting a program: %v", err)
		}
		cores, err := filepath.Glob(w.in("*core*"))
		switch {
		case err != nil || len(cores) > 0:
			return err
		case raised != nil:
			return raised
		}
		return outcome("no core")
	}).butHard("core files go elsewhere on this machine, or are switched off"),
	denied(72, "raise a limit", "rlimit", "EPERM", func(*world) error {
		var now unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_CPU, &now); err != nil {
			return fmt.Errorf("reading the limit: %v", err)
		}
		if now.Max == unix.RLIM_INFINITY {
			return nil
		}
		return unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY})
	}),
}

// workProbes are what ordinary programs do.
var workProbes = []probe{
	allowed(87, "read and write", func(w *world) error { return errors.Join(read(w.in("file")), put(w.in("file")), read(w.ro("file"))) }),
	allowed(87, "truncate", func(w *world) error { return unix.Truncate(w.in("file"), 0) }),
	allowed(87, "create, rename and remove", func(w *world) error {
		return errors.Join(put(w.in("a")), unix.Rename(w.in("a"), w.in("b")), unix.Unlink(w.in("b")),
			os.MkdirAll(w.in("c/d/e"), 0o755), os.RemoveAll(w.in("c")))
	}),
	allowed(87, "fifo", func(w *world) error { return unix.Mkfifo(w.in("new"), 0o644) }),
	allowed(87, "symlink", func(w *world) error { return unix.Symlink("anything", w.in("new")) }),
	allowed(87, "hard link", func(w *world) error { return unix.Link(w.in("file"), w.in("new")) }),
	allowed(87, "chmod and set times", func(w *world) error {
		return errors.Join(unix.Chmod(w.in("file"), 0o1600), unix.Utimes(w.in("file"), []unix.Timeval{{Sec: 1}, {Sec: 1}}))
	}),
	allowed(88, "run programs", func(*world) error { return execute("/bin/sh", "-c", "true | true; (true &); exec /usr/bin/env true") }),
	allowed(89, "end a child", func(*world) error {
		cmd := exec.Command("/bin/sleep", "1000")
		if err := cmd.Start(); err != nil {
			return err
		}
		err := cmd.Process.Kill()
		// Ended by a signal, which is the point.
		_ = cmd.Wait()
		return err
	}),
	allowed(90, "socket pair and pipe", func(*world) error {
		return errors.Join(pairThen(unix.SOCK_STREAM, func(fd int) error {
			_, err := unix.Write(fd, []byte("x"))
			return err
		}), unix.Pipe2(make([]int, 2), unix.O_CLOEXEC))
	}),
	allowed(92, "devices", func(*world) error {
		f, err := os.Open("/dev/urandom")
		if err != nil {
			return err
		}
		_, err = f.Read(make([]byte, 8))
		return errors.Join(err, put("/dev/null"), put("/dev/zero"))
	}),
	allowed(96, "rename across directories", func(w *world) error { return unix.Rename(w.in("file"), w.in("dir/file")) }),
	allowed(96, "link across directories", func(w *world) error { return unix.Link(w.in("file"), w.in("dir/file")) }),
}
