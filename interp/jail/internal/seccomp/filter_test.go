//go:build linux && (amd64 || arm64)

package seccomp

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// eval runs a filter program as the kernel does, for the instructions that
// assemble emits; others are an error.
func eval(prog []unix.SockFilter, data []byte) (uint32, error) {
	var a uint32
	for pc := 0; pc < len(prog); pc++ {
		switch in := prog[pc]; in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			if int(in.K)+4 > len(data) || in.K%4 != 0 {
				return 0, fmt.Errorf("%d: load at %d", pc, in.K)
			}
			a = binary.LittleEndian.Uint32(data[in.K:])
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= in.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			yes := a == in.K
			switch in.Code {
			case unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K:
				yes = a > in.K
			case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
				yes = a >= in.K
			}
			if yes {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		case unix.BPF_JMP | unix.BPF_JA:
			pc += int(in.K)
		case unix.BPF_RET | unix.BPF_K:
			return in.K, nil
		default:
			return 0, fmt.Errorf("%d: instruction %#x", pc, in.Code)
		}
	}
	return 0, fmt.Errorf("ran off the end")
}

func call(arch, nr uint32, args ...uint64) []byte {
	data := make([]byte, 64)
	binary.LittleEndian.PutUint32(data[offNr:], nr)
	binary.LittleEndian.PutUint32(data[offArch:], arch)
	for i, arg := range args {
		binary.LittleEndian.PutUint64(data[offArgs+8*i:], arg)
	}
	return data
}

const (
	eperm = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	nosys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	notty = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOTTY)
	nosup = unix.SECCOMP_RET_ERRNO | uint32(unix.EOPNOTSUPP)
)

