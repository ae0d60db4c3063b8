//go:build linux || darwin

package cage

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// A refusal is why a command was not started.
type refusal struct {
	what    string
	errno   unix.Errno
	outcome wire.Outcome // Refused unless set
	code    uint32
}

func (r *refusal) Error() string {
	if r.errno == 0 {
		return r.what
	}
	return r.what + ": " + r.errno.Error()
}

// refuse makes a refusal of err, keeping its error number.
func refuse(err error, format string, args ...any) error {
	r := &refusal{what: fmt.Sprintf(format, args...)}
	if err != nil && !errors.As(err, &r.errno) {
		r.what += ": " + err.Error()
	}
	return r
}
