package cage

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	// watchEvery is how often the process table is read while the command runs.
	// A process that leaves the session and whose parents all end within this
	// time is not found: macOS has neither reapers nor process namespaces.
	watchEvery = 20 * time.Millisecond
	// zombie is SZOMB of sys/proc.h: over, and not yet waited for.
	zombie = 5
)

// A tree is the command and its descendants, as far as they were seen: members
// of its session, and children of members.
type tree struct {
	session int
	seen    map[int]unix.Timeval // start of each member by its number, which may be used again
}

// newTree is the tree of a process that leads its session.
func newTree(pid int) *tree {
	return &tree{session: pid, seen: map[int]unix.Timeval{}}
}

// watch keeps track of the tree until its first process is over, which exited
// says, and which it makes so when stop is closed. That process has not been
// waited for, so its number is still its own.
func (t *tree) watch(exited <-chan error, stop <-chan struct{}) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-exited:
			return err
		case <-stop:
			unix.Kill(t.session, unix.SIGKILL)
			return <-exited
		case <-tick.C:
			if _, err := t.members(); err != nil {
				unix.Kill(t.session, unix.SIGKILL)
				<-exited
				return err
			}
		}
	}
}

// members reads the process table and returns the members that are alive.
func (t *tree) members() ([]int, error) {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, refuse(err, "reading the process table")
	}
	inside := map[int]bool{}
	for _, p := range table {
		pid := int(p.Proc.P_pid)
		start, ok := t.seen[pid]
		inside[pid] = ok && start == p.Proc.P_starttime || t.inSession(pid)
	}
	// Parents may come after their children.
	for more := true; more; {
		more = false
		for _, p := range table {
			if pid := int(p.Proc.P_pid); !inside[pid] && inside[int(p.Eproc.Ppid)] {
				inside[pid], more = true, true
			}
		}
	}
	var alive []int
	seen := map[int]unix.Timeval{}
	for _, p := range table {
		if pid := int(p.Proc.P_pid); inside[pid] {
			seen[pid] = p.Proc.P_starttime
			if p.Proc.P_stat != zombie {
				alive = append(alive, pid)
			}
		}
	}
	t.seen = seen
	return alive, nil
}

// inSession tells whether a process is in the command's session. The system's
// first two, and this process, never are.
func (t *tree) inSession(pid int) bool {
	if pid <= 1 {
		return false
	}
	sid, err := unix.Getsid(pid)
	return err == nil && sid == t.session
}

// end kills what is left and returns when nothing is to be found.
func (t *tree) end() error {
	for deadline := time.Now().Add(Grace); ; {
		alive, err := t.members()
		if err != nil {
			return err
		}
		if len(alive) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return refuse(nil, "%d processes of the command cannot be ended", len(alive))
		}
		// Stopped first, so that none forks while its siblings are killed.
		for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
			for _, pid := range alive {
				unix.Kill(pid, sig)
			}
		}
		time.Sleep(watchEvery / 4)
	}
}
