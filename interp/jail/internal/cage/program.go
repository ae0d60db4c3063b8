//go:build linux

package cage

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// A call is one system call of the child.
type call struct {
	name string
	nr   uintptr
	args [5]uintptr
	// want is compared with the result if exact is set; otherwise any result
	// that is not an error will do.
	want  uintptr
	exact bool
	// optional marks a call whose failure leaves the guarantee to another.
	optional bool
}

// A program is everything that the child does from fork to exec, in order. The
// last call is the exec.
type program struct {
	calls []call
	pins  runtime.Pinner // the memory that arguments point to
}

func (p *program) free() { p.pins.Unpin() }

// add appends a call.
func (p *program) add(name string, nr uintptr, args ...uintptr) *call {
	p.calls = append(p.calls, call{name: name, nr: nr})
	c := &p.calls[len(p.calls)-1]
	copy(c.args[:], args)
	return c
}

// ref keeps *v alive and in place and returns its address.
func ref[T any](p *program, v *T) uintptr {
	p.pins.Pin(v)
	return uintptr(unsafe.Pointer(v))
}

// newProgram lists the confinement in the order in which it must happen: what
// needs rights before they are dropped, what opens or names files before
// Landlock, and the filter last, as it denies much of the rest.
func newProgram(order wire.Order, rules ruleset) (*program, error) {
	p := &program{}
	dir, kind, err := Open(order.Dir)
	if err != nil {
		return nil, refuse(err, "working directory %q", order.Dir)
	}
	if kind != unix.S_IFDIR {
		return nil, refuse(unix.ENOTDIR, "working directory %q", order.Dir)
	}

	p.resetSignals()
	p.add("leaving the session", unix.SYS_SETSID)
	p.add("tying its life to the helper's", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
	parent := p.add("finding the helper alive", unix.SYS_GETPPID)
	parent.want, parent.exact = uintptr(os.Getpid()), true
	p.add("setting the file mode mask", unix.SYS_UMASK, 0o022)
	// A new keyring, so that what the filter hides is not even there. Denied
	// where an outer filter denies keyrings.
	p.add("leaving the session keyring", unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING).optional = true
	// From here on every descriptor above standard error ends at exec.
	p.add("shedding descriptors", unix.SYS_CLOSE_RANGE, 3, 1<<32-1, unix.CLOSE_RANGE_CLOEXEC)
	p.add("entering the working directory", unix.SYS_FCHDIR, uintptr(dir))
	if err := p.limits(order); err != nil {
		return nil, err
	}
	if err := p.dropCapabilities(); err != nil {
		return nil, err
	}
	if order.Token != "" {
		name, err := unix.BytePtrFromString(order.Token)
		if err != nil {
			return nil, refuse(err, "token")
		}
		p.add("taking a name", unix.SYS_PRCTL, unix.PR_SET_NAME, ref(p, name))
	}
	p.add("giving up new privileges", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
	p.add("entering landlock", unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules.fd), uintptr(rules.flags))
	p.add("unblocking signals", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, ref(p, new(uint64)), 0, 8)
	if err := p.filter(order.Filter); err != nil {
		return nil, err
	}
	return p, p.execute(order)
}

// resetSignals gives every signal its default effect. The helper's handlers
// would end at exec, but what its caller ignored would stay ignored.
func (p *program) resetSignals() {
	none := ref(p, new([8]uint64)) // larger than any architecture's sigaction
	for sig := unix.Signal(1); sig <= 64; sig++ {
		if sig != unix.SIGKILL && sig != unix.SIGSTOP {
			p.add("resetting signals", unix.SYS_RT_SIGACTION, uintptr(sig), none, 0, 8)
		}
	}
}

// filter adds the entry into the system call filter, of which the helper takes
// the caller's word: building it here would be paid for by every command.
func (p *program) filter(instructions []uint64) error {
	if len(instructions) == 0 || len(instructions) > unix.BPF_MAXINSNS {
		return refuse(nil, "the system call filter has %d instructions", len(instructions))
	}
	prog := &unix.SockFprog{
		Len:    uint16(len(instructions)),
		Filter: (*unix.SockFilter)(unsafe.Pointer(&instructions[0])),
	}
	p.pins.Pin(&instructions[0])
	p.add("entering the system call filter", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, ref(p, prog))
	return nil
}

func (p *program) execute(order wire.Order) error {
	path, err := unix.BytePtrFromString(order.Path)
	if err != nil {
		return refuse(err, "command %q", order.Path)
	}
	var lists [2]*[]*byte
	for i, texts := range [][]string{order.Args, order.Env} {
		list := make([]*byte, 0, len(texts)+1)
		for _, text := range texts {
			ptr, err := unix.BytePtrFromString(text)
			if err != nil {
				return refuse(err, "arguments and environment of %q", order.Path)
			}
			p.pins.Pin(ptr)
			list = append(list, ptr)
		}
		list = append(list, nil)
		lists[i] = &list
	}
	p.add("executing the command", unix.SYS_EXECVE,
		ref(p, path), ref(p, &(*lists[0])[0]), ref(p, &(*lists[1])[0]))
	return nil
}
