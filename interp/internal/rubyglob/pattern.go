package rubyglob

import "strings"

// A componentKind says how a component of a pattern is compared.
type componentKind int

const (
	plain     componentKind = iota // a name, perhaps with backslashes
	wild                           // holds * ? or [
	brace                          // holds a brace
	recursive                      // one or more **/
	matchAny                       // end of a pattern
	matchDir                       // end of a pattern with a trailing slash
)

// A component is one part of a pattern, linked to the rest.
type component struct {
	kind componentKind
	text string
	next *component

	alternatives []string // of a brace component, see matches
}

// parse splits a pattern, without its leading slash, into components.
func parse(pattern string) *component {
	head := &component{}
	last := head
	add := func(c *component) {
		last.next = c
		last = c
	}
	slash := false // a slash precedes the position
	for pattern != "" {
		if rest, ok := cutRecursive(pattern); ok {
			pattern, slash = rest, true
			add(&component{kind: recursive})
			continue
		}
		end := componentEnd(pattern)
		add(&component{kind: kindOf(pattern[:end]), text: pattern[:end]})
		pattern, slash = strings.CutPrefix(pattern[end:], "/")
	}
	if slash {
		add(&component{kind: matchDir})
	} else {
		add(&component{kind: matchAny})
	}
	return head.next
}

// cutRecursive removes all leading **/, with any further slashes.
func cutRecursive(pattern string) (rest string, ok bool) {
	for strings.HasPrefix(pattern, "**/") {
		pattern, ok = strings.TrimLeft(pattern[2:], "/"), true
	}
	return pattern, ok
}

// componentEnd returns the offset of the slash that ends the first component.
// Slashes inside brackets or braces do not count; an opening one that is not
// closed takes in everything.
func componentEnd(pattern string) int {
	open := false
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '[', '{':
			open = true
		case ']', '}':
			open = false
		case '/':
			if !open {
				return i
			}
		case '\\':
			i++
		}
	}
	return len(pattern)
}

func kindOf(text string) componentKind {
	kind := plain
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			return brace
		case '*', '?', '[':
			kind = wild
		case '\\':
			i++
		}
	}
	return kind
}

// rest returns the pattern text from c on.
func (c *component) rest() string {
	var b strings.Builder
	for ; c != nil; c = c.next {
		switch c.kind {
		case recursive:
			b.WriteString("**/")
		case plain, wild, brace:
			b.WriteString(c.text)
			if c.next.kind != matchAny {
				b.WriteByte('/')
			}
		}
	}
	return b.String()
}

// unescape removes the backslashes of a plain component.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			if i++; i == len(text) {
				break
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
