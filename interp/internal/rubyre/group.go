package rubyre

import "strings"

// group parses a parenthesised element, including option settings.
func (p *parser) group(o Options) node {
	start := p.pos
	p.pos++ // (
	switch {
	case !p.accept("?"):
		return p.capture(start, "", o)
	case p.accept(":"):
		return p.body(start, o)
	case p.accept(">"):
		return &atomicNode{p.body(start, o)}
	case p.accept("="):
		return &lookNode{body: p.body(start, o), offset: start}
	case p.accept("!"):
		return &lookNode{negative: true, body: p.body(start, o), offset: start}
	case p.accept("<="):
		return &lookNode{behind: true, body: p.body(start, o), offset: start}
	case p.accept("<!"):
		return &lookNode{behind: true, negative: true, body: p.body(start, o), offset: start}
	case p.accept("<"):
		return p.capture(start, p.groupName('>'), o)
	case p.accept("'"):
		return p.capture(start, p.groupName('\''), o)
	case p.accept("~"):
		p.fail(start, "the absence operator (?~...) is not supported")
	case p.accept("("):
		p.fail(start, "the conditional (?(...)...) is not supported")
	}
	return p.options(start, o)
}

// body parses the inside of a group up to and including its parenthesis.
func (p *parser) body(start int, o Options) node {
	n := p.alternation(o)
	if !p.accept(")") {
		p.fail(start, "group is not closed")
	}
	return n
}

func (p *parser) capture(start int, name string, o Options) node {
	p.groups++
	c := &captureNode{index: p.groups, named: name != ""}
	if c.named {
		if _, exists := p.names[name]; exists {
			p.fail(start, "two groups named %q are not supported", name)
		}
		p.names[name] = c.index
	}
	p.open[c.index] = true
	c.body = p.body(start, o)
	delete(p.open, c.index)
	p.bodies[c.index] = c.body
	return c
}

// groupName reads a name up to the closing delimiter.
func (p *parser) groupName(closing byte) string {
	start := p.pos
	end := strings.IndexByte(p.rest(), closing)
	if end < 0 {
		p.fail(start, "group name is not closed")
	}
	name := p.rest()[:end]
	p.pos += end + 1
	if name == "" {
		p.fail(start, "group name is empty")
	}
	for i := 0; i < len(name); i++ {
		if !wordSet.has(name[i]) || (i == 0 && digitSet.has(name[i])) {
			p.fail(start, "group name %q is not an ASCII identifier", name)
		}
	}
	return name
}

// options parses (?imx-imx:...) and (?imx-imx), whose scope is the rest of the
// enclosing group, alternatives included.
func (p *parser) options(start int, o Options) node {
	on := true
	for {
		c, ok := p.peek()
		if !ok {
			p.fail(start, "group is not closed")
		}
		p.pos++
		switch c {
		case '-':
			if !on {
				p.fail(p.pos-1, "second - in group options")
			}
			on = false
		case 'i':
			o.IgnoreCase = on
		case 'm':
			o.MultiLine = on
		case 'x':
			o.Extended = on
		// The sequence keeps alternatives from counting as top-level ones in
		// a look-behind.
		case ':':
			return &seqNode{[]node{p.body(start, o)}}
		case ')':
			return &seqNode{[]node{p.alternation(o)}}
		case 'a', 'd', 'u':
			p.fail(p.pos-1, "the character set option %q is not supported", c)
		default:
			p.fail(p.pos-1, "unknown group option %q", c)
		}
	}
}
