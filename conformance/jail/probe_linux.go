package jail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail"
)

// A probe is one thing that an attacker tries, or that ordinary work needs.
// Without a jail it succeeds.
type probe struct {
	number    int
	name      string
	guarantee string // which of the jail's guarantees it is about
	// deny are the outcomes, separated by spaces, that the jail may answer with;
	// empty: it must let it.
	deny string
	try  func(*world) error

	// hard says why it may be impossible even without a jail; empty: it is
	// possible on every machine.
	hard string
	// widen changes the policy.
	widen func(*jail.Policy, *world)
	// gap: where the jail says that it does not keep the guarantee, that is all
	// right, but then the probe succeeds.
	gap bool
}

// denied is a probe that must fail.
func denied(number int, name, guarantee, deny string, try func(*world) error) probe {
	return probe{number: number, name: name, guarantee: guarantee, deny: deny, try: try}
}

// allowed is a probe that must succeed.
func allowed(number int, name string, try func(*world) error) probe {
	return probe{number: number, name: name, try: try}
}

// butHard is p where even the control may be impossible.
func (p probe) butHard(reason string) probe {
	p.hard = reason
	return p
}

func (p probe) widened(f func(*jail.Policy, *world)) probe {
	p.widen = f
	return p
}

func (p probe) orGap() probe {
	p.gap = true
	return p
}

// probes are all of them.
func probes() []probe {
	return slices.Concat(fileProbes, linkProbes, execProbes, modeProbes, networkProbes, processProbes,
		kernelProbes, archProbes, terminalProbes, limitProbes, workProbes)
}

func findProbe(name string) (probe, bool) {
	all := probes()
	i := slices.IndexFunc(all, func(p probe) bool { return p.name == name })
	if i < 0 {
		return probe{}, false
	}
	return all[i], true
}

func systemCases() []Case {
	var cases []Case
	for _, p := range probes() {
		c := Case{Number: p.number, Name: p.name, Expected: "denied", run: p.run}
		if p.deny == "" {
			c.Expected = "allowed"
		}
		cases = append(cases, c)
	}
	return slices.Concat(cases, treeCases(), toolCases(), nestCases(), neighbourCases())
}

// portsABI is the Landlock version that tells TCP ports apart.
const portsABI = 4

// run runs the probe without and with a jail, in worlds of their own.
func (p probe) run(ctx context.Context, s *site, r *Result) {
	p.control(ctx, s, r)
	w, err := s.newWorld()
	if err != nil {
		r.fail("%v", err)
		return
	}
	defer w.end()
	policy := s.policy(w)
	if p.widen != nil {
		p.widen(&policy, w)
	}
	if len(policy.Ports) > 0 && s.support.Landlock < portsABI {
		r.skip("landlock tells no ports apart before abi %d (Linux 6.7)", portsABI)
		return
	}
	before, err := w.outside()
	if err != nil {
		r.fail("%v", err)
		return
	}
	res, err := s.jailed(ctx, policy, jail.Command{Path: s.self, Args: partArgs("probe "+p.name, w.encode())})
	if err != nil {
		r.fail("%v", err)
		return
	}
	r.Mechanism = mechanism(res, p.guarantee)
	var detail string
	r.Got, detail = outcomeOf(res.ExitCode, res.Signal, append(res.Stdout, res.Stderr...))
	if p.gap && !keeps(r.Mechanism) {
		r.Expected = "gap"
		if r.Got != "ok" {
			r.fail("the jail says that it does not keep %q, but it answered %s: %s", p.guarantee, r.Got, detail)
		}
		return
	}
	if r.Got == "none" && p.hard != "" {
		r.skip("%s", p.hard)
		return
	}
	p.judge(r, detail)
	if p.deny != "" {
		if hurt := w.hurt(before); hurt != "" {
			r.fail("%s", hurt)
		}
	}
}

func (p probe) judge(r *Result, detail string) {
	if p.deny == "" {
		if r.Got != "ok" {
			r.fail("%s", detail)
		}
		return
	}
	if !slices.Contains(strings.Fields(p.deny), r.Got) {
		r.fail("expected %s, got %s: %s", strings.ReplaceAll(p.deny, " ", " or "), r.Got, detail)
	}
	if p.guarantee != "" && !keeps(r.Mechanism) {
		r.fail("the jail does not say that it keeps %q", p.guarantee)
	}
}

// control runs the probe without a jail.
func (p probe) control(ctx context.Context, s *site, r *Result) {
	w, err := s.newWorld()
	if err != nil {
		r.fail("%v", err)
		return
	}
	defer w.end()
	out, state, err := s.plain(ctx, w, partArgs("probe "+p.name, w.encode()))
	if err != nil {
		r.fail("control: %v", err)
		return
	}
	got, detail := outcomeOf(state.ExitCode(), signalName(state), out)
	switch {
	case got == "ok":
		r.Control = "ok"
	case p.hard != "":
		r.Control = fmt.Sprintf("not possible: %s (%s)", p.hard, got)
	default:
		r.Control = got
		r.fail("without a jail: %s", detail)
	}
}

// policy grants the system, this program, and the world's directories as their
// names say.
func (s *site) policy(w *world) jail.Policy {
	p := jail.Policy{
		Reads:  append(jail.SystemReads(), w.RO),
		Execs:  append(jail.SystemExecs(), s.self),
		Writes: []string{w.In},
		Env:    environment(w.In),
		Dir:    w.In,
	}
	if w.SetID != "" {
		p.Execs = append(p.Execs, w.SetID)
	}
	return p
}

// executeWritable lets what is in the writable directory be executed.
func executeWritable(p *jail.Policy, w *world) { p.Execs = append(p.Execs, w.In) }

// jailed runs a command in the jail under test.
func (s *site) jailed(ctx context.Context, p jail.Policy, c jail.Command) (*jail.Result, error) {
	return jail.Run(ctx, s.helper, p, c)
}

// plain runs this program without a jail, with everything that the careless
// caller has.
func (s *site) plain(ctx context.Context, w *world, args []string) ([]byte, *os.ProcessState, error) {
	cmd := s.command(ctx, w, s.self, args...)
	out, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return nil, nil, err
	}
	return out, cmd.ProcessState, nil
}

// command is one without a jail, at work where it would be in one. It ends with
// this thread.
func (s *site) command(ctx context.Context, w *world, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = w.In
	cmd.Env = append(os.Environ(), environment(w.In)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	return cmd
}

func signalName(state *os.ProcessState) string {
	if status := state.Sys().(syscall.WaitStatus); status.Signaled() {
		return unix.SignalName(status.Signal())
	}
	return ""
}

// outcomeOf reads what an attacker printed, see endPart.
func outcomeOf(code int, sig string, out []byte) (got, detail string) {
	first, rest, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	switch {
	case sig != "":
		return sig, "ended by " + sig + " " + first + rest
	case code == 0:
		return "ok", "ok"
	case code == 1:
		return first, rest
	}
	return fmt.Sprintf("exit %d", code), first + rest
}

// mechanism is what the jail says that it keeps a guarantee by. What is none of
// its guarantees is the mechanism itself.
func mechanism(res *jail.Result, guarantee string) string {
	if by, ok := res.Mechanisms[guarantee]; ok {
		return by
	}
	return guarantee
}

// keeps reports whether a mechanism is one.
func keeps(by string) bool { return by != "" && by != "none" && by != "accepted gap" }
