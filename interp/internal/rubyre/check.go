package rubyre

// maxWidth bounds the shortest text a pattern can match, which keeps nested
// repeat counts from overflowing in the engine's analysis.
const maxWidth = 1 << 20

// check refuses trees whose meaning the engine would not share.
func (p *parser) check(root node) {
	if p.minWidth(root) > maxWidth {
		p.fail(0, "repeat counts demand a match longer than %d bytes", maxWidth)
	}
	p.checkRepeats(root)
	p.checkLookbehinds(root)
	refs := emptyRefs{p, map[emptyRefState]bool{}}
	refs.after(root, false)
}

// checkRepeats refuses a counted repeat whose body can match nothing: Ruby ends
// such a loop at the first empty turn, or not, depending on the body's size. It
// bounds repeats also where they add nothing to the width of the whole, as in a
// look-ahead.
func (p *parser) checkRepeats(n node) {
	if r, ok := n.(*repeatNode); ok {
		switch {
		case r.min > 1 && p.minWidth(r.body) == 0:
			p.fail(r.offset, "a repeat count above one on something that can match nothing is not supported")
		case p.minWidth(r) > maxWidth:
			p.fail(r.offset, "repeat counts demand a match longer than %d bytes", maxWidth)
		}
	}
	for _, child := range children(n) {
		p.checkRepeats(child)
	}
}

// minWidth returns the length of the shortest match, saturating just above
// maxWidth.
func (p *parser) minWidth(n node) int {
	width := 0
	switch n := n.(type) {
	case *setNode, *foreignNode:
		return 1
	case *seqNode:
		for _, item := range n.items {
			width = min(width+p.minWidth(item), maxWidth+1)
		}
	case *altNode:
		width = maxWidth + 1
		for _, branch := range n.branches {
			width = min(width, p.minWidth(branch))
		}
	case *captureNode:
		width = p.minWidth(n.body)
	case *atomicNode:
		width = p.minWidth(n.body)
	case *repeatNode:
		width = min(p.minWidth(n.body)*n.min, maxWidth+1)
	}
	return width
}

func (p *parser) checkLookbehinds(n node) {
	if look, ok := n.(*lookNode); ok && look.behind {
		branches := []node{look.body}
		if alt, ok := look.body.(*altNode); ok {
			branches = alt.branches
		}
		for _, branch := range branches {
			p.behindWidth(branch, look, look.negative)
		}
	}
	for _, child := range children(n) {
		p.checkLookbehinds(child)
	}
}

// behindWidth returns the fixed width of n, which is inside the look-behind
// look. Ruby refuses other widths except between top-level alternatives. The
// engine walks a look-behind backwards, so anything whose result depends on the
// direction is refused too.
func (p *parser) behindWidth(n node, look *lookNode, noCapture bool) int {
	width := 0
	switch n := n.(type) {
	case *setNode, *foreignNode:
		return 1
	case *seqNode:
		for _, item := range n.items {
			width = min(width+p.behindWidth(item, look, noCapture), maxWidth+1)
		}
	case *altNode:
		width = p.behindWidth(n.branches[0], look, noCapture)
		for _, branch := range n.branches[1:] {
			if p.behindWidth(branch, look, noCapture) != width {
				p.fail(look.offset, "look-behind with inner alternatives of different lengths")
			}
		}
	case *captureNode:
		if noCapture && p.captures(n) {
			p.fail(look.offset, "capturing group in a negative or repeated look-behind")
		}
		width = p.behindWidth(n.body, look, noCapture)
	case *repeatNode:
		if n.min != n.max || n.possessive {
			p.fail(look.offset, "look-behind of variable length")
		}
		width = min(p.behindWidth(n.body, look, noCapture || n.max > 1)*n.min, maxWidth+1)
	case *anchorNode:
		if n.kind == 'Z' || n.kind == 'z' {
			p.fail(look.offset, `\%c in a look-behind is not supported`, n.kind)
		}
	case *lookNode:
		if !n.behind {
			p.fail(look.offset, "look-ahead in a look-behind is not supported")
		}
		if noCapture && p.hasCapture(n.body) {
			p.fail(look.offset, "capturing group in a negative or repeated look-behind")
		}
	case *atomicNode:
		p.fail(look.offset, "atomic group in a look-behind is not supported")
	case *backrefNode:
		p.fail(look.offset, "back-reference in a look-behind is not supported")
	}
	return width
}

// captures reports whether the group c really captures.
func (p *parser) captures(c *captureNode) bool {
	return c.named || len(p.names) == 0
}

func (p *parser) hasCapture(n node) bool {
	if c, ok := n.(*captureNode); ok && p.captures(c) {
		return true
	}
	for _, child := range children(n) {
		if p.hasCapture(child) {
			return true
		}
	}
	return false
}