func TestFilter(t *testing.T) {
	t.Parallel()
	none, net, ports, shm := Options{}, Options{Network: true}, Options{Ports: true}, Options{IPC: true}
	const junk = uint64(0xdeadbeef) << 32
	for _, tc := range []struct {
		name string
		o    Options
		nr   uint32
		args []uint64
		want uint32
	}{
		{"read", none, unix.SYS_READ, nil, allow},
		{"execve", none, unix.SYS_EXECVE, nil, allow},
		{"execveat", none, unix.SYS_EXECVEAT, nil, eperm},
		{"memory file", none, unix.SYS_MEMFD_CREATE, []uint64{0, unix.MFD_CLOEXEC | unix.MFD_EXEC}, nosys},
		{"memory file, never executable", none, unix.SYS_MEMFD_CREATE, []uint64{0, unix.MFD_CLOEXEC | unix.MFD_NOEXEC_SEAL}, allow},
		{"unknown number", none, newest + 1, nil, nosys},
		{"x32", none, 1<<30 | unix.SYS_READ, nil, nosys},
		{"negative number", none, 1<<32 - 1, nil, nosys},
		{"fork", none, unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, allow},
		{"thread", none, unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, allow},
		{"clone user namespace", none, unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | junk}, eperm},
		{"clone3", none, unix.SYS_CLONE3, nil, nosys},
		{"socket inet", none, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM}, eperm},
		{"socket unix", none, unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, eperm},
		{"pair of streams", none, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, allow},
		{"pair of packets", none, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET}, allow},
		{"pair of datagrams", none, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC}, eperm},
		{"pair of raw", none, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_RAW}, eperm},
		{"pair of datagrams, network", net, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM}, eperm},
		{"pair of inet", net, unix.SYS_SOCKETPAIR, []uint64{unix.AF_INET, unix.SOCK_STREAM}, eperm},
		{"connect", none, unix.SYS_CONNECT, nil, eperm},
		{"connect, network", net, unix.SYS_CONNECT, nil, allow},
		{"tcp, network", net, unix.SYS_SOCKET, []uint64{unix.AF_INET6 | junk, unix.SOCK_STREAM | unix.SOCK_NONBLOCK, unix.IPPROTO_TCP}, allow},
		{"udp, network", net, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_DGRAM, 0}, allow},
		{"mptcp, network", net, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, eperm},
		{"ping, network", net, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP}, eperm},
		{"raw, network", net, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_RAW, 0}, eperm},
		{"unix, network", net, unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, eperm},
		{"vsock, network", net, unix.SYS_SOCKET, []uint64{unix.AF_VSOCK, unix.SOCK_STREAM}, eperm},
		{"packet, network", net, unix.SYS_SOCKET, []uint64{unix.AF_PACKET, unix.SOCK_RAW}, eperm},
		{"netlink route, network", net, unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW | unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE}, allow},
		{"netlink audit, network", net, unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, eperm},
		{"tcp, ports", ports, unix.SYS_SOCKET, []uint64{unix.AF_INET6, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 0}, allow},
		{"udp, ports", ports, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_DGRAM, 0}, eperm},
		{"mptcp, ports", ports, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, eperm},
		{"sctp, ports", ports, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, eperm},
		{"smc, ports", ports, unix.SYS_SOCKET, []uint64{unix.AF_SMC, unix.SOCK_STREAM, 0}, eperm},
		{"unix, ports", ports, unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, eperm},
		{"netlink, ports", ports, unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, eperm},
		{"connect, ports", ports, unix.SYS_CONNECT, nil, allow},
		{"bind, ports", ports, unix.SYS_BIND, nil, eperm},
		{"listen, ports", ports, unix.SYS_LISTEN, nil, eperm},
		{"accept, ports", ports, unix.SYS_ACCEPT4, nil, eperm},
		{"send, ports", ports, unix.SYS_SENDTO, []uint64{3, 0, 0, unix.MSG_NOSIGNAL}, allow},
		{"send and connect, ports", ports, unix.SYS_SENDTO, []uint64{3, 0, 0, unix.MSG_FASTOPEN | unix.MSG_NOSIGNAL}, nosup},
		{"message and connect, ports", ports, unix.SYS_SENDMSG, []uint64{3, 0, unix.MSG_FASTOPEN | junk}, nosup},
		{"messages and connect, ports", ports, unix.SYS_SENDMMSG, []uint64{3, 0, 1, unix.MSG_FASTOPEN}, nosup},
		{"connect at the first write, ports", ports, unix.SYS_SETSOCKOPT, []uint64{3, unix.IPPROTO_TCP | junk, tcpFastOpenConnect}, nosup},
		{"no delay, ports", ports, unix.SYS_SETSOCKOPT, []uint64{3, unix.IPPROTO_TCP, unix.TCP_NODELAY}, allow},
		{"chmod 755", none, unix.SYS_FCHMODAT, []uint64{0, 0, 0o755}, allow},
		{"chmod u+s", none, unix.SYS_FCHMODAT, []uint64{0, 0, 0o4755}, eperm},
		{"chmod g+s", none, unix.SYS_FCHMOD, []uint64{0, 0o2755}, eperm},
		{"chmod +t", none, unix.SYS_FCHMOD, []uint64{0, 0o1777}, allow},
		{"fchmodat2 u+s", none, unix.SYS_FCHMODAT2, []uint64{0, 0, 0o4755}, eperm},
		{"open, stale mode", none, unix.SYS_OPENAT, []uint64{0, 0, unix.O_RDONLY | unix.O_DIRECTORY, 0o4755}, allow},
		{"create u+s", none, unix.SYS_OPENAT, []uint64{0, 0, unix.O_WRONLY | unix.O_CREAT, 0o4755}, eperm},
		{"create 644", none, unix.SYS_OPENAT, []uint64{0, 0, unix.O_WRONLY | unix.O_CREAT, 0o644}, allow},
		{"temporary u+s", none, unix.SYS_OPENAT, []uint64{0, 0, unix.O_WRONLY | unix.O_TMPFILE, 0o4755}, eperm},
		{"openat2", none, unix.SYS_OPENAT2, nil, nosys},
		{"mkfifo", none, unix.SYS_MKNODAT, []uint64{0, 0, unix.S_IFIFO | 0o644}, allow},
		{"mknod character", none, unix.SYS_MKNODAT, []uint64{0, 0, unix.S_IFCHR | 0o644}, eperm},
		{"mknod block", none, unix.SYS_MKNODAT, []uint64{0, 0, unix.S_IFBLK | 0o644}, eperm},
		{"mknod u+s", none, unix.SYS_MKNODAT, []uint64{0, 0, unix.S_IFREG | 0o4644}, eperm},
		{"setxattr", none, unix.SYS_LSETXATTR, nil, nosup},
		{"getxattr", none, unix.SYS_GETXATTR, nil, allow},
		{"TCGETS", none, unix.SYS_IOCTL, []uint64{1, unix.TCGETS}, allow},
		{"TIOCSTI", none, unix.SYS_IOCTL, []uint64{1, unix.TIOCSTI}, notty},
		{"TIOCSTI, high bits", none, unix.SYS_IOCTL, []uint64{1, unix.TIOCSTI | junk}, notty},
		{"FICLONE, the middle of the list", none, unix.SYS_IOCTL, []uint64{1, unix.FICLONE | junk}, allow},
		{"last of the list", none, unix.SYS_IOCTL, []uint64{1, fsGetXattr}, allow},
		{"FS_IOC_SETFLAGS", none, unix.SYS_IOCTL, []uint64{1, unix.FS_IOC_SETFLAGS}, notty},
		{"own limit", none, unix.SYS_PRLIMIT64, []uint64{0 | junk}, allow},
		{"other's limit", none, unix.SYS_PRLIMIT64, []uint64{7}, eperm},
		{"own niceness", none, unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, 0, 5}, allow},
		{"user's niceness", none, unix.SYS_SETPRIORITY, []uint64{unix.PRIO_USER, 0, 5}, eperm},
		{"other's niceness", none, unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, 9, 5}, eperm},
		{"F_SETFL", none, unix.SYS_FCNTL, []uint64{1, unix.F_SETFL}, allow},
		{"F_SETOWN", none, unix.SYS_FCNTL, []uint64{1, unix.F_SETOWN}, eperm},
		{"shmget", none, unix.SYS_SHMGET, nil, eperm},
		{"shmget, gap", shm, unix.SYS_SHMGET, nil, allow},
		{"mq_open", none, unix.SYS_MQ_OPEN, nil, eperm},
		{"io_uring_setup", none, unix.SYS_IO_URING_SETUP, nil, nosys},
		{"keyctl", none, unix.SYS_KEYCTL, nil, eperm},
		{"landlock, for a jail inside", none, unix.SYS_LANDLOCK_RESTRICT_SELF, nil, allow},
		{"seccomp, for a jail inside", none, unix.SYS_SECCOMP, nil, allow},
	} {
		got, err := eval(Filter(tc.o), call(arch, tc.nr, tc.args...))
		if err != nil || got != tc.want {
			t.Errorf("%s: got %#x, %v; want %#x", tc.name, got, err, tc.want)
		}
	}
}

