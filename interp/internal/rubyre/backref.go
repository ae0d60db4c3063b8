package rubyre

import "strings"

// numberedBackref parses \1 to \9, and longer numbers if that many groups have
// been opened. Other digits are an octal escape: ok is false and nothing is
// consumed.
func (p *parser) numberedBackref(o Options) (node, bool) {
	start := p.pos
	p.pos++
	n, _ := p.number()
	if n > 9 && n > p.groups {
		p.pos = start
		return nil, false
	}
	return p.backref(n, false, start, o), true
}

// namedBackref parses \k<name>, \k<n>, \k<-n> and the same with quotes.
func (p *parser) namedBackref(o Options) node {
	start := p.pos
	p.pos += len(`\k`)
	var closing byte
	switch {
	case p.accept("<"):
		closing = '>'
	case p.accept("'"):
		closing = '\''
	default:
		p.fail(start, `\k needs a group name in angle brackets`)
	}
	nameAt := p.pos
	relative := p.accept("-")
	if n, ok := p.number(); ok {
		if !p.accept(string(closing)) {
			p.fail(nameAt, "the group reference is malformed or has a recursion level, which is not supported")
		}
		if relative {
			n = p.groups + 1 - n
		}
		if n < 1 {
			p.fail(start, "back-reference to a group that does not exist")
		}
		return p.backref(n, false, start, o)
	}
	p.pos = nameAt
	end := strings.IndexByte(p.rest(), closing)
	if end >= 0 && strings.ContainsAny(p.rest()[:end], "+-") {
		p.fail(nameAt, "a recursion level in a back-reference is not supported")
	}
	name := p.groupName(closing)
	index, ok := p.names[name]
	if !ok {
		p.fail(start, "back-reference to the undefined group %q", name)
	}
	return p.backref(index, true, start, o)
}

func (p *parser) backref(index int, named bool, offset int, o Options) node {
	if p.open[index] {
		p.fail(offset, "a back-reference inside its own group is not supported")
	}
	b := &backrefNode{index: index, named: named, fold: o.IgnoreCase, offset: offset}
	p.backrefs = append(p.backrefs, b)
	return b
}
