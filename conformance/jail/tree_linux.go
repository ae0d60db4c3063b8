package jail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail"
)

// treeCases are about what only the caller can see: how a command ends, and what
// is put back after it.
func treeCases() []Case {
	return []Case{
		{76, "change a protected file", "kept", protectCase},
		{73, "output flood", "stopped", floodCase},
		{74, "endless command", "stopped", wallCase},
		{75, "daemons survive", "killed", daemonCase},
	}
}

// floodSize is more than the jail lets through, and less than a control stops
// at.
const floodSize = 1 << 20

func floodCase(ctx context.Context, s *site, r *Result) {
	s.withWorld(r, func(w *world) {
		cmd := exec.Command("/bin/cat", "/dev/zero")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = w.start(cmd)
		}
		if err == nil {
			_, err = io.CopyN(io.Discard, out, 2*floodSize)
		}
		r.controlled(err)
		p := s.policy(w)
		p.Limits.OutputBytes = floodSize
		res, err := s.jailed(ctx, p, jail.Command{Path: "/bin/cat", Args: []string{"/dev/zero"}})
		if err != nil {
			r.fail("%v", err)
			return
		}
		r.Mechanism = "caller"
		r.Got = fmt.Sprintf("%d bytes", len(res.Stdout))
		if !res.OutputCapped || len(res.Stdout) != floodSize {
			r.fail("the output was not capped at %d bytes", floodSize)
			return
		}
		r.Got = "stopped"
	})
}

func wallCase(ctx context.Context, s *site, r *Result) {
	const wall = 300 * time.Millisecond
	s.withWorld(r, func(w *world) {
		// The world's victim sleeps as long, and outlives it.
		p := s.policy(w)
		p.Limits.Wall = wall
		res, err := s.jailed(ctx, p, jail.Command{Path: "/bin/sleep", Args: []string{"1000"}})
		r.controlled(unix.Kill(w.Victim, 0))
		if err != nil {
			r.fail("%v", err)
			return
		}
		r.Mechanism = "caller"
		r.Got = "stopped"
		if !res.TimedOut || res.Signal != "SIGKILL" {
			r.Got = fmt.Sprintf("exit %d %s", res.ExitCode, res.Signal)
			r.fail("it was not ended after %v", wall)
		}
	})
}

// daemons leaves processes behind in every way that a shell can; TAG tells them.
const daemons = `
for n in 1 2 3; do setsid sh -c "setsid sleep $TAG & setsid sleep $TAG & sleep $TAG" & done
nohup sleep $TAG >/dev/null 2>&1 &
(trap '' TERM HUP INT; sleep $TAG) &
setsid sh -c 'while :; do setsid sleep '$TAG' & sleep 0.05; done' &
sleep 0.3
`

func daemonCase(ctx context.Context, s *site, r *Result) {
	s.withWorld(r, func(w *world) {
		tag := func(n int) string { return fmt.Sprintf("1000.%d%d", n, w.Victim) }
		r.controlled(daemonControl(ctx, tag(1)))
		p := s.policy(w)
		p.Env = append(p.Env, "TAG="+tag(2))
		res, err := s.jailed(ctx, p, jail.Command{Path: "/bin/sh", Args: []string{"-c", daemons}})
		if err != nil {
			r.fail("%v", err)
			return
		}
		r.Mechanism = mechanism(res, "tree-kill")
		r.Got = "killed"
		if left := asleep(tag(2)); len(left) > 0 {
			r.Got = "alive"
			r.fail("processes left: %v", left)
			kill(left)
		}
		if err := unix.Kill(w.Victim, 0); err != nil {
			r.fail("a process outside ended too")
		}
	})
}

// daemonControl shows that one daemon survives a plain command.
func daemonControl(ctx context.Context, tag string) error {
	// Until it executes, the child is a shell whose own text has the tag in it.
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "setsid sleep "+tag+" & while ! grep -aq ^sleep /proc/$!/cmdline; do :; done")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := cmd.Run(); err != nil {
		return err
	}
	left := asleep(tag)
	kill(left)
	if len(left) == 0 {
		return errors.New("no daemon was left")
	}
	return nil
}

// asleep finds the processes that sleep for a time that is their tag.
func asleep(tag string) []int {
	var pids []int
	// Only a bad pattern is an error.
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil && string(data) == "sleep\x00"+tag+"\x00" {
			pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

func kill(pids []int) {
	for _, pid := range pids {
		// One that is gone is what is wanted.
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// protectCase: where modes outside can be changed, those that matter are put
// back.
func protectCase(ctx context.Context, s *site, r *Result) {
	s.withWorld(r, func(w *world) {
		r.controlled(unix.Chmod(w.out("tool"), 0o700))
		p := s.policy(w)
		p.Protect = []string{w.out("file")}
		res, err := s.jailed(ctx, p, jail.Command{Path: s.self, Args: partArgs("probe chmod outside", w.encode())})
		r.Got, r.Mechanism = "kept", "put back"
		tamper, tampered := errors.AsType[*jail.TamperError](err)
		switch {
		case tampered && (len(tamper.Paths) != 1 || tamper.Paths[0] != p.Protect[0] || len(tamper.Left) > 0):
			r.fail("the report is not about the file: %v", err)
		case !tampered && err != nil:
			r.fail("%v", err)
		case !tampered:
			r.Mechanism = mechanism(res, "metadata")
			if !keeps(r.Mechanism) {
				r.fail("the change was not noticed")
			}
		}
		info, err := os.Stat(w.out("file"))
		if err != nil || info.Mode() != 0o644 {
			r.Got = "changed"
			r.fail("the mode is %v, %v", info.Mode(), err)
		}
	})
}

// withWorld makes a world for f.
func (s *site) withWorld(r *Result, f func(*world)) {
	w, err := s.newWorld()
	if err != nil {
		r.fail("%v", err)
		return
	}
	defer w.end()
	f(w)
}
