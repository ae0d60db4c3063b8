package commit

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"steps.example/interp/changeset"
)

// What callers branch on, with errors.Is. Each has a struct with the details.
var (
	ErrMoved       = errors.New("the tree moved")
	ErrBlocked     = errors.New("recovery needs a decision")
	ErrDrift       = errors.New("the tree is not as the receipt left it")
	ErrInterrupted = errors.New("an unfinished transaction is there")
	ErrLocked      = errors.New("the store is in use")
	ErrDamaged     = errors.New("damaged record")
	ErrNoReceipt   = errors.New("no such receipt")
	// ErrNoLayers is wrapped with the reason; see [Tx.Layers].
	ErrNoLayers = errors.New("layers cannot be used")
)

// MovedError says that an object is not the one that the changeset was made
// for. Nothing was changed, or all was taken back.
type MovedError struct {
	Path   string
	Reason string
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("%s changed since it was looked at: %s; nothing was changed, plan again", e.Path, e.Reason)
}

func (e *MovedError) Is(target error) bool { return target == ErrMoved }

func moved(path, format string, args ...any) error {
	return &MovedError{Path: path, Reason: fmt.Sprintf(format, args...)}
}

// Conflict is a path that could not be taken back without destroying something.
type Conflict struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	// Held is where the object is kept that belongs at Path, if one is.
	Held string `json:"held,omitempty"`
}

func (c Conflict) String() string {
	if c.Held == "" {
		return c.Path + ": " + c.Reason
	}
	return c.Path + ": " + c.Reason + "; what belongs there is kept as " + c.Held
}

// BlockedError lists what stands in the way of a rollback or recovery. What is
// on disk there was left alone, and what is held was kept. Once the errors of the
// system are mended, or the conflicts put in order, [Store.Recover] tries again; with
// Keep it gives up.
type BlockedError struct {
	ID        string
	Conflicts []Conflict
	// causes are the errors behind those that are not of others' making.
	causes []error
}

// Unwrap gives the errors of the system.
func (e *BlockedError) Unwrap() []error { return e.causes }

func (e *BlockedError) Error() string {
	if len(e.causes) > 0 {
		// The others may be no more than consequences.
		text := fmt.Sprintf("cannot end transaction %s: %v", e.ID, e.causes[0])
		if n := len(e.Conflicts) - 1; n > 0 {
			text += fmt.Sprintf(" (and %d more)", n)
		}
		return text
	}
	return fmt.Sprintf("transaction %s cannot be brought to an end by itself: %s", e.ID, few(e.Conflicts))
}

func (e *BlockedError) Is(target error) bool { return target == ErrBlocked }

// first is what stands in the way first, for those who got round it.
func (e *BlockedError) first() error {
	if len(e.causes) > 0 {
		return e.causes[0]
	}
	return moved(e.Conflicts[0].Path, "%s", e.Conflicts[0].Reason)
}

// LostError lists what a command removed and nothing can bring back. The
// transaction was taken back otherwise, and nothing waits for recovery.
type LostError struct{ Lost []Conflict }

func (e *LostError) Error() string { return "not all could be taken back: " + few(e.Lost) }

// DriftError lists how the tree differs from a receipt. Nothing was changed.
type DriftError struct {
	ID     string
	Drifts []Drift
}

func (e *DriftError) Error() string {
	return fmt.Sprintf("cannot undo %s, the tree changed since: %s", e.ID, few(e.Drifts))
}

func (e *DriftError) Is(target error) bool { return target == ErrDrift }

// InterruptedError lists transactions that were neither committed nor taken
// back; Recover brings them to an end.
type InterruptedError struct {
	Pending []Pending
}

func (e *InterruptedError) Error() string {
	ids := make([]string, len(e.Pending))
	for i, p := range e.Pending {
		ids[i] = p.ID
	}
	return fmt.Sprintf("transaction %s was interrupted", strings.Join(ids, ", "))
}

func (e *InterruptedError) Is(target error) bool { return target == ErrInterrupted }

// LockedError names who works on the store.
type LockedError struct {
	Store string
	PID   int       // 0 if unknown
	Since time.Time // zero if unknown
	Verb  string    // what it does, such as "apply"; "" if unknown
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("store %s is in use by another process; wait for it to end", e.Store)
	}
	who := fmt.Sprintf("process %d", e.PID)
	if e.Verb != "" {
		who += " (" + e.Verb + ")"
	}
	if !e.Since.IsZero() {
		who += " since " + e.Since.Local().Format("15:04:05")
	}
	return fmt.Sprintf("store %s is in use by %s; wait for it to end, or end it with kill %d, which takes back what it did",
		e.Store, who, e.PID)
}

func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// few joins the first ten.
func few[T fmt.Stringer](list []T) string {
	const most = 10
	parts := make([]string, 0, most+1)
	for i, x := range list {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-most))
			break
		}
		parts = append(parts, x.String())
	}
	return strings.Join(parts, "; ")
}

// sameVersion is [changeset.Stamp.Unchanged] without the change time and the
// attributes: a rename sets the former, and this asks about content only.
func sameVersion(a, b changeset.Stamp) bool {
	return a.SameObject(b) && a.Kind() == b.Kind() &&
		(a.Kind() == changeset.Dir || a.Size == b.Size && a.MTime == b.MTime)
}
