package rubyre

import (
	"strings"
	"unicode/utf8"
)

// refusedEscapes are Ruby escapes without an exact equivalent in the engine.
var refusedEscapes = map[byte]string{
	'R': `the line break escape \R`,
	'X': `the grapheme escape \X`,
	'K': `the keep escape \K`,
	'G': `the search start anchor \G`,
	'g': `the subexpression call \g`,
	'c': `the control escape \c`,
	'C': `the control escape \C`,
	'M': `the meta escape \M`,
}

// escape parses a backslash sequence outside a bracket class.
func (p *parser) escape(o Options) []node {
	start := p.pos
	if start+1 == len(p.text) {
		p.fail(start, "pattern ends in a backslash")
	}
	c := p.text[start+1]
	if what, ok := refusedEscapes[c]; ok {
		p.fail(start, "%s is not supported", what)
	}
	if set, ok := shorthandSet(c); ok {
		p.pos += 2
		return []node{&setNode{set}}
	}
	switch c {
	case 'A', 'Z', 'z', 'b', 'B':
		p.pos += 2
		return []node{&anchorNode{c, start}}
	case 'p', 'P':
		set := p.property()
		if o.IgnoreCase {
			p.noteFolded(start)
		}
		return []node{&setNode{set}}
	case 'k':
		return []node{p.namedBackref(o)}
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if n, ok := p.numberedBackref(o); ok {
			return []node{n}
		}
	case 'u':
		if strings.HasPrefix(p.rest(), `\u{`) {
			var nodes []node
			for _, r := range p.codePoints() {
				nodes = append(nodes, p.character(r, start, o))
			}
			return nodes
		}
	}
	return []node{p.character(p.escapedChar(), start, o)}
}

// escapedChar parses a backslash sequence that names one character.
func (p *parser) escapedChar() rune {
	start := p.pos
	p.pos++
	if p.pos == len(p.text) {
		p.fail(start, "pattern ends in a backslash")
	}
	r, size := utf8.DecodeRuneInString(p.rest())
	p.pos += size
	switch r {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'f':
		return '\f'
	case 'v':
		return '\v'
	case 'a':
		return '\a'
	case 'e':
		return '\x1b'
	case 'x':
		return p.byteEscape(start, 16, p.digits(hexSet, 2))
	case 'u':
		digits := p.digits(hexSet, 4)
		if len(digits) != 4 {
			p.fail(start, `\u needs four hexadecimal digits`)
		}
		return p.codePoint(start, digits)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		p.pos--
		return p.byteEscape(start, 8, p.digits(rangesSet("07"), 3))
	}
	if r < utf8.RuneSelf && wordSet.has(byte(r)) && r != '_' {
		p.fail(start, `the escape \%c is not supported`, r)
	}
	return r
}

// digits consumes up to most members of set.
func (p *parser) digits(set byteSet, most int) string {
	from := p.pos
	for p.pos < len(p.text) && p.pos-from < most && set.has(p.text[p.pos]) {
		p.pos++
	}
	return p.text[from:p.pos]
}

// byteEscape evaluates the digits of \xHH or an octal escape.
func (p *parser) byteEscape(start, base int, digits string) rune {
	if digits == "" {
		p.fail(start, `\x needs hexadecimal digits`)
	}
	v := parseDigits(digits, base)
	if v >= utf8.RuneSelf {
		p.fail(start, "a byte escape above 7F is not supported; write the character itself")
	}
	return v
}

func (p *parser) codePoint(start int, digits string) rune {
	v := parseDigits(digits, 16)
	if !utf8.ValidRune(v) {
		p.fail(start, "U+%s is not a character", digits)
	}
	return v
}

// parseDigits evaluates at most six digits of the given base.
func parseDigits(digits string, base int) (v rune) {
	for i := 0; i < len(digits); i++ {
		d := rune(digits[i])
		switch {
		case d >= 'a':
			d -= 'a' - 10
		case d >= 'A':
			d -= 'A' - 10
		default:
			d -= '0'
		}
		v = v*rune(base) + d
	}
	return v
}

// codePoints parses \u{H H ...}.
func (p *parser) codePoints() []rune {
	start := p.pos
	p.pos += len(`\u{`)
	end := strings.IndexByte(p.rest(), '}')
	if end < 0 {
		p.fail(start, `\u{ is not closed`)
	}
	fields := strings.FieldsFunc(p.rest()[:end], func(r rune) bool { return r == ' ' || r == '\t' })
	p.pos += end + 1
	if len(fields) == 0 {
		p.fail(start, `\u{} names no character`)
	}
	var out []rune
	for _, f := range fields {
		if len(f) > 6 || strings.Trim(f, "0123456789abcdefABCDEF") != "" {
			p.fail(start, `\u{%s} is not a code point`, abbreviate(f))
		}
		out = append(out, p.codePoint(start, f))
	}
	return out
}

// property parses \p{Name}, \p{^Name} or \P{Name} for the POSIX names. Ruby
// compiles any such pattern as UTF-8.
func (p *parser) property() byteSet {
	start := p.pos
	negative := p.text[p.pos+1] == 'P'
	p.pos += 2
	end := strings.IndexByte(p.rest(), '}')
	if !p.accept("{") || end < 0 {
		p.fail(start, `\p needs a name in braces`)
	}
	name := p.text[p.pos : start+2+end]
	p.pos = start + 2 + end + 1
	if rest, ok := strings.CutPrefix(name, "^"); ok {
		name, negative = rest, !negative
	}
	set, ok := posixSets[strings.ToLower(name)]
	// The Unicode property Punct and [[:punct:]] differ in Ruby.
	if !ok || strings.EqualFold(name, "punct") {
		p.fail(start, `the character property %q is not supported`, abbreviate(name))
	}
	p.nonASCII = true
	if negative {
		set = set.complement()
	}
	return set
}
