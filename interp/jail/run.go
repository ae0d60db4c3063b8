package jail

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// A Result is what a command did.
type Result struct {
	ExitCode int    // exit status; -1 if a signal ended it
	Signal   string // name of that signal, such as SIGKILL, or empty
	// Stdout and Stderr are the output, each up to Limits.OutputBytes. See
	// [Printable] before showing them.
	Stdout, Stderr []byte
	TimedOut       bool // Limits.Wall was reached and the tree killed
	OutputCapped   bool // Limits.OutputBytes was reached and the tree killed
	// Denied is what the kernel denied to the command, as far as it tells, if
	// [Policy.Report] asked for it; ReportGap says what it does not tell and
	// why, in words to act on, or is empty.
	Denied    []Denial
	ReportGap string
	// Mechanisms says how each guarantee was kept, see [Support.Judge].
	Mechanisms map[string]string
}

// OK reports whether the command ended by itself with exit status 0.
func (r *Result) OK() bool {
	return r.ExitCode == 0 && r.Signal == "" && !r.TimedOut && !r.OutputCapped
}

// An ExecError says that the jail stood and the command could not be started
// in it: there is no such file, it is no program, or the policy does not let
// it, or its interpreter, be executed. Nothing of it has run.
type ExecError struct {
	Path string
	Err  error
}

func (e *ExecError) Error() string {
	text := fmt.Sprintf("jail: executing %q: %v", e.Path, e.Err)
	if errors.Is(e.Err, fs.ErrPermission) || errors.Is(e.Err, fs.ErrNotExist) {
		text += " (the file, and the interpreter that it names, must exist under the policy's execs)"
	}
	return text
}

func (e *ExecError) Unwrap() error { return e.Err }

// A Denial is one thing that the command tried and the jail denied.
type Denial struct {
	What string `json:"what"`           // the right that was missing, such as fs.read_file
	Path string `json:"path,omitempty"` // what it was missing on: a path or a port
	By   string `json:"by"`             // the mechanism
}

// A LayerError says that a [Layer] could not be mounted. Nothing of the command
// has run; the caller may run it without layers and look at the changes itself.
type LayerError struct {
	Dir string
	Err error
}

func (e *LayerError) Error() string {
	return fmt.Sprintf("jail: redirecting the writes below %q: %v", e.Dir, e.Err)
}

func (e *LayerError) Unwrap() error { return e.Err }

// A TamperError says that the command changed something that the policy
// protects. Paths are all that changed; everything is as it was again, except
// Left, which could not be put back.
type TamperError struct {
	Paths, Left []string
}

func (e *TamperError) Error() string {
	text := fmt.Sprintf("jail: the command changed what it must leave alone: %s", quoteAll(e.Paths))
	if len(e.Left) == 0 {
		return text + " (all put back)"
	}
	return text + "; not put back: " + quoteAll(e.Left)
}

func quoteAll(paths []string) string {
	quoted := make([]string, len(paths))
	for i, path := range paths {
		quoted[i] = strconv.Quote(path)
	}
	return strings.Join(quoted, ", ")
}

// Run runs c under p and returns when no process of it is left. helper is the
// helper's path, see [Helper]. The command's failure is in the result; an error
// says that the jail refused or failed, or that ctx ended, and then the result
// is nil. Whatever happens, the command has run under the whole policy or not
// at all, and its processes are gone when Run returns, unless the error says
// that this could not be shown.
//
// Run is safe for concurrent use and changes nothing in the calling process.
func Run(ctx context.Context, helper string, p Policy, c Command) (*Result, error) {
	return run(ctx, helper, p, c, Check())
}
