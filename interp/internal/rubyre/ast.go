package rubyre

// A node is one element of a parsed pattern.
type node interface{}

type (
	// setNode matches one byte of the set.
	setNode struct{ set byteSet }
	// foreignNode stands for a character outside ASCII. It never matches: such
	// a pattern is only ever applied to ASCII text.
	foreignNode struct{}
	seqNode     struct{ items []node }
	altNode     struct{ branches []node }
	// captureNode is a capturing group. A plain group stops capturing when
	// the pattern also has named groups.
	captureNode struct {
		index int // 1 for the first opened
		named bool
		body  node
	}
	atomicNode struct{ body node }
	lookNode   struct {
		behind, negative bool
		body             node
		offset           int
	}
	repeatNode struct {
		body             node
		min, max         int // max < 0: no upper bound
		lazy, possessive bool
		offset           int
	}
	anchorNode struct {
		kind   byte // ^ $ A Z z b B
		offset int
	}
	backrefNode struct {
		index  int
		named  bool // written with a name
		fold   bool
		offset int
	}
)

// sequence returns the simplest node for items in a row.
func sequence(items []node) node {
	if len(items) == 1 {
		return items[0]
	}
	return &seqNode{items}
}

// children returns the direct sub-nodes of n.
func children(n node) []node {
	switch n := n.(type) {
	case *seqNode:
		return n.items
	case *altNode:
		return n.branches
	case *captureNode:
		return []node{n.body}
	case *atomicNode:
		return []node{n.body}
	case *lookNode:
		return []node{n.body}
	case *repeatNode:
		return []node{n.body}
	}
	return nil
}
