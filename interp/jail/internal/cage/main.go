//go:build linux

package cage

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// noRoot is refuse where the machine is to blame and a jail without namespaces
// may do.
func noRoot(err error, format string, args ...any) error {
	r := refuse(err, format, args...).(*refusal)
	r.outcome = wire.NoRoot
	return r
}

// Main runs the helper with the descriptors that package wire names and
// returns its exit status: 0 when it has reported, whatever it reported.
func Main() int {
	// One thread does it all: the signal scope, the fork and the last kill
	// belong to a thread, and the child dies with the thread that made it.
	runtime.LockOSThread()
	// It ends by its control pipe, after the tree. Ended by a signal that was
	// meant for the caller too, it would leave the tree behind.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM)
	// Executed by descriptor, it would be listed by the descriptor's number.
	if name, err := unix.BytePtrFromString(wire.Arg0); err == nil {
		unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(name)), 0, 0, 0)
	}
	order, err := readOrder()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v (this program is started by steps, not by hand)\n", wire.Arg0, err)
		return 2
	}
	report := run(order)
	if _, err := unix.Write(wire.ReportFD, report.Encode()); err != nil {
		return 1
	}
	return 0
}

// readOrder takes the order from sealed memory and nothing else, so that what
// is checked here is what the caller wrote.
func readOrder() (wire.Order, error) {
	const sealed = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	seals, err := unix.FcntlInt(wire.OrderFD, unix.F_GET_SEALS, 0)
	if err != nil || seals&sealed != sealed {
		return wire.Order{}, fmt.Errorf("descriptor %d is not sealed memory with an order", wire.OrderFD)
	}
	var st unix.Stat_t
	if err := unix.Fstat(wire.OrderFD, &st); err != nil {
		return wire.Order{}, fmt.Errorf("reading the order: %w", err)
	}
	if st.Size > wire.MaxSize {
		return wire.Order{}, fmt.Errorf("the order has %d bytes, more than %d", st.Size, wire.MaxSize)
	}
	data := make([]byte, st.Size)
	for got := 0; got < len(data); {
		n, err := unix.Pread(wire.OrderFD, data[got:], int64(got))
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return wire.Order{}, fmt.Errorf("reading the order: %w", err)
		}
		got += n
	}
	return wire.DecodeOrder(data)
}

func run(order wire.Order) wire.Report {
	status, err := supervise(order)
	var r *refusal
	switch {
	case errors.As(err, &r):
		return wire.Report{Outcome: cmp.Or(r.outcome, wire.Refused), Code: r.code, Errno: uint32(r.errno), Message: r.what}
	case err != nil:
		return wire.Report{Outcome: wire.Refused, Message: err.Error()}
	case status.Signaled():
		return wire.Report{Outcome: wire.Signaled, Code: uint32(status.Signal())}
	default:
		return wire.Report{Outcome: wire.Exited, Code: uint32(status.ExitStatus())}
	}
}

// supervise builds the jail, runs the command in it and returns its wait status
// when neither it nor any descendant is left.
func supervise(order wire.Order) (unix.WaitStatus, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, refuse(err, "becoming the reaper of descendants")
	}
	if order.Namespaces {
		if !alone() {
			return 0, noRoot(nil, "the helper is not the first process of a pid namespace")
		}
		limitProcesses(order.Processes)
		if err := enterRoot(order); err != nil {
			return 0, err
		}
	}
	ruleset, err := newRuleset(order)
	if err != nil {
		return 0, err
	}
	prog, err := newProgram(order, ruleset)
	if err != nil {
		return 0, err
	}
	defer prog.free()
	tree, err := newTree(order)
	if err != nil {
		return 0, err
	}
	pid, err := prog.start(0)
	if err != nil {
		tree.end()
		return 0, err
	}
	status, err := tree.wait(pid)
	if endErr := tree.end(); endErr != nil {
		return 0, endErr
	}
	return status, err
}
