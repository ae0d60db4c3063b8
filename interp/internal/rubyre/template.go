package rubyre

import (
	"strings"
	"unicode/utf8"
)

// A piece is one part of a parsed replacement.
type piece struct {
	kind    pieceKind
	literal string
	group   int // engine group for pieceGroup
}

type pieceKind int

const (
	pieceLiteral pieceKind = iota
	pieceGroup             // \0 \& \1..\9 \k<name>
	pieceBefore            // \` the text before the match
	pieceAfter             // \' the text after the match
)

// parseReplacement splits a replacement at Ruby's back-reference escapes. A
// reference to a numbered group that does not exist, or that cannot be numbered
// because the pattern has named groups, yields nothing. Other escapes stand for
// themselves, backslash included.
func (re *Regexp) parseReplacement(s string) ([]piece, error) {
	if !utf8.ValidString(s) {
		return nil, ErrEncoding
	}
	var pieces []piece
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			pieces = append(pieces, piece{kind: pieceLiteral, literal: literal.String()})
			literal.Reset()
		}
	}
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			literal.WriteByte(s[i])
			i++
			continue
		}
		start, c := i, s[i+1]
		i += 2
		reference := piece{kind: pieceGroup}
		switch {
		case c == '\\':
			literal.WriteByte('\\')
			continue
		case c == '0' || c == '&':
		case c >= '1' && c <= '9':
			if reference.group = int(c - '0'); len(re.names) > 0 || reference.group > re.groups {
				continue
			}
		case c == '`':
			reference.kind = pieceBefore
		case c == '\'':
			reference.kind = pieceAfter
		case c == 'k' && strings.HasPrefix(s[i:], "<"):
			end := strings.IndexByte(s[i:], '>')
			if end < 0 {
				return nil, &SyntaxError{s, start, `\k< is not closed in the replacement`}
			}
			name := s[i+1 : i+end]
			group, ok := re.names[name]
			if !ok {
				return nil, &SyntaxError{s, start, "the pattern has no group named " + abbreviate(name)}
			}
			reference.group = group
			i += end + 1
		default:
			literal.WriteString(s[start:i])
			continue
		}
		flush()
		pieces = append(pieces, reference)
	}
	flush()
	return pieces, nil
}

func isASCII[T string | []byte](s T) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
