package commit

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// failure is what went wrong and what became of the transaction, in one message.
type failure struct {
	text   string
	causes []error
	// waits: the transaction is there for recovery to bring to its end.
	waits bool
}

func (e *failure) Error() string        { return e.text }
func (e *failure) Unwrap() []error      { return e.causes }
func (e *failure) Is(target error) bool { return e.waits && target == ErrBlocked }

// Abandon takes the transaction back because of err, like [Tx.Rollback], and gives
// err. Where it could not be taken back, the result says that, too, in one message.
func (tx *Tx) Abandon(err error) error {
	if tx.done {
		return err
	}
	back := tx.Rollback()
	_, lost := errors.AsType[*LostError](back)
	waits := tx.w.home == openDir
	switch {
	case waits && (sameReason(err, back) || !errors.Is(back, ErrBlocked)):
		return tx.w.stranded(err, back, "what was begun could not be taken back")
	case waits || lost:
		return &failure{text: err.Error() + "\n" + back.Error(), causes: []error{err, back}, waits: waits}
	}
	// What could not be removed of the store's own goes with the next transaction.
	return err
}

// fail is Abandon for an error that does not say what became of the tree.
func (tx *Tx) fail(err error) error {
	if end := tx.Abandon(err); end != err {
		return end
	}
	if errors.Is(err, ErrMoved) {
		return err
	}
	return fmt.Errorf("%w; nothing was changed", err)
}

// stranded is err, and then another error because of which the transaction waits for
// recovery; what says what could not be done about err.
func (w *work) stranded(err, then error, what string) error {
	e := &failure{causes: []error{err, then}, waits: true}
	if sameReason(err, then) {
		e.text = err.Error() + "; for the same reason " + what
	} else {
		e.text = err.Error() + "\n" + what + ": " + then.Error()
	}
	return e
}

// unended is err about a transaction that is past the point of no return, if
// recovery has to bring it to its end.
func (w *work) unended(did string, err error) error {
	if err == nil || w.home != openDir || errors.Is(err, ErrBlocked) {
		return err
	}
	text := did + ", but that could not be put on record: " + err.Error()
	return &failure{text: text, causes: []error{err}, waits: true}
}

// sameReason reports whether the system gave the same reason for all of both errors.
func sameReason(err, then error) bool {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return false
	}
	return errors.Is(then, errno)
}
