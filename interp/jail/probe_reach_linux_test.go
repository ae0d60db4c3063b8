package jail_test

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func localhost(port int) *unix.SockaddrInet4 {
	return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

// socketThen makes a socket and uses it; in the jail the making fails.
func socketThen(domain, kind, proto int, use func(fd int) error) error {
	fd, err := unix.Socket(domain, kind, proto)
	if err != nil {
		return err
	}
	return use(fd)
}

// pairThen uses one end of a pair.
func pairThen(kind int, use func(fd int) error) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err != nil {
		return err
	}
	return use(fds[0])
}

var socketProbes = []probe{
	{"tcp connect", "EPERM", func(w world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Connect(fd, localhost(w.TCP)) })
	}},
	{"tcp bind", "EPERM", func(world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Bind(fd, localhost(0)) })
	}},
	{"tcp listen without bind", "EPERM", func(world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Listen(fd, 1) })
	}},
	{"tcp fast open", "EPERM", func(w world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
			return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, localhost(w.TCP))
		})
	}},
	{"multipath tcp connect", "EPERM", func(w world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, func(fd int) error { return unix.Connect(fd, localhost(w.TCP)) })
	}},
	{"udp send", "EPERM", func(w world) error {
		return socketThen(unix.AF_INET, unix.SOCK_DGRAM, 0, func(fd int) error { return unix.Sendto(fd, []byte("x"), 0, localhost(w.UDP)) })
	}},
	{"udp bind", "EPERM", func(world) error {
		return socketThen(unix.AF_INET, unix.SOCK_DGRAM, 0, func(fd int) error { return unix.Bind(fd, localhost(0)) })
	}},
	{"netlink", "EPERM", func(world) error {
		return socketThen(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE, func(int) error { return nil })
	}},
	{"vsock", "EPERM", func(world) error {
		return socketThen(unix.AF_VSOCK, unix.SOCK_STREAM, 0, func(int) error { return nil })
	}},
	{"packet socket", "EPERM", func(world) error {
		return socketThen(unix.AF_PACKET, unix.SOCK_RAW, 0, func(int) error { return nil })
	}},
	{"unix connect", "EPERM", func(w world) error {
		return socketThen(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Connect(fd, &unix.SockaddrUnix{Name: w.Stream}) })
	}},
	{"unix datagram", "EPERM", func(w world) error {
		return socketThen(unix.AF_UNIX, unix.SOCK_DGRAM, 0, func(fd int) error {
			return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: w.Datagram})
		})
	}},
	{"unix abstract connect", "EPERM", func(w world) error {
		return socketThen(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Connect(fd, &unix.SockaddrUnix{Name: "@" + w.Abstract}) })
	}},
	{"unix abstract bind", "EPERM", func(w world) error {
		return socketThen(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Bind(fd, &unix.SockaddrUnix{Name: "@" + w.Abstract + "-2"}) })
	}},
	// A pair needs no socket call, and one of its datagram ends can still be
	// pointed elsewhere.
	{"unix datagram from a pair", "EPERM", func(w world) error {
		return pairThen(unix.SOCK_DGRAM, func(fd int) error {
			return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: w.Datagram})
		})
	}},
	{"unix connect from a pair", "EPERM", func(w world) error {
		return pairThen(unix.SOCK_DGRAM, func(fd int) error { return unix.Connect(fd, &unix.SockaddrUnix{Name: w.Datagram}) })
	}},
}

