package changeset

// Compose is the net of first and then second: where one path is in both, what
// was before the first and what is after the second. Moves are not part of it;
// it tells what changed, for a receipt, not how to do it.
func Compose(first, second *Changeset) *Changeset {
	if first.Empty() {
		return second
	}
	if second.Empty() {
		return first
	}
	out := &Changeset{Changes: make([]Change, 0, len(first.Changes)+len(second.Changes))}
	index := make(map[string]int, cap(out.Changes))
	for _, c := range first.Changes {
		c.From = ""
		index[c.Path] = len(out.Changes)
		out.Changes = append(out.Changes, c)
	}
	for _, c := range second.Changes {
		c.From = ""
		i, both := index[c.Path]
		if !both {
			out.Changes = append(out.Changes, c)
			continue
		}
		o := &out.Changes[i]
		o.After, o.Content, o.Origin = c.After, c.Content, c.Origin
		o.Steps = append(o.Steps[:len(o.Steps):len(o.Steps)], c.Steps...)
	}
	kept := out.Changes[:0]
	for _, c := range out.Changes {
		if !same(c.Before, c.After) {
			kept = append(kept, c)
		}
	}
	out.Changes = kept
	out.Sort()
	return out
}

// same reports whether two states are certainly equal. Files of which a hash is
// missing are not.
func same(a, b *State) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b && (a.Kind != File || a.SHA256 != "")
}
