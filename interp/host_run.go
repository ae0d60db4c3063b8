package interp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"steps.example/interp/jail"
)

// runPath is the PATH of every command; the package's own directories are not
// on it, since the document can name them.
const runPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

// outputShown bounds, in bytes, what is shown of a failed command's output.
const outputShown = 2000

// CanRun says why r cannot be run here, nil if it can; r nil asks about
// commands in general.
func (h Machine) CanRun(r *Run) error {
	asked := Run{Dir: "/usr", Policy: Policy{Reads: []string{"/usr"}}}
	if r != nil {
		asked = *r
	}
	return h.Settle(&asked)
}

// Settle implements [Host].
func (h Machine) Settle(r *Run) error {
	helper, err := h.helper()
	if err != nil {
		return err
	}
	p := &r.Policy
	p.SystemReads, p.SystemExecs = jail.SystemReads(), jail.SystemExecs()
	p.Limits = p.Limits.withDefaults()
	p.Gaps, p.Require = slices.Clone(h.Gaps), slices.Clone(h.Require)
	p.Protect = append(slices.Clone(p.Protect), Physical(helper))
	if self, err := os.Executable(); err == nil {
		p.Protect = append(p.Protect, Physical(self))
	}
	slices.Sort(p.Protect)
	p.Protect = slices.Compact(p.Protect)
	p.Guarantees, err = jail.Check().Judge(r.jail("", nil))
	return err
}

func (h Machine) helper() (string, error) {
	if h.Helper != "" {
		return h.Helper, nil
	}
	return jail.Helper()
}

// Run implements [Host]: in a jail with an empty home directory of its own.
func (h Machine) Run(ctx context.Context, r *Run) ([]byte, RunReport, error) {
	helper, err := h.helper()
	if err != nil {
		return nil, RunReport{}, err
	}
	private, err := os.MkdirTemp("", "steps-run-")
	if err != nil {
		return nil, RunReport{}, err
	}
	defer os.RemoveAll(private)
	if private, err = filepath.EvalSymlinks(private); err != nil {
		return nil, RunReport{}, err
	}
	passed := passedVariables(r.Policy.PassEnv)
	policy := r.jail(private, passed)
	for _, l := range r.Layers {
		policy.Layers = append(policy.Layers, jail.Layer(l))
	}
	res, err := jail.Run(ctx, helper, policy, jail.Command{Path: r.Name, Args: r.Args, Stdin: r.input})
	if _, ok := errors.AsType[*jail.LayerError](err); ok {
		return nil, RunReport{}, fmt.Errorf("%w: %w", ErrNoLayers, err)
	}
	if err != nil {
		return nil, RunReport{}, err
	}
	report := RunReport{ExitCode: res.ExitCode, Signal: res.Signal, Mechanisms: res.Mechanisms}
	for _, v := range passed {
		name, _, _ := strings.Cut(v, "=")
		report.Passed = append(report.Passed, name)
	}
	switch {
	case res.TimedOut:
		err = fmt.Errorf("%s took longer than %d seconds and was ended", r.Command, r.Policy.Limits.Timeout)
	case res.OutputCapped:
		err = fmt.Errorf("%s printed more than %d bytes and was ended", r.Command, r.Policy.Limits.Output)
	case res.ExitCode != 0 || res.Signal != "":
		err = &CommandError{Command: r.Command, ExitCode: res.ExitCode, Signal: res.Signal, Output: lastOf(res)}
	}
	return res.Stdout, report, err
}

// passedVariables are those variables of this process that are among the names,
// NAME=VALUE.
func passedVariables(names []string) []string {
	var out []string
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+value)
		}
	}
	return out
}

// jail is the policy of r's jail. private is the directory that the command has
// for itself, "" where it is not made yet.
func (r *Run) jail(private string, passed []string) jail.Policy {
	p := &r.Policy
	out := jail.Policy{
		Reads:   slices.Concat(p.SystemReads, p.Reads),
		Execs:   slices.Concat(p.SystemExecs, p.Execs),
		Writes:  slices.Clone(p.Writes),
		Network: p.Network,
		Ports:   p.Ports,
		Dir:     r.Dir,
		Limits:  p.Limits.jail(),
		Gaps:    p.Gaps,
		Require: p.Require,
		Protect: slices.DeleteFunc(slices.Clone(p.Protect), func(path string) bool {
			// What is not there cannot be compared; what is a link is protected
			// by its name, and what it leads to is on the list as well.
			info, err := os.Lstat(path)
			return err != nil || !info.Mode().IsRegular() && !info.IsDir()
		}),
	}
	env := []string{"PATH=" + runPath, "LANG=C.UTF-8"}
	if private != "" {
		out.Writes = append(out.Writes, private)
		env = append(env, "HOME="+private, "TMPDIR="+private)
	}
	// Later ones count.
	for _, v := range slices.Concat(env, passed, p.Env) {
		name, _, _ := strings.Cut(v, "=")
		out.Env = slices.DeleteFunc(out.Env, func(have string) bool { return strings.HasPrefix(have, name+"=") })
		out.Env = append(out.Env, v)
	}
	return out
}

func lastOf(res *jail.Result) string {
	out := res.Stderr
	if len(out) == 0 {
		out = res.Stdout
	}
	if len(out) > outputShown {
		out = out[len(out)-outputShown:]
	}
	return strings.TrimSpace(jail.Printable(out))
}
