package rubyre

import (
	"fmt"
	"strconv"
	"strings"
)

// The engine works on runes and knows Unicode. Bytes above 7F are therefore
// mapped into the private use area, whose characters have no case and belong
// to no class, so that the engine's own \b and case folding stay ASCII.
const (
	highBase    = 0xE000 // byte b >= 0x80 becomes rune highBase+b
	foreignRune = 0xF8FF // never occurs in a text
)

func engineRune(b byte) rune {
	if b < 0x80 {
		return rune(b)
	}
	return highBase + rune(b)
}

func engineText(src []byte) []rune {
	out := make([]rune, len(src))
	for i, b := range src {
		out[i] = engineRune(b)
	}
	return out
}

// emitter writes a tree in the engine's syntax. Groups are numbered anew, since
// plain groups do not capture in a pattern with named ones.
type emitter struct {
	strings.Builder
	p       *parser
	numbers map[int]int // group index in the pattern -> engine group
}

func newEmitter(p *parser, root node) *emitter {
	e := &emitter{p: p, numbers: map[int]int{}}
	e.number(root)
	return e
}

func (e *emitter) number(n node) {
	if c, ok := n.(*captureNode); ok && e.p.captures(c) {
		e.numbers[c.index] = len(e.numbers) + 1
	}
	for _, child := range children(n) {
		e.number(child)
	}
}

func (e *emitter) emit(n node) {
	switch n := n.(type) {
	case *setNode:
		e.set(n.set)
	case *foreignNode:
		e.WriteString(escapeRune(foreignRune))
	case *seqNode:
		for _, item := range n.items {
			e.emit(item)
		}
	case *altNode:
		e.WriteString("(?:")
		for i, branch := range n.branches {
			if i > 0 {
				e.WriteByte('|')
			}
			e.emit(branch)
		}
		e.WriteByte(')')
	case *captureNode:
		if e.p.captures(n) {
			e.group("(", n.body)
		} else {
			e.group("(?:", n.body)
		}
	case *atomicNode:
		e.group("(?>", n.body)
	case *lookNode:
		e.group(lookOpening(n), n.body)
	case *repeatNode:
		e.repeat(n)
	case *anchorNode:
		e.WriteString(anchors[n.kind])
	case *backrefNode:
		open, number := `(?:\k<`, e.numbers[n.index]
		if n.fold {
			open = `(?i:\k<`
		}
		e.WriteString(open + strconv.Itoa(number) + ">)")
	}
}

func (e *emitter) group(opening string, body node) {
	e.WriteString(opening)
	e.emit(body)
	e.WriteByte(')')
}

func lookOpening(n *lookNode) string {
	switch {
	case n.behind && n.negative:
		return "(?<!"
	case n.behind:
		return "(?<="
	case n.negative:
		return "(?!"
	}
	return "(?="
}

// anchors maps Ruby's anchors. Ruby's ^ does not match after a newline that
// ends the text, except that an empty text has one line.
var anchors = map[byte]string{
	'^': `(?:(?m:^)(?!\z)|\A)`,
	'$': `(?m:$)`,
	'A': `\A`,
	'Z': `\Z`,
	'z': `\z`,
	'b': `\b`,
	'B': `\B`,
}

func (e *emitter) repeat(n *repeatNode) {
	if n.possessive {
		e.WriteString("(?>")
		defer e.WriteByte(')')
	}
	_, single := n.body.(*setNode)
	switch {
	case single:
		e.emit(n.body)
	case e.endsAtomic(n.body):
		// The engine wrongly merges a repeat with an atomic repeat inside it,
		// as in (?:a?+){2}. A look-ahead that always holds keeps them apart.
		e.WriteString("(?:")
		e.emit(n.body)
		e.WriteString("(?!" + escapeRune(foreignRune) + "))")
	default:
		e.group("(?:", n.body)
	}
	switch {
	case n.min == 0 && n.max == 1:
		e.WriteByte('?')
	case n.min == 0 && n.max < 0:
		e.WriteByte('*')
	case n.min == 1 && n.max < 0:
		e.WriteByte('+')
	case n.max < 0:
		fmt.Fprintf(e, "{%d,}", n.min)
	default:
		fmt.Fprintf(e, "{%d,%d}", n.min, n.max)
	}
	if n.lazy {
		e.WriteByte('?')
	}
}

// endsAtomic reports whether n is, but for groups that do not capture, an
// atomic group or a possessive repeat.
func (e *emitter) endsAtomic(n node) bool {
	switch n := n.(type) {
	case *atomicNode:
		return true
	case *repeatNode:
		return n.possessive
	case *seqNode:
		return len(n.items) == 1 && e.endsAtomic(n.items[0])
	case *captureNode:
		return !e.p.captures(n) && e.endsAtomic(n.body)
	}
	return false
}

// set writes a class in its shorter form, plain or negated. The two agree on
// the runes that occur in a text.
func (e *emitter) set(s byteSet) {
	members, others := s.ranges(), s.complement().ranges()
	switch {
	case len(members) == 1 && members[0][0] == members[0][1]:
		e.WriteString(escapeRune(engineRune(members[0][0])))
	case len(others) == 0:
		e.WriteString(`[\s\S]`)
	case len(members) == 0:
		e.WriteString(escapeRune(foreignRune))
	case len(others) < len(members):
		e.ranges("[^", others)
	default:
		e.ranges("[", members)
	}
}

func (e *emitter) ranges(opening string, ranges [][2]byte) {
	e.WriteString(opening)
	for _, r := range ranges {
		lo, hi := r[0], r[1]
		if lo < 0x80 && hi >= 0x80 { // the mapping is not contiguous here
			e.WriteString(escapeRune(engineRune(lo)) + "-" + escapeRune(0x7F))
			lo = 0x80
		}
		e.WriteString(escapeRune(engineRune(lo)))
		if hi > lo {
			e.WriteString("-" + escapeRune(engineRune(hi)))
		}
	}
	e.WriteByte(']')
}

func escapeRune(r rune) string {
	if r < 0x80 && wordSet.has(byte(r)) {
		return string(r)
	}
	return fmt.Sprintf(`\u%04X`, r)
}
