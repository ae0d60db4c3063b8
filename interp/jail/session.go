//go:build linux || darwin

package jail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// What becomes of the command if the helper ends without a report.
const (
	perhapsLeft = "; processes of the command may be left"
	goneWithIt  = " and the command with it"
)

// A session is a helper at work, seen from its caller.
type session struct {
	helper         *os.Process
	control        *os.File // closed to stop
	stdout, stderr *output
	left           string // what becomes of the command if the helper dies
	report         chan answer
	capped         chan struct{} // receives when an output is full
}

type answer struct {
	report wire.Report
	err    error
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// hear passes on the helper's report, or how it ended without one.
func (j *session) hear(pipe *os.File) {
	defer pipe.Close()
	data, err := io.ReadAll(io.LimitReader(pipe, wire.MaxSize))
	state, waitErr := j.helper.Wait()
	var a answer
	switch {
	case err != nil:
		a.err = fmt.Errorf("jail: hearing from the helper: %w", err)
	case waitErr != nil:
		a.err = fmt.Errorf("jail: waiting for the helper: %w", waitErr)
	case len(data) == 0:
		a.err = fmt.Errorf("jail: the helper ended without a report (%v)%s", state, j.left)
	default:
		a.report, a.err = wire.DecodeReport(data)
	}
	j.report <- a
}

// wait sees the command to its end, by itself or by force. A command that was
// not started gives an error, which each system words by itself.
func (j *session) wait(ctx context.Context, wall time.Duration, p Policy, c Command, kept map[string]string) (*Result, error) {
	res := &Result{Mechanisms: kept}
	timer := time.NewTimer(wall)
	defer timer.Stop()
	var a answer
	select {
	case a = <-j.report:
	case <-timer.C:
		res.TimedOut = true
		a = j.stop()
	case <-j.capped:
		a = j.stop()
	case <-ctx.Done():
		a = j.stop()
		if a.err == nil {
			a.err = fmt.Errorf("jail: %q was stopped: %w", c.Path, ctx.Err())
		}
	}
	j.control.Close()
	var err1, err2 error
	res.Stdout, err1 = j.stdout.finish()
	res.Stderr, err2 = j.stderr.finish()
	res.OutputCapped = j.stdout.capped || j.stderr.capped
	if err := cmp.Or(a.err, err1, err2); err != nil {
		return nil, err
	}
	switch a.report.Outcome {
	case wire.Exited:
		res.ExitCode = int(a.report.Code)
	case wire.Signaled:
		res.ExitCode = -1
		sig := unix.Signal(a.report.Code)
		if res.Signal = unix.SignalName(sig); res.Signal == "" {
			res.Signal = fmt.Sprintf("signal %d", a.report.Code)
		}
	default:
		return nil, refused(a.report, p, c)
	}
	return res, nil
}

// stop ends the tree and waits for the report of that.
func (j *session) stop() answer {
	j.control.Close()
	select {
	case a := <-j.report:
		return a
	case <-time.After(grace):
		j.helper.Kill()
		<-j.report
		return answer{err: errors.New("jail: the helper could not end the command; processes of it may be left, stuck in the kernel")}
	}
}
