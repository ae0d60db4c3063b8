package steps

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// A cursor reads JSON that scan has accepted, by offsets into it. It checks no syntax.
type cursor struct {
	data []byte
	// symbols is set within the symbol form of a cask, where names and strings are
	// written as Ruby symbols: ":write" is write, and "\:write" is :write.
	symbols bool
	// depth is the limit for nesting.
	depth int
	// tooDeep is the offset of the first value that nests too deep, or -1.
	tooDeep int
}

// A member is one name and value of an object.
type member struct {
	key []byte
	// at is the offset of the name; val and end enclose the value.
	at, val, end int
}

// space is the offset of the first byte at or after i that is no white space.
func (c *cursor) space(i int) int {
	for i < len(c.data) {
		switch c.data[i] {
		case ' ', '\t', '\r', '\n':
			i++
		default:
			return i
		}
	}
	return i
}

// stringEnd is the offset after the string that begins at i.
func (c *cursor) stringEnd(i int) int {
	for i++; ; {
		n := bytes.IndexByte(c.data[i:], '"')
		i += n + 1
		// The quote is escaped if an odd number of backslashes stands before it.
		k := i - 2
		for c.data[k] == '\\' {
			k--
		}
		if (i-2-k)%2 == 0 {
			return i
		}
	}
}

// skip is the offset after the value that begins at i. base is how deep i is nested.
func (c *cursor) skip(i, base int) int {
	switch c.data[i] {
	case '"':
		return c.stringEnd(i)
	case '{', '[':
	default:
		for i < len(c.data) {
			switch c.data[i] {
			case ',', ']', '}', ' ', '\t', '\r', '\n':
				return i
			}
			i++
		}
		return i
	}
	for depth := 0; ; {
		switch c.data[i] {
		case '"':
			i = c.stringEnd(i)
			continue
		case '{', '[':
			if depth++; base+depth > c.depth && c.tooDeep < 0 {
				c.tooDeep = i
			}
		case '}', ']':
			depth--
		}
		if i++; depth == 0 {
			return i
		}
	}
}

// members appends the members of the object that begins at i to buf, and returns the
// offset after the object. base is how deep the object is nested.
func (c *cursor) members(buf []member, i, base int) ([]member, int) {
	i = c.space(i + 1)
	for c.data[i] != '}' {
		m := member{at: i}
		end := c.stringEnd(i)
		m.key = c.text(i, end)
		m.val = c.space(c.space(end) + 1) // after the colon
		m.end = c.skip(m.val, base+1)
		buf = append(buf, m)
		if i = c.space(m.end); c.data[i] == ',' {
			i = c.space(i + 1)
		}
	}
	return buf, i + 1
}

// next is the offset of the first element at or after i in an array, and false at the
// array's end. i is the offset after the opening bracket or after an element.
func (c *cursor) next(i int) (int, bool) {
	if i = c.space(i); c.data[i] == ',' {
		i = c.space(i + 1)
	}
	return i, c.data[i] != ']'
}

// text is the content of the string between the offsets, quotes included. It may alias
// the data.
func (c *cursor) text(i, end int) []byte {
	raw := c.data[i+1 : end-1]
	if bytes.IndexByte(raw, '\\') >= 0 {
		// scan has accepted the string, so it can be unquoted.
		raw, _ = jsontext.AppendUnquote(nil, c.data[i:end])
	}
	if c.symbols && len(raw) > 0 && (raw[0] == ':' || raw[0] == '\\') {
		raw = raw[1:]
	}
	return raw
}

// kind is the JSON kind of the value at i: one of " { [ t f n 0.
func (c *cursor) kind(i int) jsontext.Kind { return jsontext.Value(c.data[i : i+1]).Kind() }

// depthError reports the first value that nests too deep, of those skipped so far.
func (c *cursor) depthError() error {
	if c.tooDeep < 0 {
		return nil
	}
	return Errors{{Pos: position(c.data, c.tooDeep), Msg: "nests too deep", Want: fmt.Sprintf("at most %d levels", c.depth)}}
}
