package jail

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
