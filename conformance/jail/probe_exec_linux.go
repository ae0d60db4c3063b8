package jail

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

func execute(path string, args ...string) error { return exec.Command(path, args...).Run() }

// cwd is AT_FDCWD as an argument of a system call.
const cwd = ^uintptr(-unix.AT_FDCWD - 1)

// raw makes a system call.
func raw(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	return nil
}

// kept is memory that the kernel was given the address of. An attacker can
// afford not to free it.
var kept []any

// ref is the address of *v for the kernel.
func ref[T any](v *T) uintptr {
	kept = append(kept, v)
	return uintptr(unsafe.Pointer(v))
}

// text is s for the kernel.
func text(s string) uintptr {
	ptr, err := unix.BytePtrFromString(s)
	if err != nil {
		panic("BUG(steps): " + err.Error())
	}
	return ref(ptr)
}

var execProbes = []probe{
	denied(19, "execute outside", "exec", noRead, func(w *world) error { return execute(w.out("tool")) }),
	denied(19, "execute readable", "exec", "EACCES", func(w *world) error { return execute(w.ro("tool")) }),
	denied(20, "execute writable", "exec", "EACCES", func(w *world) error { return execute(w.in("tool")) }),
	denied(20, "execute a written program", "exec", "EACCES", func(w *world) error {
		code, err := os.ReadFile("/bin/true")
		if err == nil {
			err = os.WriteFile(w.in("true"), code, 0o755)
		}
		if err != nil {
			return fmt.Errorf("writing: %v", err)
		}
		return execute(w.in("true"))
	}),
	denied(21, "execute by descriptor", "exec", "EPERM ENOSYS", func(*world) error {
		fd, err := unix.Open("/bin/true", unix.O_RDONLY, 0)
		if err != nil {
			return fmt.Errorf("opening: %v", err)
		}
		return executeFD(fd)
	}),
	denied(21, "execute from memory", "exec", "EPERM ENOSYS EACCES", func(*world) error {
		fd, err := memoryProgram()
		if err != nil {
			return err
		}
		return executeFD(fd)
	}),
	denied(21, "execute memory by its path", "exec", "EPERM ENOSYS EACCES ENOENT", func(*world) error {
		fd, err := memoryProgram()
		if err != nil {
			return err
		}
		return execute(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd))
	}),
	denied(22, "set-user-id program", "privileges", "inert EACCES", setID).butHard("no such program here"),
}

func executeFD(fd int) error {
	argv, env := &[2]uintptr{text("true")}, new(uintptr)
	return raw(unix.SYS_EXECVEAT, uintptr(fd), text(""), ref(argv), ref(env), unix.AT_EMPTY_PATH)
}

func memoryProgram() (int, error) {
	fd, err := unix.MemfdCreate("x", 0)
	if err != nil {
		return 0, err
	}
	code, err := os.ReadFile("/bin/true")
	if err == nil {
		_, err = unix.Write(fd, code)
	}
	if err != nil {
		return 0, fmt.Errorf("writing: %v", err)
	}
	return fd, nil
}

// setID executes the program with another user's rights. Root's prints whose
// rights it has. One of the system's has more than its user while the loader
// heeds no LD_ variables.
func setID(w *world) error {
	if w.SetID == "" {
		return outcome("none")
	}
	cmd := exec.Command(w.SetID, "-u")
	made := filepath.Dir(w.SetID) == w.RO
	if !made {
		cmd = exec.Command(w.SetID, "--help")
		cmd.Env = []string{"LD_SHOW_AUXV=1"}
	}
	out, err := cmd.Output()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return err
	}
	if made && strings.TrimSpace(string(out)) != strconv.Itoa(nobody) || !made && bytes.Contains(out, []byte("AT_SECURE")) {
		return outcome("inert")
	}
	return nil
}
