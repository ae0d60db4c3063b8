package jail

import (
	"context"
	"errors"
	"fmt"
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

// start starts the helper with descriptors as package wire numbers them.
func start(helper *os.File, order wire.Order, stdin []byte, outputBytes int64) (*session, error) {
	encoded := order.Encode()
	if len(encoded) > wire.MaxSize {
		return nil, fmt.Errorf("jail: policy, arguments and environment take %d bytes, more than %d", len(encoded), wire.MaxSize)
	}
	var theirs, ours []*os.File
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
		helper:  process,
		control: ours[2],
		left:    perhapsLeft,
		report:  make(chan answer, 1),
		capped:  make(chan struct{}, 2),
	}
	if order.Namespaces {
		j.left = goneWithIt
	}
	full := func() { j.capped <- struct{}{} }
	j.stdout = collect(ours[0], outputBytes, full)
	j.stderr = collect(ours[1], outputBytes, full)
	go j.hear(ours[3])
	return j, nil
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
