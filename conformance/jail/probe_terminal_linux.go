package jail

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const noTerminal = "the caller has no terminal"

// noTTY are the answers about a terminal that is not there.
const noTTY = "EACCES ENOENT ENXIO ENOTTY EPERM"

// terminals are the controlling terminal, where it can be opened, and whatever
// the standard descriptors are.
func terminals() []int {
	fds := []int{0, 1, 2}
	if fd, err := unix.Open("/dev/tty", unix.O_RDWR, 0); err == nil {
		fds = append([]int{fd}, fds...)
	}
	return fds
}

// push pushes a key press into a terminal's input, as if it were typed.
func push(request uintptr) error {
	var errs []error
	for _, fd := range terminals() {
		err := raw(unix.SYS_IOCTL, uintptr(fd), request, text("x"))
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

var terminalProbes = []probe{
	denied(64, "push input into the terminal", "terminal", noTTY, func(*world) error { return push(unix.TIOCSTI) }).
		butHard(noTerminal + ", or the kernel lets nobody"),
	denied(65, "push input, high bits set", "terminal", noTTY, func(*world) error { return push(unix.TIOCSTI | 1<<32) }).
		butHard(noTerminal + ", or the kernel lets nobody"),
	denied(66, "open the terminal", "terminal", "EACCES ENOENT ENXIO", func(*world) error { return open("/dev/tty", unix.O_RDWR) }).
		butHard(noTerminal),
	denied(67, "make a terminal", "devices", "EACCES ENOENT ENOTTY", func(*world) error {
		fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		_, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return err
	}).butHard("no terminals here"),
	denied(70, "secret in the environment", "environment", "unset", func(*world) error {
		if os.Getenv(secretName) != secretValue {
			return outcome("unset")
		}
		return nil
	}),
}
