//go:build linux

package cage

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// start forks the child, with clone flags for namespaces of its own, lets it do the program, and returns once it executes
// the command. If a call of the program fails, the child is gone or going, and
// the error says which call it was; its number is returned all the same.
func (p *program) start(flags uintptr) (int, error) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return 0, refuse(err, "making a pipe")
	}
	defer unix.Close(pipe[0])
	all, old := ^uint64(0), uint64(0)
	trouble := new([2]uint64)
	p.pins.Pin(trouble)

	// No handler of this process may run in the child.
	if err := sigprocmask(&all, &old); err != nil {
		unix.Close(pipe[1])
		return 0, refuse(err, "blocking signals")
	}
	pid, errno := fork(flags, &p.calls[0], uintptr(len(p.calls)), uintptr(pipe[1]), trouble)
	maskErr := sigprocmask(&old, nil)
	unix.Close(pipe[1])
	if errno != 0 {
		return 0, refuse(errno, "forking")
	}
	if maskErr != nil {
		return int(pid), refuse(maskErr, "unblocking signals")
	}
	return int(pid), p.outcome(pipe[0])
}

// outcome waits for the end of the child's program: the pipe closes at exec,
// or says which call failed and how.
func (p *program) outcome(pipe int) error {
	var msg [16]byte
	got := 0
	for got < len(msg) {
		n, err := unix.Read(pipe, msg[got:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return refuse(err, "hearing from the child")
		}
		if n == 0 {
			break
		}
		got += n
	}
	if got == 0 {
		return nil
	}
	index := binary.NativeEndian.Uint64(msg[:8])
	if got < len(msg) || index >= uint64(len(p.calls)) {
		return refuse(nil, "the child reported %d strange bytes", got)
	}
	c, errno := p.calls[index], unix.Errno(binary.NativeEndian.Uint64(msg[8:]))
	r := &refusal{what: c.name, errno: errno}
	if c.nr == unix.SYS_EXECVE {
		r.outcome = wire.NotExecuted
	}
	if c.nr == unix.SYS_LANDLOCK_RESTRICT_SELF {
		r.what += depthHint(errno)
	}
	return r
}

// depthHint explains the error of landlock_restrict_self that depends on where
// the jail is made.
func depthHint(err error) string {
	if err == unix.E2BIG {
		return " (too many jails inside each other: landlock has 16 layers and a jail takes two, or one where it has namespaces)"
	}
	return ""
}

func sigprocmask(set, old *uint64) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK,
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// fork makes the child, which does the n calls and, if one of them fails, tells
// the pipe its index and error number and exits.
//
// The child is alone with a copy of a runtime whose other threads are gone, as
// in syscall.forkExec: it may not allocate, lock, grow its stack or be
// scheduled. So it only makes system calls, with arguments made before.
//
//go:noinline
//go:norace
//go:nocheckptr
func fork(flags uintptr, calls *call, n, pipe uintptr, trouble *[2]uint64) (pid uintptr, errno unix.Errno) {
	pid, _, errno = unix.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	for i := uintptr(0); i < n; i++ {
		c := (*call)(unsafe.Add(unsafe.Pointer(calls), i*unsafe.Sizeof(call{})))
		got, _, errno := unix.RawSyscall6(c.nr, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], 0)
		if errno == 0 && c.exact && got != c.want {
			errno = unix.ESRCH
		}
		if errno != 0 && !c.optional {
			trouble[0], trouble[1] = uint64(i), uint64(errno)
			unix.RawSyscall(unix.SYS_WRITE, pipe, uintptr(unsafe.Pointer(trouble)), 16)
			break
		}
	}
	for {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 127, 0, 0)
	}
}
