package view

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// ErrMoved says that the real tree changed while the view was reading it.
var ErrMoved = errors.New("changed while it was being read")

// ErrOutside is [fsroot.ErrOutside]: the path, or a link on it, leads out of
// the roots.
var ErrOutside = fsroot.ErrOutside

// Error is a failed operation on the view.
type Error struct {
	Op   string // the operation, as a verb
	Path string // as the caller gave it
	Link string // the symlink that led out of the roots, if one did
	Err  error
}

func (e *Error) Error() string {
	path := changeset.Printable(shown(e.Path))
	if e.Link != "" {
		return fmt.Sprintf("%s %s: the symlink %s leads out of the directories that this package may touch", e.Op, path, changeset.Printable(e.Link))
	}
	if errors.Is(e.Err, fsroot.ErrOutside) {
		return fmt.Sprintf("%s %s: outside the directories that this package may touch", e.Op, path)
	}
	err := e.Err
	if at, ok := err.(*fs.PathError); ok && at.Path == e.Path {
		err = at.Err
	}
	return fmt.Sprintf("%s %s: %v", e.Op, path, err)
}

// shown is a path as it is told: of one that is very long, both ends.
func shown(path string) string {
	const most, start, end = 240, 120, 60
	if len(path) <= most {
		return path
	}
	return fmt.Sprintf("%s…%s (%d bytes)", path[:start], path[len(path)-end:], len(path))
}

func (e *Error) Unwrap() error { return e.Err }

func fail(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return &Error{Op: op, Path: path, Err: err}
}

func moved(path string, cause error) error {
	if cause != nil && !fsroot.IsMissing(cause) && !errors.Is(cause, unix.ELOOP) {
		return cause
	}
	return &Error{Op: "read", Path: path, Err: ErrMoved}
}
