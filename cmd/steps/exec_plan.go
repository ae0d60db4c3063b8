package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"steps.example/interp/jail"
)

// execPlan is what exec is about to do.
type execPlan struct {
	policy  jail.Policy
	command jail.Command
	// env is policy.Env with a word on where each value is from.
	env     []variable
	private privateDir
	notes   []string
}

// writes are the policy's, with words in the place of private directories,
// which have another name each time.
func (p *execPlan) writes() []string {
	var out []string
	for _, path := range p.policy.Writes {
		switch path {
		case p.private.home():
			path = "(the private HOME)"
		case p.private.tmp():
			path = "(the private TMPDIR)"
		}
		out = append(out, path)
	}
	return out
}

// plan turns flags and arguments into a policy and a command, or lists all that
// is wrong with them.
func (f *execFlags) plan(private privateDir, args []string) (*execPlan, error) {
	var wrong []error
	note := func(err error) {
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	p := &execPlan{private: private, policy: jail.Policy{Network: f.network, Gaps: f.gaps, Require: f.require, Report: f.report}}
	if !f.noSystem {
		p.policy.Reads, p.policy.Execs = jail.SystemReads(), jail.SystemExecs()
	}
	for _, list := range []struct {
		flag  string
		paths []string
		to    *[]string
	}{{"--read", f.reads, &p.policy.Reads}, {"--exec", f.execs, &p.policy.Execs}, {"--write", f.writes, &p.policy.Writes}} {
		for _, path := range list.paths {
			real, said, err := grant(list.flag, path)
			note(err)
			if err == nil && !slices.Contains(*list.to, real) {
				*list.to = append(*list.to, real)
			}
			if said != "" {
				p.notes = append(p.notes, said)
			}
		}
	}
	p.policy.Writes = append(p.policy.Writes, private.home(), private.tmp())
	for _, port := range f.ports {
		if port < 1 || port > 65535 {
			note(fmt.Errorf("--tcp %d: ports are from 1 to 65535", port))
			continue
		}
		p.policy.Ports = append(p.policy.Ports, uint16(port))
	}
	if f.network && len(f.ports) > 0 {
		note(errors.New("--network grants every port; give either it or --tcp"))
	}
	note(checkNames("--allow-gap", f.gaps, func(g jail.Guarantee) bool { return g.Waivable }))
	note(checkNames("--require", f.require, func(g jail.Guarantee) bool { return g.Optional }))
	var err error
	p.policy.Limits, err = parseLimits(f.timeout, f.limits)
	note(err)
	p.env, err = environment(f.env, private)
	note(err)
	for _, v := range p.env {
		p.policy.Env = append(p.policy.Env, v.name+"="+v.value)
	}
	if len(wrong) == 0 {
		p.policy.Dir, err = f.directory(p.policy)
		note(err)
	}
	if len(wrong) == 0 {
		note(p.policy.Validate())
	}
	if len(wrong) > 0 {
		return nil, usagef("%w", errors.Join(wrong...))
	}
	p.command.Path, err = findCommand(args[0], p.policy.Dir, pathOf(p.env), p.policy.Execs)
	p.command.Args = args[1:]
	return p, err
}

// checkNames refuses names of guarantees that do not fit a flag, and lists
// those that do.
func checkNames(flag string, names []string, fits func(jail.Guarantee) bool) error {
	var known []string
	for _, g := range jail.Guarantees() {
		if fits(g) {
			known = append(known, g.Name)
		}
	}
	for _, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		what := "no such guarantee"
		if slices.ContainsFunc(jail.Guarantees(), func(g jail.Guarantee) bool { return g.Name == name }) {
			what = "this guarantee is required always"
			if flag == "--allow-gap" {
				what = "this guarantee cannot be given up"
			}
		}
		return fmt.Errorf("%s %q: %s; it takes one of %s", flag, name, what, strings.Join(known, ", "))
	}
	return nil
}
