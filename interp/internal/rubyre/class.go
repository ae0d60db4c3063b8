package rubyre

import (
	"strings"
	"unicode/utf8"
)

// class parses a top-level bracket class. Case folding applies to the members
// before the class's own negation, as in Ruby.
func (p *parser) class(o Options) node {
	start := p.pos
	set, negative := p.classMembers()
	if o.IgnoreCase {
		p.noteFolded(start)
		set = set.folded()
	}
	if negative {
		set = set.complement()
	}
	return &setNode{set}
}

// classMembers parses a class from its opening bracket through its closing one
// and returns its members before negation.
func (p *parser) classMembers() (set byteSet, negative bool) {
	p.enter()
	defer p.leave()
	start := p.pos
	p.pos++ // [
	negative = p.accept("^")
	first := p.pos
	set = p.classOperand(start, first)
	for p.accept("&&") {
		set.intersect(p.classOperand(start, first))
	}
	p.pos++ // ]
	return set, negative
}

// classOperand parses the members up to && or the closing bracket, which it
// does not consume. start is the offset of the class, first that of its first
// member, where ] and - are literal.
func (p *parser) classOperand(start, first int) byteSet {
	var set byteSet
	began := p.pos
	for {
		at := p.pos
		c, ok := p.peek()
		if !ok {
			p.fail(start, "bracket class is not closed")
		}
		switch {
		case c == ']' && at != first, strings.HasPrefix(p.rest(), "&&"):
			if at == began {
				p.fail(at, "empty operand of && in a bracket class")
			}
			return set
		case c == '[':
			set.union(p.nestedClass())
			p.refuseRange()
			continue
		case c == '\\' && p.pos+1 < len(p.text):
			if s, ok := p.classEscape(); ok {
				set.union(s)
				p.refuseRange()
				continue
			}
		case c == '-':
			if at != first && !strings.HasPrefix(p.rest(), "-]") || strings.HasPrefix(p.rest(), "--") {
				p.fail(at, `ambiguous - in a bracket class; write \-`)
			}
		}
		lo := p.classChar()
		hi := lo
		if p.isRange() {
			p.pos++
			if c, ok := p.peek(); ok && (c == '[' || c == '-' || strings.HasPrefix(p.rest(), "&&")) {
				p.fail(p.pos, `ambiguous end of a range in a bracket class; escape it`)
			}
			hi = p.classChar()
		}
		if lo > hi {
			p.fail(at, "range in a bracket class runs backwards")
		}
		if lo < utf8.RuneSelf {
			set.addRange(byte(lo), byte(min(hi, utf8.RuneSelf-1)))
		}
	}
}

// isRange reports whether the text goes on with a range operator: a - that is
// not the last member.
func (p *parser) isRange() bool {
	return strings.HasPrefix(p.rest(), "-") && !strings.HasPrefix(p.rest(), "-]")
}

// refuseRange rejects a range that begins with a set such as \w.
func (p *parser) refuseRange() {
	if p.isRange() {
		p.fail(p.pos, `ambiguous - after a set in a bracket class; write \-`)
	}
}

func (p *parser) nestedClass() byteSet {
	if strings.HasPrefix(p.rest(), "[:") {
		return p.posixClass()
	}
	set, negative := p.classMembers()
	if negative {
		set = set.complement()
	}
	return set
}

// posixClass parses [:name:] or [:^name:].
func (p *parser) posixClass() byteSet {
	start := p.pos
	p.pos += len("[:")
	negative := p.accept("^")
	end := strings.Index(p.rest(), ":]")
	if end < 0 {
		p.fail(start, `ambiguous [: in a bracket class; write \[:`)
	}
	name := p.rest()[:end]
	set, ok := posixSets[name]
	if !ok {
		p.fail(start, "the POSIX bracket %q is unknown", abbreviate(name))
	}
	p.pos += end + len(":]")
	if negative {
		return set.complement()
	}
	return set
}

// classEscape parses an escape that stands for a set. For one that names a
// single character, ok is false and nothing is consumed.
func (p *parser) classEscape() (set byteSet, ok bool) {
	c := p.text[p.pos+1]
	if set, ok := shorthandSet(c); ok {
		p.pos += 2
		return set, true
	}
	if c == 'p' || c == 'P' {
		return p.property(), true
	}
	return byteSet{}, false
}

// classChar parses one member that is a single character.
func (p *parser) classChar() rune {
	start := p.pos
	r, size := utf8.DecodeRuneInString(p.rest())
	switch {
	case size == 0:
		p.fail(start, "bracket class is not closed")
	case r != '\\':
		p.pos += size
	case strings.HasPrefix(p.rest(), `\b`):
		p.pos += len(`\b`)
		r = '\b'
	case strings.HasPrefix(p.rest(), `\u{`):
		list := p.codePoints()
		if len(list) > 1 {
			p.fail(start, `a list of code points in a bracket class is not supported`)
		}
		r = list[0]
	default:
		if p.pos+1 < len(p.text) {
			if _, isSet := shorthandSet(p.text[p.pos+1]); isSet {
				p.fail(start, "a set cannot end a range in a bracket class")
			}
		}
		r = p.escapedChar()
	}
	if r >= utf8.RuneSelf {
		p.nonASCII = true
	}
	return r
}