var processProbes = []probe{
	{"signal a process", "EPERM", func(w world) error { return unix.Kill(w.Victim, 0) }},
	{"signal the parent", "EPERM", func(world) error { return unix.Kill(os.Getppid(), 0) }},
	{"signal a thread of the parent", "EPERM", func(world) error { return unix.Tgkill(os.Getppid(), os.Getppid(), 0) }},
	{"signal by pidfd", "EPERM", func(w world) error {
		fd, err := unix.PidfdOpen(w.Victim, 0)
		if err != nil {
			return fmt.Errorf("opening: %w", err)
		}
		return unix.PidfdSendSignal(fd, 0, nil, 0)
	}},
	{"trace a process", "EPERM", func(w world) error {
		if err := unix.PtraceAttach(w.Victim); err != nil {
			return err
		}
		_, err := unix.Wait4(w.Victim, nil, unix.WALL, nil)
		return err
	}},
	{"trace the parent", "EPERM", func(world) error { return unix.PtraceSeize(os.Getppid()) }},
	{"read memory of a process", "EPERM", func(w world) error {
		buf := make([]byte, 1)
		_, err := unix.ProcessVMReadv(w.Victim, []unix.Iovec{{Base: &buf[0], Len: 1}}, []unix.RemoteIovec{{Base: 0, Len: 1}}, 0)
		if err == unix.EFAULT { // permission was no problem
			return nil
		}
		return err
	}},
	{"take a descriptor of a process", "EPERM", func(w world) error {
		fd, err := unix.PidfdOpen(w.Victim, 0)
		if err != nil {
			return fmt.Errorf("opening: %w", err)
		}
		_, err = unix.PidfdGetfd(fd, 0, 0)
		return err
	}},
	{"environment of a process", "EACCES", func(w world) error { return read(fmt.Sprintf("/proc/%d/environ", w.Victim)) }},
	{"memory file of a process", "EACCES", func(w world) error {
		_, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", w.Victim), os.O_RDWR, 0)
		return err
	}},
	{"descriptors of the parent", "EACCES", func(world) error {
		_, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", os.Getppid()))
		return err
	}},
	{"limits of a process", "EPERM", func(w world) error {
		return unix.Prlimit(w.Victim, unix.RLIMIT_CORE, nil, &unix.Rlimit{})
	}},
	{"niceness of a process", "EPERM", func(w world) error { return unix.Setpriority(unix.PRIO_PROCESS, w.Victim, 19) }},
	{"processor of a process", "EPERM", func(w world) error {
		var set unix.CPUSet
		set.Set(0)
		return unix.SchedSetaffinity(w.Victim, &set)
	}},
	{"signals from a descriptor", "EPERM", func(w world) error {
		_, err := unix.FcntlInt(0, unix.F_SETOWN, w.Victim)
		return err
	}},
}

func raw(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	return nil
}

var kernelProbes = []probe{
	{"user namespace", "EPERM", func(world) error {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
		return cmd.Run()
	}},
	{"mount", "EPERM", func(w world) error {
		err := unix.Mount("none", w.in("dir"), "tmpfs", 0, "")
		if err == nil {
			unix.Unmount(w.in("dir"), 0)
		}
		return err
	}},
	{"chroot", "EPERM", func(w world) error { return unix.Chroot(w.In) }},
	{"file by handle", "EPERM", func(w world) error {
		_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, w.out("file"), 0)
		return err
	}},
	{"keyring", "EPERM", func(world) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
		return err
	}},
	{"io_uring", "ENOSYS", func(world) error {
		return raw(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(new([128]byte))))
	}},
	{"userfaultfd", "EPERM", func(world) error { return raw(unix.SYS_USERFAULTFD, 1) }},
	{"bpf", "EPERM", func(world) error {
		// BPF_MAP_CREATE of an array of one.
		return raw(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&[18]uint32{2, 4, 4, 1})), 72)
	}},
	{"system v memory", "EPERM", func(world) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		if err == nil {
			unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
		return err
	}},
	{"message queue", "EPERM", func(world) error {
		name, _ := unix.BytePtrFromString(fmt.Sprintf("steps-jail-test-%d", os.Getpid()))
		defer raw(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)))
		return raw(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), unix.O_CREAT|unix.O_RDWR, 0o600)
	}},
	{"terminal", "EACCES", func(world) error { _, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); return err }},
	{"new terminal", "EACCES", func(world) error { _, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0); return err }},
}
