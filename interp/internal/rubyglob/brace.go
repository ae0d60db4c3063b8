package rubyglob

import (
	"fmt"
	"strings"
)

// expandFirst calls yield with the text once for each alternative of its first
// brace group, in order. found is false if there is no brace at all. If the
// braces are unbalanced found is true but yield is not called: such a pattern
// matches nothing. Errors of yield end the expansion.
func expandFirst(text string, yield func(string) error) (found bool, err error) {
	left, right := -1, -1
	nest := 0
	for i := 0; i < len(text) && right < 0; i++ {
		switch text[i] {
		case '{':
			if nest == 0 {
				left = i
			}
			nest++
		case '}':
			if left < 0 {
				continue
			}
			if nest--; nest == 0 {
				right = i
			}
		case '\\':
			i++
		}
	}
	if left < 0 {
		return false, nil
	}
	for from := left + 1; from <= right; {
		end := alternativeEnd(text[from:right]) + from
		if err := yield(text[:left] + text[from:end] + text[right+1:]); err != nil {
			return true, err
		}
		from = end + 1
	}
	return true, nil
}

// alternativeEnd returns the offset of the comma that ends the first
// alternative of the inside of a brace group.
func alternativeEnd(inside string) int {
	nest := 0
	for i := 0; i < len(inside); i++ {
		switch inside[i] {
		case ',':
			if nest == 0 {
				return i
			}
		case '{':
			nest++
		case '}':
			nest--
		case '\\':
			i++
		}
	}
	return len(inside)
}

// expand calls yield with every complete expansion of text.
func expand(text string, yield func(string) error) error {
	found, err := expandFirst(text, func(s string) error { return expand(s, yield) })
	if err != nil || found {
		return err
	}
	return yield(text)
}

// checker validates a pattern with all its expansions before any search.
type checker struct {
	whole string
	seen  int // expansions so far, intermediate ones included
}

// check validates a pattern without its leading slash. Braces that come before
// any **/ are expanded together with all later ones, which leaves nothing to
// object to but their number.
func (c *checker) check(pattern string) error {
	deep := false
	var previous *component
	for part := parse(pattern); part != nil; previous, part = part, part.next {
		switch {
		case part.kind == recursive:
			deep = true
		case part.kind != brace:
		case !deep:
			return c.expansions(part.rest(), true)
		case previous.kind != recursive:
			return &PatternError{c.whole, "braces behind **/ must directly follow it; write separate patterns"}
		default:
			if err := c.expansions(part.text, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// expansions counts the expansions of text.
func (c *checker) expansions(text string, slashes bool) error {
	if c.seen++; c.seen > MaxPatterns {
		return &PatternError{c.whole, fmt.Sprintf("braces expand to more than %d patterns", MaxPatterns)}
	}
	found, err := expandFirst(text, func(s string) error { return c.expansions(s, slashes) })
	if err == nil && !found && !slashes && strings.Contains(text, "/") {
		return &PatternError{c.whole, "braces behind **/ must not hold a slash; write separate patterns"}
	}
	return err
}
