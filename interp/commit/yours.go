package commit

import "slices"

// Yours tells which paths of a package are the user's by now, whatever its receipts made
// there before: a step with preserve found them changed and left them, or put them or its
// own version beside; or the user wanted them left alone. They are that until a step
// makes something there again, or the user gives them to the package.
type Yours map[string]share

// share is how much of a path is the user's.
type share int

const (
	whole   share = iota + 1
	content       // what is there, but not its mode and owner: a step has set these since
)

// YoursIn reads what the receipts of one package say, which are given in their order.
func YoursIn(receipts []*Receipt) Yours {
	y := Yours{}
	for _, r := range receipts {
		y.add(r)
	}
	return y
}

// add takes in a further receipt.
func (y Yours) add(r *Receipt) {
	changed := map[string]bool{}
	for i := range r.Changeset.Changes {
		c := &r.Changeset.Changes[i]
		changed[c.Path] = true
		if _, ok := y[c.Path]; ok && c.KeepsObject() {
			y[c.Path] = content
		} else {
			delete(y, c.Path)
		}
	}
	for _, a := range r.Adopted {
		delete(y, a.Path)
	}
	paths := slices.Clone(r.Yours)
	for _, s := range r.Spared {
		paths = append(paths, s.Path)
	}
	for _, p := range paths {
		y[p] = whole
		if changed[p] {
			y[p] = content
		}
	}
}

// Covers reports whether a difference is the user's own.
func (y Yours) Covers(d Drift) bool {
	switch y[d.Path] {
	case whole:
		return true
	case content:
		return d.Kind != DriftMode && d.Kind != DriftOwner
	}
	return false
}
