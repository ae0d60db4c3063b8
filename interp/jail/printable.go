package jail

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns output so that showing it does nothing but show it: line
// feeds and tabs stay, every other control character, format character (those
// that reorder text included), private or unassigned character and byte that
// is not UTF-8 becomes a visible escape such as \x1b or \u202e. A carriage
// return before a line feed is dropped.
func Printable(output []byte) string {
	var b strings.Builder
	b.Grow(len(output))
	for len(output) > 0 {
		r, size := utf8.DecodeRune(output)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, output[0])
		case r == '\r' && len(output) > 1 && output[1] == '\n':
		case r == '\n' || r == '\t' || unicode.IsGraphic(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		output = output[size:]
	}
	return b.String()
}
