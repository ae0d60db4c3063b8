package jail

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A veto makes a system call fail, as a container or an old kernel would.
type veto struct {
	Call  uint32
	Errno uint32
	// Flags: only when its first argument has one of these bits. Zero: always.
	Flags uint32
}

// Offsets in struct seccomp_data; the low half of an argument on the little
// endian machines that the jail has a filter for.
const (
	dataCall  = 0
	dataFirst = 16
)

// install makes vetoes hold for this thread and whatever it executes.
func install(vetoes []veto) error {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		bits  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		end   = unix.BPF_RET | unix.BPF_K
	)
	var program []unix.SockFilter
	for _, v := range vetoes {
		answer := unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | v.Errno}
		program = append(program, unix.SockFilter{Code: load, K: dataCall})
		if v.Flags == 0 {
			program = append(program, unix.SockFilter{Code: equal, Jf: 1, K: v.Call}, answer)
			continue
		}
		program = append(program,
			unix.SockFilter{Code: equal, Jf: 3, K: v.Call},
			unix.SockFilter{Code: load, K: dataFirst},
			unix.SockFilter{Code: bits, Jf: 1, K: v.Flags},
			answer)
	}
	program = append(program, unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("filter: %w", errno)
	}
	return nil
}

const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// noNamespaces forbids namespaces, as containers do.
var noNamespaces = []veto{
	{Call: unix.SYS_UNSHARE, Errno: uint32(unix.EPERM)},
	{Call: unix.SYS_SETNS, Errno: uint32(unix.EPERM)},
	{Call: unix.SYS_CLONE, Errno: uint32(unix.EPERM), Flags: newNamespaces},
	{Call: unix.SYS_CLONE3, Errno: uint32(unix.ENOSYS)},
}

// containerRules are what the default rules of a common container engine
// forbid to a container without special capabilities.
var containerRules = append(forbid(unix.EPERM,
	unix.SYS_ACCT, unix.SYS_ADD_KEY, unix.SYS_BPF, unix.SYS_CLOCK_SETTIME, unix.SYS_DELETE_MODULE, unix.SYS_FINIT_MODULE,
	unix.SYS_INIT_MODULE, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_KCMP,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEYCTL, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_MOUNT, unix.SYS_MOVE_PAGES, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_MOUNT_SETATTR, unix.SYS_PERF_EVENT_OPEN, unix.SYS_PIVOT_ROOT, unix.SYS_QUOTACTL, unix.SYS_REBOOT, unix.SYS_REQUEST_KEY,
	unix.SYS_SETTIMEOFDAY, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_UMOUNT2, unix.SYS_USERFAULTFD, unix.SYS_VHANGUP,
), noNamespaces...)

func forbid(errno unix.Errno, calls ...uint32) []veto {
	vetoes := make([]veto, len(calls))
	for i, call := range calls {
		vetoes[i] = veto{Call: call, Errno: uint32(errno)}
	}
	return vetoes
}

// dropCapabilities leaves root of the process no more than containers have by
// default. It is nothing for others, who have none.
func dropCapabilities() error {
	const kept = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_KILL |
		1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_SETPCAP | 1<<unix.CAP_NET_BIND_SERVICE | 1<<unix.CAP_NET_RAW |
		1<<unix.CAP_SYS_CHROOT | 1<<unix.CAP_MKNOD | 1<<unix.CAP_AUDIT_WRITE | 1<<unix.CAP_SETFCAP
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&head, &have[0]); err != nil {
		return fmt.Errorf("reading capabilities: %w", err)
	}
	if have[0].Effective&(1<<unix.CAP_SETPCAP) == 0 {
		return nil
	}
	for c := uintptr(0); ; c++ {
		if _, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0); err != nil {
			break // past the last one
		}
		if c < 32 && kept&(1<<c) != 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return fmt.Errorf("dropping capability %d: %w", c, err)
		}
	}
	have[0].Effective, have[0].Permitted, have[0].Inheritable = have[0].Effective&kept, have[0].Permitted&kept, 0
	have[1] = unix.CapUserData{}
	if err := unix.Capset(&head, &have[0]); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	return nil
}
