package jail

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// noReach are the answers about processes outside: EPERM from Landlock and
// seccomp, ESRCH where a namespace hides them.
const noReach = "EPERM ESRCH"

// harmless is a signal that its receiver ignores.
const harmless = unix.SIGWINCH

// parent is the parent's process number, or an error where a namespace hides
// it: zero would mean this process itself.
func parent() (int, error) {
	if pid := os.Getppid(); pid != 0 {
		return pid, nil
	}
	return 0, unix.ESRCH
}

func pidfdThen(pid int, use func(fd int) error) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	return use(fd)
}

func procOf(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// noProc are the answers below /proc.
const noProc = "EACCES ENOENT EPERM EROFS"

const yama = "the kernel lets only parents trace"

var processProbes = []probe{
	denied(45, "signal a process", "signals", noReach, func(w *world) error { return unix.Kill(w.Victim, harmless) }),
	denied(45, "signal the parent", "signals", noReach, func(*world) error {
		pid, err := parent()
		if err != nil {
			return err
		}
		return unix.Kill(pid, harmless)
	}),
	denied(45, "signal by a descriptor", "processes", noReach, func(w *world) error {
		_, err := unix.FcntlInt(0, unix.F_SETOWN, w.Victim)
		return err
	}),
	denied(46, "signal by pidfd", "signals", noReach, func(w *world) error {
		return pidfdThen(w.Victim, func(fd int) error { return unix.PidfdSendSignal(fd, harmless, nil, 0) })
	}),
	denied(47, "signal the caller's thread", "signals", noReach, func(w *world) error {
		return unix.Tgkill(w.Caller, w.Thread, harmless)
	}),
	denied(48, "trace a process", "processes", noReach, func(w *world) error {
		if err := unix.PtraceAttach(w.Victim); err != nil {
			return err
		}
		_, err := unix.Wait4(w.Victim, nil, unix.WALL, nil)
		return err
	}).butHard(yama),
	denied(48, "trace the parent", "processes", noReach, func(*world) error {
		pid, err := parent()
		if err != nil {
			return err
		}
		return unix.PtraceSeize(pid)
	}).butHard(yama),
	denied(49, "read memory of a process", "processes", noReach, func(w *world) error {
		buf := make([]byte, 1)
		_, err := unix.ProcessVMReadv(w.Victim, []unix.Iovec{{Base: &buf[0], Len: 1}}, []unix.RemoteIovec{{Base: 0, Len: 1}}, 0)
		if err == unix.EFAULT { // it was permitted
			return nil
		}
		return err
	}).butHard(yama),
	denied(50, "take a descriptor", "processes", noReach, func(w *world) error {
		return pidfdThen(w.Victim, func(fd int) error { _, err := unix.PidfdGetfd(fd, 0, 0); return err })
	}).butHard(yama),
	denied(51, "limit a process", "processes", noReach, func(w *world) error {
		return unix.Prlimit(w.Victim, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
	}),
	denied(52, "niceness of a process", "processes", noReach, func(w *world) error {
		return unix.Setpriority(unix.PRIO_PROCESS, w.Victim, 19)
	}),
	denied(52, "niceness of all processes", "processes", noReach, func(*world) error {
		// Without a jail in a group of its own: others keep their niceness.
		_ = unix.Setpgid(0, 0)
		return unix.Setpriority(unix.PRIO_PGRP, 0, 19)
	}),
	denied(52, "processor of a process", "processes", noReach, func(w *world) error {
		var set unix.CPUSet
		set.Set(0)
		return unix.SchedSetaffinity(w.Victim, &set)
	}),
	denied(53, "memory file of a process", "processes", noProc, func(w *world) error {
		return open(procOf(w.Victim, "mem"), unix.O_RDWR)
	}).butHard(yama),
	denied(54, "environment of a process", "processes", noProc, func(w *world) error {
		data, err := os.ReadFile(procOf(w.Victim, "environ"))
		if err == nil && !strings.Contains(string(data), victimSecret) {
			return outcome("without")
		}
		return err
	}),
	denied(54, "environment of the caller", "processes", noProc, func(w *world) error { return read(procOf(w.Caller, "environ")) }),
	denied(54, "command line of a process", "reads", noProc, func(w *world) error { return read(procOf(w.Victim, "cmdline")) }),
	denied(55, "root of a process", "processes", noProc, func(w *world) error {
		return read(procOf(w.Victim, "root"+w.out("file")))
	}).butHard(yama),
	denied(55, "descriptors of the caller", "processes", noProc, func(w *world) error {
		_, err := os.ReadDir(procOf(w.Caller, "fd"))
		return err
	}),
	denied(56, "oom score of a process", "writes", noProc, func(w *world) error {
		return os.WriteFile(procOf(w.Victim, "oom_score_adj"), []byte("1000"), 0)
	}),
}
