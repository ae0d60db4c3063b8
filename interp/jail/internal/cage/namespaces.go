//go:build linux

package cage

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Namespaces are those that the helper gets of its own where it can: its user's
// rights to mount, a mount table, the end of all processes with the first one,
// and no System V objects of others. A network namespace would add nothing to
// the filter, which lets no socket be made, but takes milliseconds.
const Namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC

// Capabilities are what the helper needs in its user namespace: for mounts, for
// emptying the bounding set, and for overlays, which look after their
// directories with the rights of whoever mounts them.
var Capabilities = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID,
}

// TryNamespaces reports whether a child of this process can have [Namespaces]
// and mount in them, by making one that does, or why not. It changes nothing.
func TryNamespaces() error {
	p := &program{}
	defer p.free()
	slash, _ := unix.BytePtrFromString("/")
	tmpfs, _ := unix.BytePtrFromString("tmpfs")
	p.add("changing mounts", unix.SYS_MOUNT, 0, ref(p, slash), 0, unix.MS_REC|unix.MS_PRIVATE)
	p.add("making a file system", unix.SYS_FSOPEN, ref(p, tmpfs), unix.FSOPEN_CLOEXEC)
	p.add("ending", unix.SYS_EXIT_GROUP, 0)

	// Signals are blocked and unblocked on one thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, err := p.start(Namespaces)
	if pid == 0 {
		return err
	}
	var status unix.WaitStatus
	for {
		_, waitErr := unix.Wait4(pid, &status, unix.WALL, nil)
		if waitErr == unix.EINTR {
			continue
		}
		if err == nil && waitErr != nil {
			return fmt.Errorf("waiting for a trial: %w", waitErr)
		}
		break
	}
	if err == nil && (!status.Exited() || status.ExitStatus() != 0) {
		return fmt.Errorf("a trial ended with status %#x", uint32(status))
	}
	return err
}

// pidMax is the kernel's setting that bounds process numbers, and least the
// smallest value that it takes.
const pidMax, least = "/proc/sys/kernel/pid_max", 301

// limitProcesses bounds the number of processes by bounding their numbers, for
// root, who is exempt from the ordinary limit. The setting belongs to the pid
// namespace since Linux 6.14; before that it is the machine's, and left alone.
// Where it cannot be set, root has no such limit.
func limitProcesses(n uint64) {
	if n == 0 || unix.Geteuid() != 0 || !kernelFrom(6, 14) {
		return
	}
	fd, err := unix.Open(pidMax, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	unix.Write(fd, strconv.AppendUint(nil, max(n, least), 10))
}

// kernelFrom reports whether the kernel is at least of a version.
func kernelFrom(major, minor int) bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	var has [2]int
	parts := strings.SplitN(unix.ByteSliceToString(name.Release[:]), ".", 3)
	for i := range min(len(parts), len(has)) {
		digits := strings.TrimRightFunc(parts[i], func(r rune) bool { return r < '0' || r > '9' })
		has[i], _ = strconv.Atoi(digits)
	}
	return has[0] > major || has[0] == major && has[1] >= minor
}

// alone reports whether this process is the first of its pid namespace.
func alone() bool { return os.Getpid() == 1 }
