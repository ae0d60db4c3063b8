package steps

import (
	"fmt"
	"slices"
	"strings"
)

// An Error is one fault of a document.
type Error struct {
	// Pos is where the faulty text begins.
	Pos Pos
	// Pointer is the place as a JSON pointer.
	Pointer string
	// Phase, Step (from 1) and Type tell the step; all are zero outside of one. Type is
	// empty also where the step's type is the fault.
	Phase Phase
	Step  int
	Type  Type
	// Field is the field within the step or document, such as "paths[0].base".
	Field string
	// Msg says what is wrong, and Want, which may be empty, what would be right.
	Msg, Want string
}

// Error is one line: the position, the step, the field, what is wrong and what is wanted.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:%d: ", e.Pos.Line, e.Pos.Col)
	if e.Step > 0 {
		if e.Phase != "" {
			fmt.Fprintf(&b, "%s ", e.Phase)
		}
		fmt.Fprintf(&b, "step %d", e.Step)
		if e.Type != "" {
			fmt.Fprintf(&b, " (%s)", e.Type)
		}
		b.WriteString(": ")
	}
	if e.Field != "" {
		fmt.Fprintf(&b, "field %q: ", e.Field)
	}
	b.WriteString(e.Msg)
	if e.Want != "" {
		fmt.Fprintf(&b, "; want %s", e.Want)
	}
	return b.String()
}

// maxErrors is how many faults are reported at once.
const maxErrors = 10

// Errors are the faults of a document in the order of their positions, at most ten.
type Errors []*Error

// Error is one line for each fault.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives access to each fault.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, err := range e {
		out[i] = err
	}
	return out
}

// sorted orders the faults by position and drops repeated ones.
func (e Errors) sorted() Errors {
	slices.SortStableFunc(e, func(a, b *Error) int {
		if a.Pos.Line != b.Pos.Line {
			return a.Pos.Line - b.Pos.Line
		}
		return a.Pos.Col - b.Pos.Col
	})
	return slices.CompactFunc(e, func(a, b *Error) bool { return *a == *b })
}
