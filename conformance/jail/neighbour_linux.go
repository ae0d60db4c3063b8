package jail

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// nestCases are jails in jails.
func nestCases() []Case {
	return []Case{{93, "jail in jail, to the end", "allowed", nestCase}}
}

// deepest is more jails than any kernel stacks.
const deepest = 64

// enough is how many jails in each other a machine must bear.
const enough = 5

func nestCase(ctx context.Context, s *site, r *Result) {
	s.withWorld(r, func(w *world) {
		report, err := s.invite(ctx, guest{World: w, Deepest: deepest}, nil)
		if err != nil {
			r.fail("%v", err)
			return
		}
		r.Got = fmt.Sprintf("%d deep", report.Level)
		r.Mechanism = report.Mechanisms["reads"]
		r.Control = "ok" // the outermost stands alone
		r.Said = report.Refused
		switch {
		case report.Broken != "":
			r.fail("at depth %d: %s", report.Level, report.Broken)
		case report.Level < enough:
			r.fail("only %d jails in each other: %s", report.Level, report.Refused)
		default:
			r.oneSentence(report.Refused, "layers")
		}
	})
}

// oneSentence holds a refusal to being clear.
func (r *Result) oneSentence(text string, mentions ...string) {
	if text == "" {
		r.fail("there was no refusal")
		return
	}
	if strings.ContainsAny(text, "\n\x1b") || len(text) > 400 {
		r.fail("the refusal is not one sentence: %q", text)
	}
	for _, m := range mentions {
		if !strings.Contains(text, m) {
			r.fail("the refusal does not mention %q: %s", m, text)
		}
	}
}

// A neighbour is an environment in which somebody has already confined us.
type neighbour struct {
	number int
	name   string
	guest  guest
	// within starts the guest in it; nil: as any process.
	within func(ctx context.Context, s *site, r *Result, g guest) (guestReport, error)
	// refuses: no jail can be made there, and the refusal mentions this.
	refuses string
	// gaps are guarantees that the jail must say that it does not keep there.
	gaps []string
}

var neighbours = []neighbour{
	{number: 94, name: "inside bwrap", within: inBwrap},
	{number: 95, name: "inside a container's rules", guest: guest{Vetoes: containerRules, DropCaps: true}, gaps: []string{"metadata", "names"}},
	{number: 95, name: "user namespaces forbidden", guest: guest{Vetoes: noNamespaces}, gaps: []string{"metadata", "names"}},
	{number: 95, name: "no user namespaces left", guest: guest{NoUserNamespaces: true}, within: inUserNamespace(0), gaps: []string{"metadata", "names"}},
	{number: 95, name: "root is not in the namespace", within: inUserNamespace(1000)},
	{number: 95, name: "landlock absent", guest: guest{Vetoes: landlock(unix.ENOSYS)}, refuses: "landlock"},
	{number: 95, name: "landlock forbidden", guest: guest{Vetoes: landlock(unix.EPERM)}, refuses: "landlock"},
	{number: 95, name: "seccomp absent", guest: guest{Vetoes: forbid(unix.ENOSYS, unix.SYS_SECCOMP)}, refuses: "seccomp"},
	{number: 95, name: "seccomp forbidden", guest: guest{Vetoes: forbid(unix.EPERM, unix.SYS_SECCOMP)}, refuses: "seccomp"},
}

func landlock(errno unix.Errno) []veto {
	return forbid(errno, unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF)
}

func neighbourCases() []Case {
	var cases []Case
	for _, n := range neighbours {
		c := Case{Number: n.number, Name: n.name, Expected: "allowed", run: n.run}
		if n.refuses != "" {
			c.Expected = "refused"
		}
		cases = append(cases, c)
	}
	return cases
}

func (n neighbour) run(ctx context.Context, s *site, r *Result) {
	s.withWorld(r, func(w *world) {
		g := n.guest
		g.World, g.Deepest = w, 1
		var report guestReport
		var err error
		if n.within != nil {
			report, err = n.within(ctx, s, r, g)
		} else {
			report, err = s.invite(ctx, g, nil)
		}
		switch {
		case r.Status == Skipped:
			return
		case err != nil:
			r.fail("%v", err)
			return
		case report.Broken != "":
			r.Got = "broken"
			r.fail("%s", report.Broken)
			return
		}
		// Outside such an environment every other case is the control.
		r.Control = "ok"
		r.Said = report.Refused
		if n.refuses != "" {
			r.Got = "refused"
			if report.Level > 0 {
				r.Got = "ran"
				r.fail("it ran: %v", report.Mechanisms)
				return
			}
			r.oneSentence(report.Refused, n.refuses)
			return
		}
		r.Got = "ok"
		if report.Level != 1 {
			r.Got = "refused"
			r.fail("%s", report.Refused)
			return
		}
		r.Mechanism = report.Mechanisms["signals"]
		for name, by := range report.Mechanisms {
			if slices.Contains(n.gaps, name) && keeps(by) {
				r.fail("the jail says that it keeps %q by %s, which cannot be here", name, by)
			}
		}
	})
}

// inBwrap starts the guest in another sandbox, as strict as its switches make
// it.
func inBwrap(ctx context.Context, s *site, r *Result, g guest) (guestReport, error) {
	const bwrap = "/usr/bin/bwrap"
	if _, err := os.Stat(bwrap); err != nil {
		r.skip("no %s", bwrap)
		return guestReport{}, nil
	}
	if s.needsNamespaces(r) {
		return guestReport{}, nil
	}
	return s.invite(ctx, g, nil, bwrap, "--unshare-all", "--die-with-parent", "--new-session",
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", s.base, s.base, "--")
}

// inUserNamespace starts the guest as the one user of a user namespace. What
// others own, root included, belongs to nobody there.
func inUserNamespace(id int) func(context.Context, *site, *Result, guest) (guestReport, error) {
	return func(ctx context.Context, s *site, r *Result, g guest) (guestReport, error) {
		if s.needsNamespaces(r) {
			return guestReport{}, nil
		}
		return s.invite(ctx, g, &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: id, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: id, HostID: os.Getegid(), Size: 1}},
		})
	}
}
