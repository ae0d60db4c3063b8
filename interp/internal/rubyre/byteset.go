package rubyre

// A byteSet is a set of byte values.
type byteSet [4]uint64

func (s *byteSet) add(b byte)     { s[b>>6] |= 1 << (b & 63) }
func (s byteSet) has(b byte) bool { return s[b>>6]&(1<<(b&63)) != 0 }

func (s *byteSet) addRange(lo, hi byte) {
	for b := int(lo); b <= int(hi); b++ {
		s.add(byte(b))
	}
}

func (s *byteSet) union(o byteSet) {
	for i := range s {
		s[i] |= o[i]
	}
}

func (s *byteSet) intersect(o byteSet) {
	for i := range s {
		s[i] &= o[i]
	}
}

func (s byteSet) complement() byteSet {
	for i := range s {
		s[i] = ^s[i]
	}
	return s
}

// folded returns s closed under ASCII case.
func (s byteSet) folded() byteSet {
	for b := byte('a'); b <= 'z'; b++ {
		upper := b - 'a' + 'A'
		if s.has(b) || s.has(upper) {
			s.add(b)
			s.add(upper)
		}
	}
	return s
}

// ranges returns the members as inclusive ranges in increasing order.
func (s byteSet) ranges() [][2]byte {
	var out [][2]byte
	for b := 0; b < 256; b++ {
		if !s.has(byte(b)) {
			continue
		}
		lo := b
		for b < 255 && s.has(byte(b+1)) {
			b++
		}
		out = append(out, [2]byte{byte(lo), byte(b)})
	}
	return out
}

func rangesSet(bounds string) (s byteSet) {
	for i := 0; i+1 < len(bounds); i += 2 {
		s.addRange(bounds[i], bounds[i+1])
	}
	return s
}

var (
	wordSet  = rangesSet("09AZ__az")
	digitSet = rangesSet("09")
	spaceSet = rangesSet("\t\r  ")
	hexSet   = rangesSet("09AFaf")
	newline  = rangesSet("\n\n")
)

// posixSets holds the members of the POSIX bracket names for binary text.
var posixSets = map[string]byteSet{
	"alnum":  rangesSet("09AZaz"),
	"alpha":  rangesSet("AZaz"),
	"ascii":  rangesSet("\x00\x7f"),
	"blank":  rangesSet("\t\t  "),
	"cntrl":  rangesSet("\x00\x1f\x7f\x7f"),
	"digit":  digitSet,
	"graph":  rangesSet("!~"),
	"lower":  rangesSet("az"),
	"print":  rangesSet(" ~"),
	"punct":  rangesSet("!/:@[`{~"),
	"space":  spaceSet,
	"upper":  rangesSet("AZ"),
	"xdigit": hexSet,
	"word":   wordSet,
}

// shorthandSet returns the set named by a class escape such as \w.
func shorthandSet(c byte) (byteSet, bool) {
	switch c {
	case 'w':
		return wordSet, true
	case 'W':
		return wordSet.complement(), true
	case 'd':
		return digitSet, true
	case 'D':
		return digitSet.complement(), true
	case 's':
		return spaceSet, true
	case 'S':
		return spaceSet.complement(), true
	case 'h':
		return hexSet, true
	case 'H':
		return hexSet.complement(), true
	}
	return byteSet{}, false
}
