package jail

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail"
)

func localhost(port int) *unix.SockaddrInet4 {
	return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

// onePort grants TCP to the world's listener, and allNetwork everything over IP.
func onePort(p *jail.Policy, w *world)    { p.Ports = []uint16{uint16(w.TCP)} }
func allNetwork(p *jail.Policy, _ *world) { p.Network = true }

func connectTo(port, proto int) error {
	return socketThen(unix.AF_INET, unix.SOCK_STREAM, proto, func(fd int) error { return unix.Connect(fd, localhost(port)) })
}

// socketThen makes a socket and uses it.
func socketThen(domain, kind, proto int, use func(fd int) error) error {
	fd, err := unix.Socket(domain, kind, proto)
	if err != nil {
		return err
	}
	return use(fd)
}

// pairThen uses one end of a socket pair, which takes no socket call.
func pairThen(kind int, use func(fd int) error) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err != nil {
		return err
	}
	return use(fds[0])
}

func nothing(int) error { return nil }

const (
	noSocket    = "EPERM EACCES"
	noMultipath = "this kernel has no multipath tcp"
	noFastOpen  = "tcp fast open is switched off"
)

func fastOpen(port int) error {
	return socketThen(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
		return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, localhost(port))
	})
}

func sendDatagram(w *world) error {
	return socketThen(unix.AF_INET, unix.SOCK_DGRAM, 0, func(fd int) error { return unix.Sendto(fd, []byte("x"), 0, localhost(w.UDP)) })
}

func connectUnix(w *world) error {
	return socketThen(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Connect(fd, &unix.SockaddrUnix{Name: w.Stream}) })
}

func datagramFromPair(w *world) error {
	return pairThen(unix.SOCK_DGRAM, func(fd int) error {
		return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: w.Datagram})
	})
}

