package interp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Host is what a job may want of the machine beside its file system.
type Host interface {
	// Settle completes r's policy with what the machine adds, such as limits, and
	// the mechanisms by which each guarantee is kept. An error says why r cannot
	// be run here.
	Settle(r *Run) error
	// Run executes r, which was settled, in a jail; what it writes goes to r's
	// layers, if there are any. A command that fails is a *[CommandError]; any
	// other error means that it did not run as it should have, and one that
	// matches [ErrNoLayers] that it did not run at all.
	Run(ctx context.Context, r *Run) (stdout []byte, report RunReport, err error)
	// Terminate asks the processes to end and reports whether there were any.
	Terminate(ctx context.Context, t *Terminate) (bool, error)
	// Owner looks up ids by name or number; "" means this process' user and, for
	// the group, "staff" or this process' group.
	Owner(user, group string) (uid, gid int, err error)
	// SystemCommand reports whether file is an executable of the system.
	SystemCommand(file string) bool
	// Root reports whether this process has root's rights.
	Root() bool
	// InGroup reports whether this process is in a group.
	InGroup(gid int) bool
}

// ErrNoLayers says that what a command writes cannot be redirected here.
var ErrNoLayers = errors.New("writes cannot be redirected into a layer")

// RunReport is what is worth keeping of a run.
type RunReport struct {
	ExitCode   int               `json:"exit_code"`
	Signal     string            `json:"signal,omitempty"`
	Mechanisms map[string]string `json:"mechanisms,omitempty"`
	// Passed are the variables of the user's that were there to be passed.
	Passed []string `json:"passed_env,omitempty"`
	// Capture is how its changes were found, see [CaptureMode].
	Capture CaptureMode `json:"capture,omitempty"`
	// NoOverlay is why that was not by an overlay, where that was tried.
	NoOverlay string `json:"no_overlay,omitempty"`
}

// Machine is the real host.
type Machine struct {
	// Helper is the path of the jail's helper; "" finds it, see [jail.Helper].
	Helper string
	// Gaps are guarantees of the jail that the user accepts to miss, Require
	// optional ones that must be kept; see [jail.Guarantees].
	Gaps, Require []string
}

// Root implements [Host].
func (Machine) Root() bool { return os.Geteuid() == 0 }

// InGroup implements [Host].
func (Machine) InGroup(gid int) bool {
	groups, err := os.Getgroups()
	return gid == os.Getegid() || err == nil && slices.Contains(groups, gid)
}

// SystemCommand implements [Host].
func (Machine) SystemCommand(file string) bool {
	st, err := os.Stat(file)
	return err == nil && st.Mode().IsRegular() && unix.Access(file, unix.X_OK) == nil
}

// Owner implements [Host].
func (Machine) Owner(name, group string) (int, int, error) {
	uid, gid := os.Geteuid(), os.Getegid()
	if name != "" {
		id, err := strconv.Atoi(name)
		if err != nil {
			u, err := user.Lookup(name)
			if err != nil {
				return 0, 0, fmt.Errorf("user: %w", err)
			}
			id, _ = strconv.Atoi(u.Uid)
		}
		uid = id
	}
	if group == "" {
		g, err := user.LookupGroup("staff")
		var unknown user.UnknownGroupError
		if errors.As(err, &unknown) {
			return uid, gid, nil
		}
		if err != nil {
			return 0, 0, fmt.Errorf("group: %w", err)
		}
		group = g.Gid
	}
	id, err := strconv.Atoi(group)
	if err != nil {
		g, err := user.LookupGroup(group)
		if err != nil {
			return 0, 0, fmt.Errorf("group: %w", err)
		}
		id, _ = strconv.Atoi(g.Gid)
	}
	return uid, id, nil
}
