package interp

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"golang.org/x/sys/unix"
)

// commLength is how much of a process' name the kernel keeps (proc(5)).
const commLength = 15

// Terminate implements [Host] by /proc: processes of the same user whose name,
// or whole command line for a full match, fits get a SIGTERM. This process and
// its ancestors are left out.
func (Machine) Terminate(_ context.Context, t *Terminate) (bool, error) {
	matches := func(pid string, comm []byte) bool {
		if len(t.Name) <= commLength {
			return string(comm) == t.Name
		}
		line, err := os.ReadFile("/proc/" + pid + "/cmdline")
		argv0, _, _ := bytes.Cut(line, []byte{0})
		return err == nil && filepath.Base(string(argv0)) == t.Name
	}
	if t.Full {
		re, err := regexp.Compile(t.Name)
		if err != nil {
			return false, fmt.Errorf("name: %w", err)
		}
		matches = func(pid string, _ []byte) bool {
			line, err := os.ReadFile("/proc/" + pid + "/cmdline")
			return err == nil && re.Match(bytes.ReplaceAll(bytes.TrimRight(line, "\x00"), []byte{0}, []byte{' '}))
		}
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false, err
	}
	spare := ancestors()
	found := false
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || spare[pid] {
			continue
		}
		// The descriptor makes sure that the process that is looked at is the
		// one that gets the signal.
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		var owner unix.Stat_t
		if unix.Stat("/proc/"+e.Name(), &owner) != nil || int(owner.Uid) != os.Geteuid() {
			unix.Close(fd)
			continue
		}
		comm, err := os.ReadFile("/proc/" + e.Name() + "/comm")
		if err == nil && matches(e.Name(), bytes.TrimSpace(comm)) {
			if unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0) == nil {
				found = true
			}
		}
		unix.Close(fd)
	}
	return found, nil
}

func ancestors() map[int]bool {
	out := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !out[pid]; {
		out[pid] = true
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			break
		}
		// The name, in parentheses, may hold anything; the parent is the second
		// field after it.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 {
			break
		}
		pid, _ = strconv.Atoi(string(fields[1]))
	}
	return out
}
