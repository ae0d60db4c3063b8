//go:build linux

package cage

import (
	"os"
	"strconv"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// A tree is the command and all its descendants. Orphans among them become
// children of the helper, so that waiting for all children is waiting for all.
type tree struct {
	// scoped says that the calling thread can signal descendants and nothing
	// else in the world.
	scoped bool
}

// newTree prepares the calling thread for the end of the tree. The first process
// of a pid namespace needs no preparation: nothing else is in its world, and all
// of it ends with it, even if it is killed. With signal
// scopes it enters a domain of its own, whose members are the descendants made
// from now on, so that kill(-1) reaches exactly these, all of them at once:
// nothing can fork past it, and no /proc is needed. The command's own domain
// lies inside this one and its signals cannot get out to the helper.
func newTree(order wire.Order) (*tree, error) {
	if order.Namespaces {
		return &tree{scoped: true}, nil
	}
	if order.ABI < scopeABI {
		if _, err := os.ReadFile("/proc/self/stat"); err != nil {
			return nil, refuse(err, "without signal scopes the end of the tree needs /proc")
		}
		return &tree{}, nil
	}
	parent := os.Getppid()
	if err := unix.Kill(parent, 0); err != nil {
		return nil, refuse(err, "cannot tell whether signals are confined")
	}
	// Every ruleset, even one about signals only, denies moving files between
	// directories unless it says otherwise.
	fd, flags, err := landlock.Config{HandledAccessFS: ll.AccessFSRefer, Scoped: ll.ScopeSignal}.
		NewRulesetFD(landlock.PathAccess(ll.AccessFSRefer, "/"))
	if err != nil {
		return nil, refuse(err, "landlock signal scope")
	}
	defer unix.Close(fd)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, refuse(err, "giving up new privileges")
	}
	if err := ll.LandlockRestrictSelf(fd, flags); err != nil {
		return nil, refuse(err, "entering the landlock signal scope%s", depthHint(err))
	}
	// The proof that kill(-1) is safe: the caller, in reach a moment ago, is
	// out of reach now.
	if err := unix.Kill(parent, 0); err != unix.EPERM {
		return nil, refuse(err, "landlock does not confine signals as it should")
	}
	return &tree{scoped: true}, nil
}

// reapEvery is how often orphans that have ended are reaped, in milliseconds.
const reapEvery = 1000

// wait returns the command's status once it is over. It kills the command when
// the caller says stop, or dies; what else there is in the tree ends with it,
// see end. It waits for both on one thread, as another costs more time than
// most commands take.
func (t *tree) wait(pid int) (unix.WaitStatus, error) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		unix.Kill(pid, unix.SIGKILL)
		return 0, refuse(err, "watching the command")
	}
	defer unix.Close(pidfd)
	fds := []unix.PollFd{{Fd: wire.ControlFD, Events: unix.POLLIN}, {Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, reapEvery); err != nil && err != unix.EINTR {
			unix.Kill(pid, unix.SIGKILL)
			return 0, refuse(err, "watching the command")
		}
		if fds[0].Revents != 0 {
			unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
			fds[0].Fd = -1 // heard
		}
		for {
			var status unix.WaitStatus
			got, err := unix.Wait4(-1, &status, unix.WALL|unix.WNOHANG, nil)
			if err == unix.EINTR {
				continue
			}
			if err != nil {
				return 0, refuse(err, "waiting for the command")
			}
			if got == 0 {
				break
			}
			if got == pid && (status.Exited() || status.Signaled()) {
				return status, nil
			}
		}
	}
}

// end kills what is left and returns when nothing is.
func (t *tree) end() error {
	if t.scoped {
		if err := unix.Kill(-1, unix.SIGKILL); err != nil && err != unix.ESRCH {
			return refuse(err, "killing the tree")
		}
		return t.reap(0)
	}
	for {
		children, err := children()
		if err != nil {
			return refuse(err, "listing the tree")
		}
		// Stopped first, so that none forks while its siblings are killed.
		for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
			for _, pid := range children {
				unix.Kill(pid, sig)
			}
		}
		if len(children) == 0 {
			return t.reap(0)
		}
		// Their children become ours only now.
		if err := t.reap(len(children)); err != nil {
			return err
		}
	}
}

// reap waits for n children, or if n is 0 for all there are and will be.
func (t *tree) reap(n int) error {
	for done := 0; n == 0 || done < n; {
		_, err := unix.Wait4(-1, nil, unix.WALL, nil)
		switch err {
		case nil:
			done++
		case unix.EINTR:
		case unix.ECHILD:
			return nil
		default:
			return refuse(err, "reaping the tree")
		}
	}
	return nil
}

// children lists the processes whose parent is the helper.
func children() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	self := strconv.Itoa(os.Getpid())
	var pids []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // gone
		}
		// pid (comm) state ppid ...; comm may hold anything, also ")".
		_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == self {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
