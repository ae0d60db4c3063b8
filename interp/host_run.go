package interp

import (
	"context"
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

// CanRun implements [Host].
func (h Machine) CanRun(r *Run) error {
	if _, err := h.helper(); err != nil {
		return err
	}
	if r == nil {
		r = &Run{Dir: "/usr", Reads: []string{"/usr"}}
	}
	policy, err := h.policy(r, "")
	if err != nil {
		return err
	}
	_, err = jail.Check().Judge(policy)
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
	private, err := os.MkdirTemp("", "steps-run-")
	if err != nil {
		return nil, RunReport{}, err
	}
	defer os.RemoveAll(private)
	if private, err = filepath.EvalSymlinks(private); err != nil {
		return nil, RunReport{}, err
	}
	policy, err := h.policy(r, private)
	if err != nil {
		return nil, RunReport{}, err
	}
	helper, err := h.helper()
	if err != nil {
		return nil, RunReport{}, err
	}
	res, err := jail.Run(ctx, helper, policy, jail.Command{Path: r.Name, Args: r.Args, Stdin: r.input})
	if err != nil {
		return nil, RunReport{}, err
	}
	report := RunReport{ExitCode: res.ExitCode, Signal: res.Signal, Mechanisms: res.Mechanisms}
	switch {
	case res.TimedOut:
		err = fmt.Errorf("%s took too long and was ended", r.Command)
	case res.OutputCapped:
		err = fmt.Errorf("%s printed too much and was ended", r.Command)
	case res.ExitCode != 0 || res.Signal != "":
		err = &CommandError{Command: r.Command, ExitCode: res.ExitCode, Signal: res.Signal, Output: lastOf(res)}
	}
	return res.Stdout, report, err
}

func (Machine) policy(r *Run, private string) (jail.Policy, error) {
	p := jail.Policy{
		Reads:   slices.Concat(jail.SystemReads(), r.Reads),
		Execs:   slices.Concat(jail.SystemExecs(), r.Reads),
		Writes:  slices.Clone(r.Writes),
		Network: r.Network,
		Dir:     r.Dir,
		Env:     []string{"PATH=" + runPath, "LANG=C.UTF-8"},
	}
	if private != "" {
		p.Writes = append(p.Writes, private)
		p.Env = append(p.Env, "HOME="+private, "TMPDIR="+private)
	}
	for _, v := range r.Env {
		name, _, _ := strings.Cut(v, "=")
		p.Env = slices.DeleteFunc(p.Env, func(have string) bool { return strings.HasPrefix(have, name+"=") })
		p.Env = append(p.Env, v)
	}
	return p, p.Validate()
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
