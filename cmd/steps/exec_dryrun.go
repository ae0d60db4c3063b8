package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"steps.example/interp/changeset"
	"steps.example/interp/jail"
)

// print is --dry-run: the policy and what keeps it, or what does not.
func (p *execPlan) print(t *terminal) error {
	kept, refused := jail.Check().Judge(p.policy)
	if t.json {
		object := map[string]any{
			"command": append([]string{p.command.Path}, p.command.Args...), "dir": p.policy.Dir,
			"reads": p.policy.Reads, "execs": p.policy.Execs, "writes": p.writes(), "network": networkOf(p.policy),
			"env": p.envObject(), "limits": limitsObject(limitsOf(p.policy)), "guarantees": kept,
		}
		if err := t.object("policy", object); err != nil {
			return err
		}
	} else {
		if err := p.printPolicy(t); err != nil {
			return err
		}
		for _, g := range jail.Guarantees() {
			printGuarantee(t.out, g.Name, g.Promise, kept[g.Name])
		}
	}
	if refused != nil {
		return &exitError{code: exitRefused, err: refused}
	}
	return nil
}

func (p *execPlan) printPolicy(t *terminal) error {
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	line := func(what, value string) { fmt.Fprintf(table, "%s\t%s\n", what, changeset.Printable(value)) }
	for i, arg := range append([]string{p.command.Path}, p.command.Args...) {
		line(first(i, "run"), arg)
	}
	line("dir", p.policy.Dir)
	for _, list := range []struct {
		name  string
		paths []string
	}{{"read", p.policy.Reads}, {"exec", p.policy.Execs}, {"write", p.writes()}} {
		for i, path := range list.paths {
			line(first(i, list.name), path)
		}
	}
	line("network", networkOf(p.policy))
	for i, v := range p.env {
		value := v.value
		if v.note != "" {
			value = "(" + v.note + ")"
		}
		line(first(i, "env"), v.name+"="+value)
	}
	l := limitsOf(p.policy)
	line("limits", fmt.Sprintf("timeout %s, cpu %s, memory %s, file-size %s,", l.Wall, l.CPU, orNone(l.Memory), size(l.FileSize)))
	line("", fmt.Sprintf("output %s, open-files %d, processes %d", size(l.OutputBytes), l.OpenFiles, l.Processes))
	return table.Flush()
}

// first is the name of a row for the first of its lines.
func first(i int, name string) string {
	if i == 0 {
		return name
	}
	return ""
}

func orNone(n int64) string {
	if n == 0 {
		return "none"
	}
	return size(n)
}

func networkOf(p jail.Policy) string {
	switch {
	case p.Network:
		return "TCP and UDP"
	case len(p.Ports) > 0:
		return "TCP to port " + strings.Trim(strings.ReplaceAll(fmt.Sprint(p.Ports), " ", ", "), "[]")
	}
	return "none"
}

func (p *execPlan) envObject() map[string]string {
	object := map[string]string{}
	for _, v := range p.env {
		object[v.name] = v.value
		if v.note != "" {
			object[v.name] = "(" + v.note + ")"
		}
	}
	return object
}

func limitsObject(l jail.Limits) map[string]any {
	return map[string]any{
		"timeout": l.Wall.String(), "cpu": l.CPU.String(), "memory": l.Memory, "file_size": l.FileSize,
		"output": l.OutputBytes, "open_files": l.OpenFiles, "processes": l.Processes,
	}
}
