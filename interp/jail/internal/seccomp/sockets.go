//go:build linux && (amd64 || arm64)

package seccomp

import "golang.org/x/sys/unix"

// sockType masks the flags off the type argument of socket and socketpair.
const sockType = 0xf

// sockets denies making sockets rather than using them. Without network that
// covers every family and protocol at once, Unix sockets of services too.
//
// Pairs are needed by ordinary programs, but a datagram socket of a pair can
// send to, or be connected to, any path after all; stream and sequential ones
// cannot.
func sockets(network bool) []rule {
	rules := []rule{
		{unix.SYS_SOCKETPAIR, deny(unix.EPERM), []cond{isNot(0, unix.AF_UNIX)}},
		{unix.SYS_SOCKETPAIR, deny(unix.EPERM), []cond{masked(1, sockType, unix.SOCK_STREAM, unix.SOCK_SEQPACKET).but()}},
	}
	if !network {
		// The rest is in case a socket came from elsewhere.
		return append(rules, every(unix.EPERM, unix.SYS_SOCKET, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN,
			unix.SYS_ACCEPT, unix.SYS_ACCEPT4)...)
	}
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
}
