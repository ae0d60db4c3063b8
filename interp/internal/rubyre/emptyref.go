package rubyre

// Ruby has a fault: right after a back-reference that matched nothing, ^, \b and
// \B look at the wrong character, so ()\1\b does not match after a word.
// emptyRefs refuses patterns in which that can happen.
type emptyRefs struct {
	p    *parser
	seen map[emptyRefState]bool // results so far, which keeps nested repeats cheap
}

type emptyRefState struct {
	n  node
	in bool
}

// after reports whether the position behind n can be that of an empty
// back-reference, given whether the position before n can.
func (e *emptyRefs) after(n node, in bool) bool {
	state := emptyRefState{n, in}
	out, ok := e.seen[state]
	if !ok {
		out = e.compute(n, in)
		e.seen[state] = out
	}
	return out
}

func (e *emptyRefs) compute(n node, in bool) bool {
	switch n := n.(type) {
	case *seqNode:
		for _, item := range n.items {
			in = e.after(item, in)
		}
		return in
	case *altNode:
		out := false
		for _, branch := range n.branches {
			out = e.after(branch, in) || out
		}
		return out
	case *captureNode:
		return e.after(n.body, in)
	case *atomicNode:
		return e.after(n.body, in)
	case *lookNode:
		return e.after(n.body, in) || in
	case *repeatNode:
		out := e.after(n.body, in)
		if n.max != 1 {
			out = e.after(n.body, in || out) || out
		}
		return out || in && n.min == 0
	case *anchorNode:
		if in && (n.kind == '^' || n.kind == 'b' || n.kind == 'B') {
			e.p.fail(n.offset, "an anchor right after a back-reference that can be empty is not supported")
		}
		return in
	case *backrefNode:
		return e.p.minWidth(e.p.bodies[n.index]) == 0
	}
	return false
}
