//go:build linux && (amd64 || arm64)

package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"
)

// sockType masks the flags off the type argument of socket and socketpair.
const sockType = 0xf

// sockets denies making sockets rather than using them. Without network that
// covers every family and protocol at once, Unix sockets of services too.
//
// Pairs are needed by ordinary programs, but a datagram socket of a pair can
// send to, or be connected to, any path after all; stream and sequential ones
// cannot.
func sockets(o Options) []rule {
	rules := []rule{
		{unix.SYS_SOCKETPAIR, deny(unix.EPERM), []cond{isNot(0, unix.AF_UNIX)}},
		{unix.SYS_SOCKETPAIR, deny(unix.EPERM), []cond{masked(1, sockType, unix.SOCK_STREAM, unix.SOCK_SEQPACKET).but()}},
	}
	switch {
	case o.Network:
		return append(rules,
			rule{unix.SYS_SOCKET, deny(unix.EPERM), []cond{isNot(0, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)}},
			rule{unix.SYS_SOCKET, deny(unix.EPERM), []cond{
				is(0, unix.AF_INET, unix.AF_INET6), masked(1, sockType, unix.SOCK_STREAM, unix.SOCK_DGRAM).but(),
			}},
			rule{unix.SYS_SOCKET, deny(unix.EPERM), []cond{
				is(0, unix.AF_INET, unix.AF_INET6), isNot(2, 0, unix.IPPROTO_TCP, unix.IPPROTO_UDP),
			}},
			// Resolvers ask the kernel for the machine's addresses.
			rule{unix.SYS_SOCKET, deny(unix.EPERM), []cond{is(0, unix.AF_NETLINK), isNot(2, unix.NETLINK_ROUTE)}},
		)
	case o.Ports:
		return slices.Concat(rules, serving, fastOpen, []rule{
			{unix.SYS_SOCKET, deny(unix.EPERM), []cond{isNot(0, unix.AF_INET, unix.AF_INET6)}},
			{unix.SYS_SOCKET, deny(unix.EPERM), []cond{masked(1, sockType, unix.SOCK_STREAM).but()}},
			{unix.SYS_SOCKET, deny(unix.EPERM), []cond{isNot(2, 0, unix.IPPROTO_TCP)}},
		})
	default:
		// The rest is in case a socket came from elsewhere.
		return slices.Concat(rules, serving, every(unix.EPERM, unix.SYS_SOCKET, unix.SYS_CONNECT))
	}
}

// serving waits for others to connect.
var serving = every(unix.EPERM, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4)

// Options of TCP sockets (linux/tcp.h) that connect past Landlock's control of
// ports, or turn the socket into one of another protocol.
const (
	tcpFastOpen, tcpFastOpenConnect, tcpFastOpenKey, tcpFastOpenNoCookie = 23, 30, 33, 34
	tcpULP                                                               = 31
)

// fastOpen is the other way to connect a TCP socket. Programs take this answer
// for a system where it is turned off, and connect.
var fastOpen = []rule{
	{unix.SYS_SENDTO, deny(unix.EOPNOTSUPP), []cond{has(3, unix.MSG_FASTOPEN)}},
	{unix.SYS_SENDMSG, deny(unix.EOPNOTSUPP), []cond{has(2, unix.MSG_FASTOPEN)}},
	{unix.SYS_SENDMMSG, deny(unix.EOPNOTSUPP), []cond{has(3, unix.MSG_FASTOPEN)}},
	{unix.SYS_SETSOCKOPT, deny(unix.EOPNOTSUPP), []cond{
		is(1, unix.IPPROTO_TCP), is(2, tcpFastOpen, tcpFastOpenConnect, tcpFastOpenKey, tcpFastOpenNoCookie, tcpULP),
	}},
}
