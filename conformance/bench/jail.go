//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"steps.example/interp/jail"
)

const (
	// jailRuns is by how much the pairs of this part outnumber those of the
	// others: they take milliseconds.
	jailRuns = 20
	// trueCommand is the command of every row here.
	trueCommand = "/bin/true"
)

// jail measures the start and end of one jailed command: as this machine makes
// jails, and as it would if it forbade user namespaces.
func (b *suite) jail() error {
	fast := *b
	fast.runs *= jailRuns
	bare := filepath.Join(b.dir, "bareexec")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s", "-o", bare, "steps.example/conformance/bench/bareexec")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building bareexec: %w: %s", err, out)
	}
	support := jail.Check()
	if _, err := support.Judge(grants(b.dir, 0)); err != nil {
		fmt.Printf("| jailed %s: %v |  |  |  |  |\n", trueCommand, err)
		return nil
	}
	here := func(n int) (sample, error) { return jailed(b.bin, grants(b.dir, n)) }
	if !support.Namespaces {
		return fast.jailRows("jailed "+trueCommand, here, bare)
	}
	if err := fast.jailRows("jailed "+trueCommand, here, bare); err != nil {
		return err
	}
	w, err := startWalled(b.bin, b.dir)
	if err != nil {
		return err
	}
	defer w.close()
	return fast.jailRows("jailed "+trueCommand+" without namespaces", w.jailed, bare)
}

// jailRows prints the rows of one kind of jail; one runs a command in it with a
// number of grants beside the system's.
func (b *suite) jailRows(what string, one func(grants int) (sample, error), bare string) error {
	none := func() (sample, error) { return one(0) }
	against := func(name, goal string, other ...string) error {
		return b.jailRow(what+", against "+name, goal, none, func() (sample, error) { return collected(other...) })
	}
	if err := against("a Go helper that only executes", "≤ 1.2", bare, trueCommand); err != nil {
		return err
	}
	if err := against(trueCommand, "", trueCommand); err != nil {
		return err
	}
	if bwrap, err := exec.LookPath("bwrap"); err != nil {
		fmt.Printf("| %s, against bwrap, which is not installed (Debian: bubblewrap) |  |  |  | ≤ 0.5 |\n", what)
	} else if err := against("bwrap --unshare-all", "≤ 0.5", bwrap, "--unshare-all", "--ro-bind", "/", "/", trueCommand); err != nil {
		return err
	}
	for _, n := range []int{10, 100, 1000} {
		more := func() (sample, error) { return one(n) }
		if err := b.jailRow(fmt.Sprintf("%s, %d more grants, against none", what, n), "", more, none); err != nil {
			return err
		}
	}
	return nil
}

func (b *suite) jailRow(what, goal string, one, two func() (sample, error)) error {
	x, y, ratio, err := b.pairs(one, two)
	if err != nil {
		return err
	}
	row(what, ms(x.wall), ms(y.wall), ratio, goal)
	return nil
}

// grants is the policy of a command that needs the system and may read n more
// directories, which are made.
func grants(dir string, n int) jail.Policy {
	p := jail.Policy{Reads: jail.SystemReads(), Execs: jail.SystemExecs(), Dir: "/usr", Env: []string{}}
	p.Reads = slices.Clone(p.Reads)
	for i := range n {
		grant := filepath.Join(dir, "grants", fmt.Sprint(i))
		// If it cannot be made, the jail says so.
		_ = os.MkdirAll(grant, 0o755)
		p.Reads = append(p.Reads, grant)
	}
	return p
}

// jailed runs the command in a jail, by the helper that is built beside steps.
func jailed(bin string, policy jail.Policy) (sample, error) {
	start := time.Now()
	res, err := jail.Run(context.Background(), filepath.Join(bin, "steps-jail"), policy, jail.Command{Path: trueCommand})
	s := sample{wall: time.Since(start)}
	if err == nil && !res.OK() {
		err = fmt.Errorf("jailed %s failed: %+v", trueCommand, res)
	}
	return s, err
}

// collected runs a command as jail.Run runs its helper: in a session of its
// own, with an empty environment, and pipes that are read to their end.
func collected(command ...string) (sample, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = []string{}, "/", &syscall.SysProcAttr{Setsid: true}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	err := cmd.Run()
	s := sample{wall: time.Since(start)}
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, errs.Bytes())
	}
	return s, err
}