var networkProbes = []probe{
	denied(32, "tcp connect", "network", noSocket, func(w *world) error { return connectTo(w.TCP, 0) }),
	allowed(32, "tcp connect to a granted port", func(w *world) error { return connectTo(w.TCP, 0) }).widened(onePort),
	denied(32, "tcp connect to another port", "network", noSocket, func(w *world) error { return connectTo(w.Other, 0) }).widened(onePort),
	allowed(32, "tcp connect to any port", func(w *world) error { return connectTo(w.Other, 0) }).widened(allNetwork),
	denied(33, "tcp bind beside a grant", "network", noSocket, func(w *world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Bind(fd, localhost(0)) })
	}).widened(onePort),
	denied(33, "tcp bind", "network", noSocket, func(*world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Bind(fd, localhost(0)) })
	}),
	denied(33, "tcp bind over ipv6", "network", noSocket, func(*world) error {
		return socketThen(unix.AF_INET6, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Bind(fd, &unix.SockaddrInet6{}) })
	}).butHard("no ipv6 here"),
	denied(34, "multipath tcp connect", "network", noSocket, func(w *world) error { return connectTo(w.TCP, unix.IPPROTO_MPTCP) }).
		butHard(noMultipath),
	denied(34, "multipath tcp beside a grant", "network", noSocket, func(w *world) error { return connectTo(w.Other, unix.IPPROTO_MPTCP) }).
		butHard(noMultipath).widened(onePort),
	denied(35, "tcp fast open", "network", noSocket, func(w *world) error { return fastOpen(w.TCP) }).butHard(noFastOpen),
	// EOPNOTSUPP makes a client connect as others do.
	denied(35, "fast open beside a grant", "network", noSocket+" EOPNOTSUPP", func(w *world) error { return fastOpen(w.Other) }).
		butHard(noFastOpen).widened(onePort),
	denied(35, "fast open by message", "network", noSocket+" EOPNOTSUPP", func(w *world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
			return unix.Sendmsg(fd, []byte("x"), nil, localhost(w.Other), unix.MSG_FASTOPEN)
		})
	}).butHard(noFastOpen).widened(onePort),
	denied(35, "fast open by connect", "network", noSocket+" EOPNOTSUPP", func(w *world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
			if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1); err != nil {
				return err
			}
			if err := unix.Connect(fd, localhost(w.Other)); err != nil {
				return err
			}
			_, err := unix.Write(fd, []byte("x"))
			return err
		})
	}).butHard(noFastOpen).widened(onePort),
	denied(36, "listen without bind", "network", noSocket, func(*world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Listen(fd, 1) })
	}),
	denied(37, "udp send", "network", noSocket, sendDatagram),
	denied(37, "udp send beside a grant", "network", noSocket, sendDatagram).widened(onePort),
	denied(37, "udp bind", "network", noSocket, func(*world) error {
		return socketThen(unix.AF_INET, unix.SOCK_DGRAM, 0, func(fd int) error { return unix.Bind(fd, localhost(0)) })
	}),
	denied(38, "netlink", "network", noSocket, func(*world) error {
		return socketThen(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE, nothing)
	}),
	denied(39, "vsock", "network", noSocket, func(*world) error { return socketThen(unix.AF_VSOCK, unix.SOCK_STREAM, 0, nothing) }).
		butHard("this kernel has no vsock"),
	denied(40, "packet socket", "network", noSocket, func(*world) error { return socketThen(unix.AF_PACKET, unix.SOCK_RAW, 0, nothing) }).
		butHard("only root makes them"),
	denied(40, "raw socket", "network", noSocket, func(*world) error {
		return socketThen(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, nothing)
	}).butHard("only root makes them"),
	denied(41, "unix connect", "unix-sockets", noSocket, connectUnix),
	denied(41, "unix connect, network granted", "unix-sockets", noSocket, connectUnix).widened(allNetwork),
	denied(42, "unix datagram", "unix-sockets", noSocket, func(w *world) error {
		return socketThen(unix.AF_UNIX, unix.SOCK_DGRAM, 0, func(fd int) error {
			return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: w.Datagram})
		})
	}),
	denied(42, "unix datagram from a pair", "unix-sockets", noSocket, datagramFromPair),
	denied(42, "the same, network granted", "unix-sockets", noSocket, datagramFromPair).widened(allNetwork),
	denied(42, "unix message from a pair", "unix-sockets", noSocket, func(w *world) error {
		return pairThen(unix.SOCK_DGRAM, func(fd int) error {
			return unix.Sendmsg(fd, []byte("x"), nil, &unix.SockaddrUnix{Name: w.Datagram}, 0)
		})
	}),
	denied(42, "unix connect from a pair", "unix-sockets", noSocket, func(w *world) error {
		return pairThen(unix.SOCK_DGRAM, func(fd int) error { return unix.Connect(fd, &unix.SockaddrUnix{Name: w.Datagram}) })
	}),
	denied(43, "abstract connect", "unix-sockets", noSocket, func(w *world) error {
		return socketThen(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error {
			return unix.Connect(fd, &unix.SockaddrUnix{Name: "@" + w.Abstract})
		})
	}),
	denied(43, "abstract bind", "unix-sockets", noSocket, func(w *world) error {
		return socketThen(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error {
			return unix.Bind(fd, &unix.SockaddrUnix{Name: "@" + w.Abstract + "-2"})
		})
	}),
	denied(44, "socket by io_uring", "kernel", "ENOSYS EPERM", func(*world) error { return ringSocket() }).
		butHard("io_uring is switched off, or too old to make sockets"),
}

// Where struct io_uring_params (linux/io_uring.h) holds what is used here, in
// words of 32 bits, and the layout of the rings.
const (
	ringParams    = 30
	sqHead        = 10 // of struct io_sqring_offsets: head, tail, mask, entries, flags, dropped, array
	cqHead        = 20 // of struct io_cqring_offsets: head, tail, mask, entries, overflow, cqes
	ringSize      = 4096
	ringEntries   = 0x10000000 // offset at which submission entries are mapped
	opSocket      = 45
	enterGetEvent = 1
)

// ringSocket makes a socket without a system call that says so.
func ringSocket() error {
	var params [ringParams]uint32
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		return errno
	}
	ring, err := unix.Mmap(int(fd), 0, ringSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("ring: %w", err)
	}
	entries, err := unix.Mmap(int(fd), ringEntries, ringSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("ring entries: %w", err)
	}
	word := func(mem []byte, offset uint32) *uint32 { return (*uint32)(unsafe.Pointer(&mem[offset])) }
	entries[0] = opSocket
	*word(entries, 4) = unix.AF_INET
	*word(entries, 8) = unix.SOCK_STREAM
	*word(ring, params[sqHead+6]) = 0 // the first entry
	atomic.StoreUint32(word(ring, params[sqHead+1]), 1)
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, fd, 1, 1, enterGetEvent, 0, 0); errno != 0 {
		return errno
	}
	if res := int32(*word(ring, params[cqHead+5]+8)); res < 0 {
		return unix.Errno(-res)
	}
	return nil
}
