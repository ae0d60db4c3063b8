package rubyre

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Bounds on a pattern. Real step patterns stay below 200 bytes; the bounds keep
// the recursion of the parser and of the engine's compiler shallow.
const (
	maxPattern = 16 << 10
	maxDepth   = 100
	maxRepeat  = 100_000 // Ruby's own bound
)

// parser turns a Ruby pattern into a tree.
type parser struct {
	text  string
	pos   int
	depth int

	groups int            // capturing groups opened so far
	open   map[int]bool   // groups whose closing parenthesis is still ahead
	names  map[string]int // named groups opened so far
	bodies map[int]node   // groups closed so far

	backrefs []*backrefNode
	// nonASCII: Ruby compiles the pattern as UTF-8, so it only fits ASCII text.
	nonASCII bool
	// foldedAt is the offset plus one of the first class or non-ASCII
	// character under ignore-case.
	foldedAt int
}

// fail aborts parsing; parse recovers it.
func (p *parser) fail(offset int, format string, args ...any) {
	panic(&SyntaxError{Text: p.text, Offset: offset, Reason: fmt.Sprintf(format, args...)})
}

// parse returns the tree of the pattern. On success p.groups and p.names
// describe the groups.
func (p *parser) parse(o Options) (root node, err error) {
	defer func() {
		if r := recover(); r != nil {
			syntax, ok := r.(*SyntaxError)
			if !ok {
				panic(r)
			}
			root, err = nil, syntax
		}
	}()
	if len(p.text) > maxPattern {
		p.fail(maxPattern, "pattern is longer than %d bytes", maxPattern)
	}
	for i := 0; i < len(p.text); {
		r, size := utf8.DecodeRuneInString(p.text[i:])
		if r == utf8.RuneError && size == 1 {
			p.fail(i, "pattern is not valid UTF-8")
		}
		if r >= utf8.RuneSelf {
			p.nonASCII = true // even in a comment
		}
		i += size
	}
	p.open, p.names, p.bodies = map[int]bool{}, map[string]int{}, map[int]node{}
	root = p.alternation(o)
	if p.pos < len(p.text) {
		p.fail(p.pos, "unmatched close parenthesis")
	}
	for _, b := range p.backrefs {
		if !b.named && len(p.names) > 0 {
			p.fail(b.offset, "numbered back-reference in a pattern with named groups; use the name")
		}
		if b.index > p.groups {
			p.fail(b.offset, "back-reference to a group that does not exist")
		}
	}
	if p.nonASCII && p.foldedAt > 0 {
		p.fail(p.foldedAt-1, "ignore-case with non-ASCII characters or \\p{...} is not supported")
	}
	p.check(root)
	return root, nil
}

func (p *parser) rest() string { return p.text[p.pos:] }

func (p *parser) peek() (byte, bool) {
	if p.pos < len(p.text) {
		return p.text[p.pos], true
	}
	return 0, false
}

func (p *parser) accept(s string) bool {
	if len(p.rest()) >= len(s) && p.rest()[:len(s)] == s {
		p.pos += len(s)
		return true
	}
	return false
}

// enter and leave bound the recursion of groups and nested classes.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.pos, "groups are nested more than %d deep", maxDepth)
	}
}

func (p *parser) leave() { p.depth-- }

// alternation parses up to a closing parenthesis or the end.
func (p *parser) alternation(o Options) node {
	p.enter()
	defer p.leave()
	branches := []node{p.branch(o)}
	for p.accept("|") {
		branches = append(branches, p.branch(o))
	}
	if len(branches) == 1 {
		return branches[0]
	}
	return &altNode{branches}
}

func (p *parser) branch(o Options) node {
	var items []node
	for {
		p.skipIgnored(o)
		c, ok := p.peek()
		if !ok || c == '|' || c == ')' {
			return sequence(items)
		}
		atoms := p.atom(o)
		last := len(atoms) - 1
		atoms[last] = p.quantified(atoms[last], o)
		items = append(items, atoms...)
	}
}

