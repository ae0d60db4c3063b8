package jail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail"
)

// A guest makes a jail where somebody else has been before: in a container, or
// in a jail. It is a process of its own, since what surrounds it cannot be left.
type guest struct {
	Self, Helper string
	World        *world
	// Vetoes, DropCaps and NoUserNamespaces are what to submit to first.
	Vetoes           []veto
	DropCaps         bool
	NoUserNamespaces bool // only as root of a user namespace
	// Level is the number of jails around this process, and Deepest how many to
	// make at most.
	Level, Deepest int
}

// guestReport is the answer of the innermost guest, with what the outermost
// jail says of itself.
type guestReport struct {
	Level      int    // jails that held
	Refused    string // why there is not one more
	Broken     string // what a jail did not do
	Mechanisms map[string]string
}

func (g guest) play() error {
	if len(g.Vetoes) > 0 || g.DropCaps || g.NoUserNamespaces {
		return g.submit()
	}
	return json.NewEncoder(os.Stdout).Encode(g.report())
}

// submit confines this process, as its surroundings would, and starts over.
func (g guest) submit() error {
	runtime.LockOSThread()
	if g.NoUserNamespaces {
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			return err
		}
	}
	if g.DropCaps {
		if err := dropCapabilities(); err != nil {
			return err
		}
	}
	if len(g.Vetoes) > 0 {
		if err := install(g.Vetoes); err != nil {
			return err
		}
	}
	g.Vetoes, g.DropCaps, g.NoUserNamespaces = nil, false, false
	return unix.Exec(g.Self, append([]string{g.Self}, g.args()...), os.Environ())
}

func (g guest) args() []string {
	data, err := json.Marshal(g)
	if err != nil {
		panic("BUG(steps): " + err.Error())
	}
	return partArgs("guest", string(data))
}

// report looks whether the jail around this process holds, and makes the next.
func (g guest) report() guestReport {
	r := guestReport{Level: g.Level}
	if g.Level > 0 {
		if r.Broken = g.World.leaks(); r.Broken != "" {
			return r
		}
	}
	if g.Level == g.Deepest {
		return r
	}
	g.Level++
	s := &site{self: g.Self, helper: g.Helper}
	policy := s.policy(g.World)
	policy.Execs = append(policy.Execs, g.Helper)
	res, err := jail.Run(context.Background(), g.Helper, policy, jail.Command{Path: g.Self, Args: g.args()})
	if err != nil {
		r.Refused = err.Error()
		return r
	}
	var inner guestReport
	if err := json.Unmarshal(res.Stdout, &inner); err != nil || !res.OK() {
		r.Broken = fmt.Sprintf("exit %d %s: %s%s", res.ExitCode, res.Signal, res.Stdout, res.Stderr)
		return r
	}
	inner.Mechanisms = res.Mechanisms
	return inner
}

// leaks says what this process can do that it must not, or cannot and must.
func (w *world) leaks() string {
	for _, name := range []string{"read and write", "create, rename and remove"} {
		if p, _ := findProbe(name); p.try(w) != nil {
			return "it is denied to " + name
		}
	}
	for _, name := range []string{"read outside", "write readable", "tcp connect", "unix connect", "signal a process"} {
		if p, known := findProbe(name); known && p.try(w) == nil {
			return "it can " + name
		}
	}
	return ""
}

// invite runs a guest and gives its report. wrap are a command and its
// arguments to put before it.
func (s *site) invite(ctx context.Context, g guest, sys *syscall.SysProcAttr, wrap ...string) (guestReport, error) {
	g.Self, g.Helper = s.self, s.helper
	argv := append(wrap, append([]string{s.self}, g.args()...)...)
	cmd := s.command(ctx, g.World, argv[0], argv[1:]...)
	if sys != nil {
		sys.Pdeathsig = unix.SIGKILL
		cmd.SysProcAttr = sys
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return guestReport{}, err
	}
	var r guestReport
	if json.Unmarshal(out, &r) != nil {
		return r, fmt.Errorf("%w: %s%s", err, out, stderr.String())
	}
	return r, nil
}
