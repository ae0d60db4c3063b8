package cage

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// lastOwnFD bounds the descriptors that sandbox-exec and this program can have
// opened: the supervisor has shed all others, and new ones are the lowest free.
const lastOwnFD = 255

// Confine is the helper on its second start, inside the sandbox: it does what a
// sandbox does not do and becomes the command. It returns, with an exit status,
// only if that failed, and has then said so to the supervisor.
func Confine() int {
	for fd := 3; fd <= lastOwnFD; fd++ {
		unix.CloseOnExec(fd)
	}
	if _, err := unix.Write(confineStatusFD, confine().Encode()); err != nil {
		return 1
	}
	return 0
}

// confine returns why there is no command.
func confine() wire.Report {
	order, err := readOrder(confineOrderFD)
	if err != nil {
		return report(err)
	}
	if err := unix.Dup2(confineStderrFD, unix.Stderr); err != nil {
		return report(refuse(err, "connecting standard error"))
	}
	// What is caught has its default effect after the exec; what the caller
	// ignored would stay ignored.
	signal.Notify(make(chan os.Signal, 1))
	unix.Umask(0o022)
	if err := unix.Chdir(order.Dir); err != nil {
		return report(refuse(err, "working directory %q", order.Dir))
	}
	if err := limit(order); err != nil {
		return report(err)
	}
	if _, err := unix.Write(confineStatusFD, []byte{ready}); err != nil {
		return report(refuse(err, "reporting"))
	}
	var errno unix.Errno
	errors.As(syscall.Exec(order.Path, order.Args, order.Env), &errno)
	return wire.Report{Outcome: wire.NotExecuted, Errno: uint32(errno)}
}

// limit sets the resource limits.
func limit(order wire.Order) error {
	limits, err := resourceLimits(order)
	if err != nil {
		return err
	}
	for _, l := range limits {
		if err := unix.Setrlimit(l.resource, &l.value); err != nil {
			return refuse(err, "limiting %s", l.name)
		}
	}
	return nil
}
