//go:build linux

package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"
)

const arch = unix.AUDIT_ARCH_X86_64

// legacy are the calls that newer architectures never had.
var legacy = slices.Concat(
	[]rule{
		{unix.SYS_CHMOD, deny(unix.EPERM), []cond{has(1, setID)}},
		{unix.SYS_OPEN, deny(unix.EPERM), []cond{has(1, creates), has(2, setID)}},
		{unix.SYS_CREAT, deny(unix.EPERM), []cond{has(1, setID)}},
		{unix.SYS_MKDIR, deny(unix.EPERM), []cond{has(1, setID)}},
		{unix.SYS_MKNOD, deny(unix.EPERM), []cond{has(1, setID)}},
		{unix.SYS_MKNOD, deny(unix.EPERM), []cond{masked(1, unix.S_IFMT, unix.S_IFCHR, unix.S_IFBLK)}},
	},
	every(unix.EPERM, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT),
	every(unix.ENOSYS, unix.SYS_USELIB, unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE, unix.SYS__SYSCTL),
)