// skipIgnored passes comments and, in extended mode, white space.
func (p *parser) skipIgnored(o Options) {
	for {
		start := p.pos
		if p.accept("(?#") {
			for !p.accept(")") {
				if p.pos == len(p.text) {
					p.fail(start, "comment group is not closed")
				}
				if p.accept(`\`) && p.pos == len(p.text) {
					continue
				}
				p.pos++
			}
			continue
		}
		c, ok := p.peek()
		switch {
		case !ok || !o.Extended:
			return
		case c == '\v': // Ruby takes it literally, against its documentation
			p.fail(p.pos, "a vertical tab in extended mode is not supported")
		case spaceSet.has(c):
			p.pos++
		case c == '#':
			for p.pos < len(p.text) && p.text[p.pos] != '\n' {
				p.pos++
			}
		default:
			return
		}
	}
}

// atom parses one element. Only \u{...} yields more than one node.
func (p *parser) atom(o Options) []node {
	start := p.pos
	c := p.text[p.pos]
	switch c {
	case '\\':
		return p.escape(o)
	case '[':
		return []node{p.class(o)}
	case '(':
		return []node{p.group(o)}
	case '^', '$':
		p.pos++
		return []node{&anchorNode{c, start}}
	case '.':
		p.pos++
		if o.MultiLine {
			return []node{&setNode{byteSet{}.complement()}}
		}
		return []node{&setNode{newline.complement()}}
	case '*', '+', '?':
		p.fail(start, "repeat operator %q has nothing to repeat", c)
	case '{':
		if _, _, ok := p.interval(); ok {
			p.fail(start, "repeat operator has nothing to repeat")
		}
	}
	r, size := utf8.DecodeRuneInString(p.rest())
	p.pos += size
	if o.Extended && r >= utf8.RuneSelf && unicode.IsSpace(r) {
		p.fail(start, "non-ASCII white space in extended mode is not supported")
	}
	return []node{p.character(r, start, o)}
}

// character returns the node for one literal character.
func (p *parser) character(r rune, offset int, o Options) node {
	if r >= utf8.RuneSelf {
		p.nonASCII = true
		if o.IgnoreCase {
			p.noteFolded(offset)
		}
		return &foreignNode{}
	}
	var s byteSet
	s.add(byte(r))
	if o.IgnoreCase {
		s = s.folded()
	}
	return &setNode{s}
}

func (p *parser) noteFolded(offset int) {
	if p.foldedAt == 0 {
		p.foldedAt = offset + 1
	}
}

// quantified wraps n in the repeat operators that follow.
func (p *parser) quantified(n node, o Options) node {
	for stacked := 0; ; stacked++ {
		p.skipIgnored(o)
		c, ok := p.peek()
		if !ok {
			return n
		}
		r := &repeatNode{body: n, offset: p.pos}
		switch c {
		case '?':
			r.min, r.max = 0, 1
			p.pos++
		case '*':
			r.min, r.max = 0, -1
			p.pos++
		case '+':
			r.min, r.max = 1, -1
			p.pos++
		case '{':
			var isInterval bool
			if r.min, r.max, isInterval = p.interval(); !isInterval {
				return n
			}
		default:
			return n
		}
		if stacked == 10 {
			p.fail(p.pos, "more than 10 repeat operators in a row")
		}
		// Ruby reads {n}? as an optional {n}, and a + after an interval as a
		// second repeat; both are left to the next turn of the loop.
		if c != '{' && p.accept("+") {
			r.possessive = true
		} else if c != '{' || r.min != r.max {
			r.lazy = p.accept("?")
		}
		n = r
	}
}

// interval parses {n}, {n,}, {n,m} or {,m}. Anything else after a brace is a
// literal brace: ok is false and nothing is consumed.
func (p *parser) interval() (low, high int, ok bool) {
	start := p.pos
	p.pos++
	low, hasLow := p.number()
	high, hasHigh := low, hasLow
	if p.accept(",") {
		high, hasHigh = p.number()
		if !hasHigh {
			high = -1
		}
	}
	if (!hasLow && !hasHigh) || !p.accept("}") {
		p.pos = start
		return 0, 0, false
	}
	if low > maxRepeat || high > maxRepeat {
		p.fail(start, "repeat count is above %d", maxRepeat)
	}
	if high >= 0 && low > high {
		p.fail(start, "upper repeat count is smaller than the lower")
	}
	return low, high, true
}

// number reads decimal digits; values beyond maxRepeat saturate.
func (p *parser) number() (n int, ok bool) {
	for p.pos < len(p.text) && digitSet.has(p.text[p.pos]) {
		n = min(n*10+int(p.text[p.pos]-'0'), maxRepeat+1)
		p.pos++
		ok = true
	}
	return n, ok
}