// Whatever the shape of the program, it gives the answer of the first rule that
// fits.
func TestFilterFollowsTheRules(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {Network: true}, {Ports: true}, {IPC: true}} {
		prog, rules := Filter(o), rules(o)
		for nr := uint32(0); nr <= newest; nr++ {
			for _, arg := range []uint64{0, 1, 6, 0o4755, 1 << 28, 1<<64 - 1} {
				args := []uint64{arg, arg, arg, arg, arg, arg}
				want := uint32(allow)
				for _, r := range rules {
					if r.nr == nr && r.fits(args) {
						want = r.answer
						break
					}
				}
				if got, err := eval(prog, call(arch, nr, args...)); err != nil || got != want {
					t.Fatalf("%+v: call %d with %#x: %#x, %v, want %#x", o, nr, arg, got, err, want)
				}
			}
		}
	}
}

func (r rule) fits(args []uint64) bool {
	for _, c := range r.when {
		v := uint32(args[c.arg])
		if c.high {
			v = uint32(args[c.arg] >> 32)
		}
		if slices.Contains(c.values, v&c.mask) == c.not {
			return false
		}
	}
	return true
}

func TestForeignArchitectureDies(t *testing.T) {
	t.Parallel()
	for _, foreign := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, 0} {
		got, err := eval(Filter(Options{Network: true, IPC: true}), call(foreign, unix.SYS_READ))
		if err != nil || got != unix.SECCOMP_RET_KILL_PROCESS {
			t.Errorf("architecture %#x: %#x, %v", foreign, got, err)
		}
	}
}

// The kernel's bound on a program is 4096 instructions; ours leaves room for
// filters of a jail around or inside.
func TestFilterIsShort(t *testing.T) {
	t.Parallel()
	if n := len(Filter(Options{})); n > 512 {
		t.Errorf("%d instructions", n)
	}
}

func FuzzFilter(f *testing.F) {
	progs := [][]unix.SockFilter{Filter(Options{}), Filter(Options{Network: true}), Filter(Options{Ports: true}), Filter(Options{IPC: true})}
	f.Add(call(arch, unix.SYS_IOCTL, 0, unix.TIOCSTI))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = append(data, make([]byte, 64)...)[:64]
		for _, prog := range progs {
			if _, err := eval(prog, data); err != nil {
				t.Error(err)
			}
		}
	})
}
