package jail

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/cage"
	"steps.example/interp/jail/internal/seccomp"
)

// newestABI is the last Landlock version whose rights the helper handles. A
// newer kernel enforces it all the same.
const newestABI = 11

// signalErratum is set in the kernel's errata when the signal scope treats the
// threads of one process alike. Without it the scope is not relied upon.
const signalErratum = 1 << 1

// tryNamespaces is tried once: it costs about as much as starting a program.
var tryNamespaces = sync.OnceValue(cage.TryNamespaces)

// Check reports what this machine offers. It changes nothing, here or
// elsewhere, and needs no rights.
func Check() Support {
	s := Support{System: runtime.GOOS + "/" + runtime.GOARCH}
	s.Landlock = landlockABI(&s)
	s.Seccomp = seccompActions(&s)
	if _, err := os.Lstat(fmt.Sprintf("/proc/%d/stat", os.Getpid())); err == nil {
		s.Proc = true
	}
	if err := tryNamespaces(); err != nil {
		s.Missing = append(s.Missing, fmt.Sprintf("namespaces for unprivileged users are absent or forbidden to this process: %v", err))
	} else if s.Namespaces = s.Proc; !s.Proc {
		s.Missing = append(s.Missing, "namespaces need /proc, which does not show this process")
	}
	return s
}

func landlockABI(s *Support) int {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		s.Missing = append(s.Missing, fmt.Sprintf(
			"landlock is absent, not enabled at boot (lsm=landlock,...) or forbidden to this process by a container's filter: %v", err))
		return 0
	}
	abi = min(abi, newestABI)
	if abi < minABI {
		s.Missing = append(s.Missing, fmt.Sprintf("landlock abi %d does not control truncation; abi %d (Linux 6.2) is the least", abi, minABI))
		return abi
	}
	if abi < scopeABI {
		s.Missing = append(s.Missing, fmt.Sprintf("landlock abi %d does not confine signals; abi %d (Linux 6.12) does", abi, scopeABI))
		return abi
	}
	// The library uses no scope without this fix, and neither do we.
	if errata, err := ll.LandlockGetErrata(); err != nil || errata&signalErratum == 0 {
		s.Missing = append(s.Missing, "landlock on this kernel has an unfixed fault in its signal scope; a kernel update brings the fix")
		return scopeABI - 1
	}
	return abi
}

func seccompActions(s *Support) bool {
	if !seccomp.Supported {
		s.Missing = append(s.Missing, "no seccomp filter for "+runtime.GOARCH+" is written")
		return false
	}
	for _, action := range []uint32{unix.SECCOMP_RET_KILL_PROCESS, unix.SECCOMP_RET_ERRNO} {
		_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
		if errno != 0 {
			s.Missing = append(s.Missing, fmt.Sprintf("seccomp filters are absent or forbidden to this process: %v", errno))
			return false
		}
	}
	return true
}
