package jail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/cage"
	"steps.example/interp/jail/internal/wire"
)

// grace is how long the helper may take to end a tree that was told to stop;
// longer than the helper itself tries.
const grace = cage.Grace + 10*time.Second

// reportGap is why [Result.Denied] is empty on macOS.
const reportGap = `macOS tells what a sandbox denied in the system's log only: log show --last 5m --predicate 'sender == "Sandbox"'`

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
	if len(p.Layers) > 0 {
		return nil, &LayerError{Dir: p.Layers[0].Dir, Err: errors.New("macOS has no overlay file system")}
	}
	program, err := findHelper(helper, p)
	if err != nil {
		return nil, err
	}
	profile, err := newProfile(program, p)
	if err != nil {
		return nil, err
	}
	limits := p.Limits.withDefaults()
	j, err := start(program, newStart(program, profile), newOrder(p, c), c.Stdin, limits.OutputBytes)
	if err != nil {
		return nil, err
	}
	res, err := j.wait(ctx, limits.Wall, p, c, kept)
	if err == nil && p.Report {
		res.ReportGap = reportGap
	}
	return res, err
}

// pipes are the pipes between the helper and its caller, by what they carry.
type pipes struct {
	theirs, ours []*os.File
	err          error
}

// from adds a pipe that the helper writes, to one that it reads.
func (p *pipes) from() { p.add(1) }
func (p *pipes) to()   { p.add(0) }

func (p *pipes) add(theirs int) {
	r, w, err := os.Pipe()
	if err != nil {
		p.err = errors.Join(p.err, err)
		return
	}
	ends := [2]*os.File{r, w}
	p.theirs = append(p.theirs, ends[theirs])
	p.ours = append(p.ours, ends[1-theirs])
}

// send writes what the helper or the command may or may not read to its end.
func send(f *os.File, data []byte) {
	f.Write(data) // fails when the reader is gone, which the report will tell
	f.Close()
}

// start starts the helper with descriptors as packages wire and cage number
// them. Orders come by pipes that nobody else holds, as there are no sealed
// files.
func start(helper string, outer, inner wire.Order, stdin []byte, outputBytes int64) (*session, error) {
	orders := [][]byte{outer.Encode(), inner.Encode()}
	for _, encoded := range orders {
		if len(encoded) > wire.MaxSize {
			return nil, fmt.Errorf("jail: policy, arguments and environment take %d bytes, more than %d", len(encoded), wire.MaxSize)
		}
	}
	var p pipes
	p.to()   // 0 standard input
	p.from() // 1 standard output
	p.from() // 2 standard error
	p.to()   // 3 wire.OrderFD
	p.to()   // 4 wire.ControlFD
	p.from() // 5 wire.ReportFD
	p.to()   // 6 cage.InnerFD
	defer func() { closeAll(p.theirs) }()
	if p.err != nil {
		closeAll(p.ours)
		return nil, fmt.Errorf("jail: preparing the helper: %w", p.err)
	}
	process, err := os.StartProcess(helper, []string{wire.Arg0, wire.Arg1}, &os.ProcAttr{
		Dir:   "/",
		Env:   []string{},
		Files: p.theirs,
		// Out of reach of the terminal's signals: it ends by its control pipe,
		// after the tree, and not before.
		Sys: &unix.SysProcAttr{Setsid: true},
	})
	if err != nil {
		closeAll(p.ours)
		return nil, fmt.Errorf("jail: starting the helper %q: %w", helper, err)
	}
	j := &session{helper: process, control: p.ours[wire.ControlFD], left: perhapsLeft, report: make(chan answer, 1), capped: make(chan struct{}, 2)}
	full := func() { j.capped <- struct{}{} }
	j.stdout = collect(p.ours[1], outputBytes, full)
	j.stderr = collect(p.ours[2], outputBytes, full)
	go send(p.ours[0], stdin)
	go send(p.ours[wire.OrderFD], orders[0])
	go send(p.ours[cage.InnerFD], orders[1])
	go j.hear(p.ours[wire.ReportFD])
	return j, nil
}

// refused says why the command was not started.
func refused(r wire.Report, _ Policy, c Command) error {
	switch errno := unix.Errno(r.Errno); {
	case r.Outcome == wire.NotExecuted:
		return &ExecError{Path: c.Path, Err: errno}
	case errno != 0:
		return fmt.Errorf("jail: %s: %w", r.Message, errno)
	}
	return fmt.Errorf("jail: %s", r.Message)
}
