package sbpl

import (
	"errors"
	"fmt"
	"strings"
)

// maxDepth is the deepest form of the subset: a parameter in a filter in a rule.
const maxDepth = 3

// A node is an atom, a string or a list of the program text.
type node struct {
	kind nodeKind
	text string // of an atom or, without its escapes, a string
	list []node
	// from and to are the place of the node in the text, in bytes.
	from, to int
}

type nodeKind int

const (
	atom nodeKind = iota
	quoted
	list
)

// A reader splits program text into nodes.
type reader struct {
	text string
	at   int
}

func (r *reader) errorf(format string, args ...any) error {
	line := 1 + strings.Count(r.text[:min(r.at, len(r.text))], "\n")
	return fmt.Errorf("line %d: %w", line, fmt.Errorf(format, args...))
}

// space skips white space.
func (r *reader) space() {
	r.at += len(r.text[r.at:]) - len(strings.TrimLeft(r.text[r.at:], " \t\n"))
}

func (r *reader) more() bool {
	r.space()
	return r.at < len(r.text)
}

// read returns the next node, which more has promised.
func (r *reader) read(depth int) (node, error) {
	n := node{from: r.at}
	var err error
	switch c := r.text[r.at]; {
	case c == '(' && depth == maxDepth:
		err = r.errorf("forms are nested deeper than any that is known")
	case c == '(':
		n.kind = list
		n.list, err = r.readList(depth + 1)
	case c == '"':
		n.kind = quoted
		n.text, err = r.readString()
	case isAtom(c):
		n.text = r.readAtom()
	default:
		err = r.errorf("unexpected %q", c)
	}
	n.to = r.at
	return n, err
}

func (r *reader) readList(depth int) ([]node, error) {
	r.at++
	var nodes []node
	for r.more() {
		if r.text[r.at] == ')' {
			r.at++
			return nodes, nil
		}
		n, err := r.read(depth)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nil, r.errorf("a form is not closed")
}

// readString takes printable ASCII with the two escapes that exist.
func (r *reader) readString() (string, error) {
	r.at++
	var b strings.Builder
	for ; r.at < len(r.text); r.at++ {
		c := r.text[r.at]
		switch {
		case c == '"':
			r.at++
			return b.String(), nil
		case c == '\\':
			r.at++
			if r.at == len(r.text) {
				return "", errors.New("a string is not closed")
			}
			if c = r.text[r.at]; c != '"' && c != '\\' {
				return "", r.errorf("unknown escape %q in a string", c)
			}
		case c < ' ' || c > '~':
			return "", r.errorf("unexpected %q in a string", c)
		}
		b.WriteByte(c)
	}
	return "", r.errorf("a string is not closed")
}

func (r *reader) readAtom() string {
	from := r.at
	for r.at < len(r.text) && isAtom(r.text[r.at]) {
		r.at++
	}
	return r.text[from:r.at]
}

func isAtom(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '*' || c == '_'
}
