package cage

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// Main runs the helper with the descriptors that package wire names and
// returns its exit status: 0 when it has reported, whatever it reported. It is
// the supervisor: itself outside the sandbox, it starts sandbox-exec, which
// becomes the helper again (see [Confine]), which becomes the command.
func Main() int {
	// It ends by its control pipe, after the tree. Caught and not ignored, as
	// what is ignored stays so in the command.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM)
	order, err := readOrder(wire.OrderFD)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v (this program is started by steps, not by hand)\n", wire.Arg0, err)
		return 2
	}
	if _, err := unix.Write(wire.ReportFD, supervise(order).Encode()); err != nil {
		return 1
	}
	return 0
}

// supervise starts what the order says, and reports when neither it nor any
// descendant that can be found is left.
func supervise(order wire.Order) wire.Report {
	if err := shedDescriptors(); err != nil {
		return report(err)
	}
	c, err := startConfined(order)
	if err != nil {
		return report(err)
	}
	tree := newTree(c.process.Pid)
	stop := make(chan struct{})
	go awaitStop(stop)
	exited := make(chan error, 1)
	go func() { exited <- awaitExit(c.process.Pid) }()
	if err := cmp.Or(tree.watch(exited, stop), tree.end()); err != nil {
		return report(err)
	}
	state, err := c.process.Wait()
	if err != nil {
		return report(refuse(err, "waiting for the command"))
	}
	return c.outcome(state)
}

// shedDescriptors makes every descriptor above standard error end at exec, also
// those that the caller's other parts left open to inherit.
func shedDescriptors() error {
	names, err := os.ReadDir("/dev/fd")
	if err != nil {
		return refuse(err, "listing descriptors")
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// awaitStop closes stop when the caller says so, or dies.
func awaitStop(stop chan<- struct{}) {
	var buf [1]byte
	for {
		n, err := unix.Read(wire.ControlFD, buf[:])
		if err == unix.EINTR || n > 0 {
			continue
		}
		close(stop)
		return
	}
}

// awaitExit returns when a child is over, and leaves it to be waited for: until
// then nothing else gets its number, by which its session is known. Not waitid,
// which on macOS also returns for a child that only stopped.
func awaitExit(pid int) error {
	queue, err := unix.Kqueue()
	if err != nil {
		return refuse(err, "waiting for the command")
	}
	defer unix.Close(queue)
	change := make([]unix.Kevent_t, 1)
	unix.SetKevent(&change[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change[0].Fflags = unix.NOTE_EXIT
	for {
		n, err := unix.Kevent(queue, change, make([]unix.Kevent_t, 1), nil)
		switch {
		case err == unix.ESRCH: // over already
			return nil
		case err == unix.EINTR:
		case err != nil:
			return refuse(err, "waiting for the command")
		case n > 0:
			return nil
		}
	}
}

// A confined is a process on its way to become the command.
type confined struct {
	process *os.Process
	status  chan []byte // what the second start said
	talk    chan []byte // what sandbox-exec said
}

func startConfined(order wire.Order) (*confined, error) {
	statusR, statusW, err := os.Pipe()
	if err != nil {
		return nil, refuse(err, "making a pipe")
	}
	defer statusW.Close()
	talkR, talkW, err := os.Pipe()
	if err != nil {
		statusR.Close()
		return nil, refuse(err, "making a pipe")
	}
	defer talkW.Close()
	inner, stderr := os.NewFile(InnerFD, "order"), os.NewFile(uintptr(unix.Stderr), "stderr")
	process, err := os.StartProcess(order.Path, order.Args, &os.ProcAttr{
		Dir:   "/",
		Env:   []string{},
		Files: []*os.File{os.Stdin, os.Stdout, talkW, inner, stderr, statusW},
		// The session by which the tree is found, without a terminal.
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		statusR.Close()
		talkR.Close()
		return nil, refuse(err, "starting %s", order.Path)
	}
	// The command's output ends with the command, not with its supervisor.
	for _, f := range []*os.File{os.Stdin, os.Stdout, stderr, inner} {
		f.Close()
	}
	c := &confined{process: process, status: make(chan []byte, 1), talk: make(chan []byte, 1)}
	go hear(statusR, c.status)
	go hear(talkR, c.talk)
	return c, nil
}

// hear passes on what a pipe carries, to its end.
func hear(pipe *os.File, to chan<- []byte) {
	defer pipe.Close()
	data, _ := io.ReadAll(io.LimitReader(pipe, wire.MaxSize)) // what is missing shows in what follows
	to <- data
}

// outcome says what became of the command. Every holder of the pipes is gone.
func (c *confined) outcome(state *os.ProcessState) wire.Report {
	status, talk := <-c.status, <-c.talk
	text, isReady := bytes.CutPrefix(status, []byte{ready})
	switch {
	case len(text) > 0:
		r, err := wire.DecodeReport(text)
		if err != nil {
			return report(refuse(err, "hearing from inside the sandbox"))
		}
		return r
	case !isReady:
		return report(refuse(nil, "sandbox-exec did not start the command (%v): %s", state, strings.TrimSpace(string(talk))))
	}
	ws := state.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return wire.Report{Outcome: wire.Signaled, Code: uint32(ws.Signal())}
	}
	return wire.Report{Outcome: wire.Exited, Code: uint32(ws.ExitStatus())}
}
