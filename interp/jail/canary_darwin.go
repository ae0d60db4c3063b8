package jail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// A canaryProbe is a line of shell that succeeds without a jail. In the jail it
// must succeed too, or must not.
type canaryProbe struct {
	name, script string
	allow        bool
}

// canaryProbes know a writable directory IN and a directory OUT without grants,
// each with a file and a tool, a TCP listener on PORT, and a process OTHER.
var canaryProbes = []canaryProbe{
	{"read outside", `cat "$OUT/file"`, false},
	{"list outside", `ls "$OUT"`, false},
	{"write outside", `echo x >> "$OUT/file"`, false},
	{"create outside", `echo x > "$OUT/new"`, false},
	{"unlink outside", `rm -f "$OUT/file"`, false},
	{"chmod outside", `chmod 600 "$OUT/file"`, false},
	{"rename out to in", `mv -f "$OUT/file" "$IN/new"`, false},
	{"link out to in", `ln "$OUT/file" "$IN/new"`, false},
	{"execute writable", `"$IN/tool"`, false},
	{"chmod u+s", `chmod u+s "$IN/file"`, false},
	{"tcp connect", `nc -z 127.0.0.1 "$PORT"`, false},
	{"signal a process", `kill -0 "$OTHER"`, false},
	{"write in", `echo x > "$IN/file"`, true},
	{"rename in", `mv -f "$IN/file" "$IN/new"`, true},
	{"run programs", `true | cat`, true},
	{"null device", `cat /dev/null > /dev/null`, true},
}

func canary(ctx context.Context, helper string) (CanaryReport, error) {
	mechanisms, err := Check().Judge(Policy{Reads: []string{"/usr"}, Dir: "/usr"})
	if err != nil {
		return CanaryReport{}, err
	}
	report := CanaryReport{OK: true, Mechanisms: mechanisms}
	for _, probe := range canaryProbes {
		surprise, err := probe.try(ctx, helper)
		if err != nil {
			return CanaryReport{}, fmt.Errorf("jail canary: %s: %w", probe.name, err)
		}
		if surprise != "" {
			report.OK = false
			report.Surprises = append(report.Surprises, probe.name+": "+surprise)
		}
	}
	return report, nil
}

// try does the probe without and with a jail, each in a world of its own, and
// says what came out wrong.
func (p canaryProbe) try(ctx context.Context, helper string) (surprise string, err error) {
	const shell = "/bin/sh"
	bare, err := newCanaryWorld()
	if err != nil {
		return "", err
	}
	defer bare.remove()
	cmd := exec.CommandContext(ctx, shell, "-c", p.script)
	cmd.Dir, cmd.Env = bare.in(), bare.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Sprintf("fails without a jail, so it shows nothing: %v: %s", err, Printable(out)), ctx.Err()
	}
	w, err := newCanaryWorld()
	if err != nil {
		return "", err
	}
	defer w.remove()
	res, err := Run(ctx, helper, Policy{
		Reads: SystemReads(), Execs: SystemExecs(), Writes: []string{w.in()}, Dir: w.in(), Env: w.env(),
	}, Command{Path: shell, Args: []string{"-c", p.script}})
	switch {
	case err != nil:
		return "", err
	case p.allow && !res.OK():
		return fmt.Sprintf("fails in the jail: %s", Printable(res.Stderr)), nil
	case !p.allow && res.OK():
		return "succeeds in the jail", nil
	}
	return "", nil
}

// A canaryWorld is what a probe can reach.
type canaryWorld struct {
	base     string
	listener int
	port     int
}

func (w *canaryWorld) in() string  { return filepath.Join(w.base, "in") }
func (w *canaryWorld) out() string { return filepath.Join(w.base, "out") }

func (w *canaryWorld) env() []string {
	return []string{
		"PATH=/usr/bin:/bin", "IN=" + w.in(), "OUT=" + w.out(),
		"PORT=" + strconv.Itoa(w.port), "OTHER=" + strconv.Itoa(os.Getpid()),
	}
}

func (w *canaryWorld) remove() {
	unix.Close(w.listener)
	os.RemoveAll(w.base)
}

func newCanaryWorld() (*canaryWorld, error) {
	base, err := os.MkdirTemp("", "steps-canary-")
	if err != nil {
		return nil, err
	}
	w := &canaryWorld{base: base, listener: -1}
	if err := w.fill(); err != nil {
		w.remove()
		return nil, err
	}
	return w, nil
}

func (w *canaryWorld) fill() error {
	real, err := filepath.EvalSymlinks(w.base)
	if err != nil {
		return err
	}
	w.base = real
	for _, dir := range []string{w.in(), w.out()} {
		if err := errors.Join(
			os.Mkdir(dir, 0o700),
			os.WriteFile(filepath.Join(dir, "file"), []byte("x\n"), 0o600),
			os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\nexit 0\n"), 0o700),
		); err != nil {
			return err
		}
	}
	if w.listener, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); err != nil {
		return err
	}
	unix.CloseOnExec(w.listener)
	if err := unix.Bind(w.listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(w.listener, 8); err != nil {
		return err
	}
	name, err := unix.Getsockname(w.listener)
	if err != nil {
		return err
	}
	address, ok := name.(*unix.SockaddrInet4)
	if !ok {
		return errors.New("the listener has no address")
	}
	w.port = address.Port
	return nil
}
