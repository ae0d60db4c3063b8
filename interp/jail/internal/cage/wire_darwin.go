package cage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"steps.example/interp/jail/internal/wire"
)

// SandboxExec is the program that puts a process into a sandbox.
const SandboxExec = "/usr/bin/sandbox-exec"

// ConfineArg is the only argument of the helper on its second start, inside the
// sandbox. The order that it gets has the version of both.
const ConfineArg = "confine"

// Grace is how long the helper tries to end a tree.
const Grace = 20 * time.Second

// InnerFD is the helper's descriptor, besides those of package wire, with the
// order for its second start. wire.OrderFD has the one for the first: what to
// start in order to get into the sandbox.
const InnerFD = 6

// Descriptors of the second start beyond standard input and output. Standard
// error is for what sandbox-exec has to say about its own failure.
const (
	confineOrderFD  = 3 // pipe with the order
	confineStderrFD = 4 // the command's standard error
	confineStatusFD = 5 // pipe: ready, then perhaps a report; closes at exec
)

// ready is what the second start says before it executes the command. Without
// it, sandbox-exec has failed.
const ready = 'r'

// report is what is told of an error.
func report(err error) wire.Report {
	var r *refusal
	if errors.As(err, &r) {
		return wire.Report{Outcome: wire.Refused, Errno: uint32(r.errno), Message: r.what}
	}
	return wire.Report{Outcome: wire.Refused, Message: err.Error()}
}

// readOrder reads an order to the end of a pipe.
func readOrder(fd uintptr) (wire.Order, error) {
	f := os.NewFile(fd, "order")
	if f == nil {
		return wire.Order{}, fmt.Errorf("there is no order on descriptor %d", fd)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, wire.MaxSize+1))
	if err == nil && len(data) > wire.MaxSize {
		err = fmt.Errorf("more than %d bytes", wire.MaxSize)
	}
	if err != nil {
		return wire.Order{}, fmt.Errorf("reading the order: %w", err)
	}
	return wire.DecodeOrder(data)
}
