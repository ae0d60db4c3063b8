package rubyre

import (
	"errors"
	"fmt"
)

var (
	// ErrTimeout is returned when matching took longer than the timeout given
	// to [Compile].
	ErrTimeout = errors.New("the pattern took too long to match; simplify nested repeats")
	// ErrStack is returned when matching needed more backtracking states than
	// the engine may keep.
	ErrStack = errors.New("the pattern needs too much backtracking; simplify nested repeats")
	// ErrEncoding is returned where Ruby refuses to mix the bytes of the text
	// with non-ASCII characters of the pattern or the replacement.
	ErrEncoding = errors.New("text and pattern or replacement both hold non-ASCII characters")
	// ErrTooLarge is returned when the result would exceed [MaxOutput].
	ErrTooLarge = errors.New("the result of the replacement is too large")
)

// A SyntaxError reports a pattern or replacement that is malformed or uses a
// construct this package does not support.
type SyntaxError struct {
	Text   string // the pattern or replacement
	Offset int    // byte offset into Text
	Reason string
}

// Error describes the position and the reason.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%q: at offset %d: %s", abbreviate(e.Text), e.Offset, e.Reason)
}

// abbreviate keeps messages readable when a pattern is very long.
func abbreviate(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
