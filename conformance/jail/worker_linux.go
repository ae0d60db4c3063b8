package jail

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"steps.example/conformance"
)

// The suite runs in a process of its own, which is the caller of every jail and
// as careless as a caller can be: it has a controlling terminal, a secret in
// its environment and another in its session keyring, and open descriptors that
// every process that it starts inherits.
const (
	inheritedReadFD  = 56 // base/outer/file, read only
	inheritedWriteFD = 57 // the same, read and write
	inheritedDirFD   = 58 // base/outer
	terminalFD       = 59 // the other end of the terminal

	secretName  = "STEPS_CALLER_SECRET"
	secretValue = "hunter2"
	secretKey   = "steps-conformance-secret"
)

// job is what the worker is told.
type job struct {
	Options Options
	Base    string
}

// grace is how long the worker may take to clear up after a cancellation.
const grace = 30 * time.Second

// conduct starts the worker and passes on its results.
func conduct(ctx context.Context, opt Options, base string, report func(Result)) error {
	if !asked.Load() {
		return errNotAsked
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	data, err := json.Marshal(job{Options: opt, Base: base})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, partArgs("caller", string(data))...)
	cmd.Stderr = os.Stderr
	// The worker stops when the pipe closes, so also when this process dies.
	stop, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Cancel = stop.Close
	cmd.WaitDelay = grace
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	var broken error
	for lines.Scan() {
		var r Result
		if broken = json.Unmarshal(lines.Bytes(), &r); broken != nil {
			break
		}
		report(r)
	}
	if broken == nil {
		broken = lines.Err()
	}
	if broken != nil {
		stop.Close()
		_, _ = io.Copy(io.Discard, out)
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(broken, err)
}

// becomeCaller makes this process the careless caller and starts over as it.
// Keyrings belong to threads: executing makes this thread's that of all.
func becomeCaller(j job) error {
	outer := filepath.Join(j.Base, "outer")
	if err := os.Mkdir(outer, 0o755); err != nil {
		return err
	}
	file := filepath.Join(outer, "file")
	if err := os.WriteFile(file, []byte("text of the caller\n"), 0o644); err != nil {
		return err
	}
	for _, f := range []struct {
		path      string
		flags, fd int
	}{{file, unix.O_RDONLY, inheritedReadFD}, {file, unix.O_RDWR, inheritedWriteFD}, {outer, unix.O_RDONLY | unix.O_DIRECTORY, inheritedDirFD}} {
		fd, err := unix.Open(f.path, f.flags|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Dup3(fd, f.fd, 0)
		}
		if err != nil {
			return fmt.Errorf("opening descriptors to inherit: %w", err)
		}
	}
	// Where there is no terminal or keyring to be had, the controls say so.
	_ = takeTerminal()
	if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err == nil {
		_, _ = unix.AddKey("user", secretKey, []byte(secretValue), unix.KEY_SPEC_SESSION_KEYRING)
	}
	if err := os.Setenv(secretName, secretValue); err != nil {
		return err
	}
	if j.Options.Mode == ModeLandlock {
		if err := install(noNamespaces); err != nil {
			return err
		}
	}
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return unix.Exec(self, append([]string{self}, partArgs("cases", string(data))...), os.Environ())
}

// takeTerminal makes a new terminal the controlling one of a new session.
func takeTerminal() error {
	if _, err := unix.Setsid(); err != nil {
		return err
	}
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Dup3(master, terminalFD, 0); err != nil {
		return err
	}
	if err := unix.IoctlSetPointerInt(terminalFD, unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(terminalFD, unix.TIOCGPTN)
	if err != nil {
		return err
	}
	// Opening it without O_NOCTTY takes it.
	_, err = unix.Open(fmt.Sprintf("/dev/pts/%d", n), unix.O_RDWR|unix.O_CLOEXEC, 0)
	return err
}

// runJob is the careless caller at work.
func runJob(j job) error {
	unix.CloseOnExec(terminalFD)
	// That nobody listens any more is for standard input to say. To ignore the
	// signals would go on to every command.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGPIPE)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	s, err := newSite(j.Base, j.Options.Mode)
	if err != nil {
		return err
	}
	cases, err := Pick(Cases(), j.Options.Pick)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	var broken error
	err = s.runCases(ctx, cases, func(r Result) {
		if broken == nil {
			broken = out.Encode(r)
		}
	})
	if ctx.Err() != nil {
		// Whoever would clear up may be gone.
		err = errors.Join(err, conformance.RemoveAll(j.Base))
	}
	return errors.Join(err, broken)
}
