package jail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// grace is how long the helper may take to end a tree that was told to stop.
// Only a process stuck in the kernel makes it matter.
const grace = 30 * time.Second

func run(ctx context.Context, helper string, p Policy, c Command, s Support) (*Result, error) {
	kept, err := s.Judge(p)
	if err == nil {
		err = c.validate()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if !s.Namespaces && len(p.Layers) > 0 {
		return nil, &LayerError{Dir: p.Layers[0].Dir, Err: errors.New("it takes namespaces, which do not work here")}
	}
	program, err := openHelper(helper, p)
	if err != nil {
		return nil, err
	}
	defer program.Close()
	res, err := runAs(ctx, program, p, c, s, kept)
	var none *noNamespaces
	if !errors.As(err, &none) {
		return res, err
	}
	// Nothing has run. Without namespaces the jail is weaker, which is for the
	// policy to accept.
	s.Namespaces = false
	s.Missing = append(slices.Clone(s.Missing), "namespaces failed: "+none.Error())
	if kept, err = s.Judge(p); err != nil {
		return nil, err
	}
	if len(p.Layers) > 0 {
		return nil, &LayerError{Dir: p.Layers[0].Dir, Err: none}
	}
	return runAs(ctx, program, p, c, s, kept)
}

// noNamespaces says that the machine gave the helper no namespaces to work in.
type noNamespaces struct{ err error }

func (e *noNamespaces) Error() string { return e.err.Error() }

// runAs runs the command with exactly the mechanisms of s.
func runAs(ctx context.Context, helper *os.File, p Policy, c Command, s Support, kept map[string]string) (*Result, error) {
	guards, err := protect(p, s)
	if err != nil {
		return nil, err
	}
	defer forget(guards)
	order := newOrder(p, c, s)
	var log *audit
	var gap string
	if p.Report {
		if log, gap = listen(s); log != nil {
			order.Token = log.token
		}
	}
	res, err := supervise(ctx, helper, order, p, c, kept)
	var denied []Denial
	if log != nil {
		denied = log.end()
	}
	if res != nil {
		res.Denied, res.ReportGap = denied, gap
	}
	if tampered := check(guards); tampered != nil {
		return nil, errors.Join(err, tampered)
	}
	return res, err
}

// supervise starts a helper and sees its command to the end.
func supervise(ctx context.Context, helper *os.File, order wire.Order, p Policy, c Command, kept map[string]string) (*Result, error) {
	limits := p.Limits.withDefaults()
	j, err := start(helper, order, c.Stdin, limits.OutputBytes)
	if err != nil {
		return nil, err
	}
	return j.wait(ctx, limits.Wall, p, c, kept)
}

// A session is a helper at work, seen from its caller.
type session struct {
	helper         *os.Process
	control        *os.File // closed to stop
	stdout, stderr *output
	namespaces     bool
	report         chan answer
	capped         chan struct{} // receives when an output is full
}

type answer struct {
	report wire.Report
	err    error
}

// start starts the helper with descriptors as package wire numbers them.
func start(helper *os.File, order wire.Order, stdin []byte, outputBytes int64) (*session, error) {
	encoded := order.Encode()
	if len(encoded) > wire.MaxSize {
		return nil, fmt.Errorf("jail: policy, arguments and environment take %d bytes, more than %d", len(encoded), wire.MaxSize)
	}
	var theirs, ours []*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			f.Close()
		}
	}
	defer func() { closeAll(theirs) }()
	var failed error
	// add appends a file for the helper, and for pipes keeps the other end.
	add := func(file, other *os.File, err error) {
		if err != nil {
			failed = errors.Join(failed, err)
			return
		}
		theirs = append(theirs, file)
		if other != nil {
			ours = append(ours, other)
		}
	}
	if len(stdin) == 0 {
		null, err := os.Open(os.DevNull)
		add(null, nil, err)
	} else {
		file, err := sealed("stdin", stdin)
		add(file, nil, err)
	}
	for range 2 {
		r, w, err := os.Pipe()
		add(w, r, err)
	}
	file, err := sealed("jail-order", encoded)
	add(file, nil, err)
	controlR, controlW, err := os.Pipe()
	add(controlR, controlW, err)
	reportR, reportW, err := os.Pipe()
	add(reportW, reportR, err)
	if failed != nil {
		closeAll(ours)
		return nil, fmt.Errorf("jail: preparing the helper: %w", failed)
	}
	add(helper, nil, nil)
	process, err := startHelper(helper, theirs, order.Namespaces)
	theirs = theirs[:len(theirs)-1] // stays the caller's
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	j := &session{
		helper:     process,
		control:    ours[2],
		namespaces: order.Namespaces,
		report:     make(chan answer, 1),
		capped:     make(chan struct{}, 2),
	}
	full := func() { j.capped <- struct{}{} }
	j.stdout = collect(ours[0], outputBytes, full)
	j.stderr = collect(ours[1], outputBytes, full)
	go j.hear(ours[3])
	return j, nil
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
		left := "; processes of the command may be left"
		if j.namespaces {
			left = " and the command with it"
		}
		a.err = fmt.Errorf("jail: the helper ended without a report (%v)%s", state, left)
	default:
		a.report, a.err = wire.DecodeReport(data)
	}
	j.report <- a
}

// wait sees the command to its end, by itself or by force.
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

// refused says why the command was not started.
func refused(r wire.Report, p Policy, c Command) error {
	errno := unix.Errno(r.Errno)
	err := error(errno)
	if errno == 0 {
		err = errors.New(r.Message)
	}
	switch {
	case r.Outcome == wire.NotExecuted:
		return &ExecError{Path: c.Path, Err: err}
	case r.Outcome == wire.NotLayered && int(r.Code) < len(p.Layers):
		return &LayerError{Dir: p.Layers[r.Code].Dir, Err: err}
	}
	if errno != 0 {
		err = fmt.Errorf("%s: %w", r.Message, errno)
	}
	if r.Outcome == wire.NoRoot {
		return &noNamespaces{err}
	}
	return fmt.Errorf("jail: %w", err)
}
