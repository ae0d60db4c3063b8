//go:build linux && !amd64 && !arm64

package seccomp

import "golang.org/x/sys/unix"

// Supported tells whether there is a filter for this architecture.
const Supported = false

// Options are the parts of the filter that depend on the policy.
type Options struct {
	Network bool // allow TCP and UDP over IP
	Ports   bool // allow TCP connections, which Landlock confines to ports
	IPC     bool // allow System V and POSIX message IPC
}

// Filter returns a program that allows nothing.
func Filter(Options) []unix.SockFilter {
	return []unix.SockFilter{ret(unix.SECCOMP_RET_KILL_PROCESS)}
}
