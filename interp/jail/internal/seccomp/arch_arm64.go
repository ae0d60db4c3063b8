//go:build linux

package seccomp

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_AARCH64

// legacy is empty: this architecture began with the newer calls.
var legacy []rule
