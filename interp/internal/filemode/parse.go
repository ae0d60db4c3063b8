package filemode

import "fmt"

// Permission bits as in chmod(2).
const (
	setUser  = 0o4000
	setGroup = 0o2000
	sticky   = 0o1000
	allBits  = 0o7777
	readBits = 0o444
	writeBit = 0o222
	execBits = 0o111
)

// A Mode is a parsed mode operand. The zero value changes nothing.
type Mode struct {
	changes []change
}

// A change is one operation of a mode, such as the g-w of "u+x,g-w".
type change struct {
	op        byte   // + - =
	who       uint32 // bits it may touch; 0 if it does not say
	value     uint32
	mentioned uint32 // bits it names, which for a directory includes set-ID only on purpose
	copies    bool   // value is a class whose current permissions are copied
	condExec  bool   // X: execute for directories and files with some execute bit
}

// A SyntaxError reports an operand that chmod rejects.
type SyntaxError struct {
	Spec   string
	Offset int // byte offset of the trouble
}

// Error shows the operand and the position.
func (e *SyntaxError) Error() string {
	spec := e.Spec
	if len(spec) > 100 {
		spec = spec[:100] + "..."
	}
	return fmt.Sprintf("mode %q: invalid at offset %d; write it like 0755 or u=rwX,go=rX", spec, e.Offset)
}

// Parse parses a mode operand. The error is a [*SyntaxError].
func Parse(spec string) (Mode, error) {
	p := &parser{spec: spec}
	if isOctal(p.peek()) {
		value, ok := p.octal()
		if !ok || p.pos < len(spec) {
			return Mode{}, p.fail()
		}
		c := change{op: '=', who: allBits, value: value, mentioned: allBits}
		if len(spec) < 5 {
			c.mentioned &^= (setUser | setGroup) &^ value
		}
		return Mode{[]change{c}}, nil
	}
	var m Mode
	for {
		clause, ok := p.clause()
		if !ok {
			return Mode{}, p.fail()
		}
		m.changes = append(m.changes, clause...)
		if p.pos == len(spec) {
			return m, nil
		}
		if p.peek() != ',' {
			return Mode{}, p.fail()
		}
		p.pos++
	}
}

type parser struct {
	spec string
	pos  int
}

func (p *parser) fail() error { return &SyntaxError{p.spec, p.pos} }

// peek returns the next byte, or 0 at the end. A NUL in the operand is never
// valid, so the two need not be told apart.
func (p *parser) peek() byte {
	if p.pos < len(p.spec) {
		return p.spec[p.pos]
	}
	return 0
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }
func isOp(c byte) bool    { return c == '+' || c == '-' || c == '=' }

func (p *parser) octal() (value uint32, ok bool) {
	for isOctal(p.peek()) {
		if value = value*8 + uint32(p.peek()-'0'); value > allBits {
			return 0, false
		}
		p.pos++
	}
	return value, true
}

// clause parses the classes and the operations between two commas.
func (p *parser) clause() (changes []change, ok bool) {
	var who uint32
	for ; !isOp(p.peek()); p.pos++ {
		switch p.peek() {
		case 'u':
			who |= setUser | 0o700
		case 'g':
			who |= setGroup | 0o070
		case 'o':
			who |= sticky | 0o007
		case 'a':
			who |= allBits
		default:
			return nil, false
		}
	}
	for isOp(p.peek()) {
		c := change{op: p.peek(), who: who}
		p.pos++
		if isOctal(p.peek()) {
			if c.value, ok = p.octal(); !ok || who != 0 {
				return nil, false
			}
			c.who, c.mentioned = allBits, allBits
			// Nothing may follow an octal number but the next clause.
			return append(changes, c), true
		}
		p.permissions(&c)
		c.mentioned = c.value
		if who != 0 {
			c.mentioned &= who
		}
		changes = append(changes, c)
	}
	return changes, true
}

// permissions parses a class to copy from, or any number of rwxXst.
func (p *parser) permissions(c *change) {
	switch p.peek() {
	case 'u':
		c.value, c.copies = 0o700, true
	case 'g':
		c.value, c.copies = 0o070, true
	case 'o':
		c.value, c.copies = 0o007, true
	}
	if c.copies {
		p.pos++
		return
	}
	for ; ; p.pos++ {
		switch p.peek() {
		case 'r':
			c.value |= readBits
		case 'w':
			c.value |= writeBit
		case 'x':
			c.value |= execBits
		case 'X':
			c.condExec = true
		case 's':
			c.value |= setUser | setGroup
		case 't':
			c.value |= sticky
		default:
			return
		}
	}
}
