package rubyglob

import (
	"strings"
	"unicode/utf8"
)

// matches reports whether a directory entry matches the component.
func (c *component) matches(name string) bool {
	if c.kind != brace {
		return matchName(c.text, name)
	}
	if c.alternatives == nil {
		c.alternatives = []string{}
		// The error is that of the callback, which has none.
		_ = expand(c.text, func(s string) error {
			c.alternatives = append(c.alternatives, s)
			return nil
		})
	}
	for _, alternative := range c.alternatives {
		if matchName(alternative, name) {
			return true
		}
	}
	return false
}

// matchName compares a name with one component. A leading dot must be matched
// by a literal one.
func matchName(pattern, name string) bool {
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(unescaped(pattern), ".") {
		return false
	}
	p, s := pattern, name
	// Where to go on after the latest star, which is the only one that can
	// usefully match more.
	starPattern, starName, starred := "", "", false
	for {
		matched := false
		switch {
		case p != "" && p[0] == '*':
			for p != "" && p[0] == '*' {
				p = p[1:]
			}
			if unescaped(p) == "" {
				return true
			}
			if s == "" {
				return false
			}
			starPattern, starName, starred = p, s, true
			continue
		case p != "" && p[0] == '?':
			if s == "" {
				return false
			}
			p, s, matched = p[1:], s[charLen(s):], true
		case p != "" && p[0] == '[':
			if s == "" {
				return false
			}
			if rest, ok := matchClass(p[1:], s); ok {
				p, s, matched = rest, s[charLen(s):], true
			}
		default:
			p = unescaped(p)
			if s == "" {
				return p == ""
			}
			if p != "" {
				n := charLen(p)
				if len(s) >= n && s[:n] == p[:n] {
					p, s, matched = p[n:], s[n:], true
				}
			}
		}
		if matched {
			continue
		}
		if !starred {
			return false
		}
		starName = starName[charLen(starName):]
		p, s = starPattern, starName
	}
}

// unescaped drops a leading backslash, which makes what follows literal.
func unescaped(p string) string { return strings.TrimPrefix(p, `\`) }

// matchClass compares the first character of s with the class that p begins
// with, behind its bracket. ok is false if the character is not in the class or
// the class is not closed. An empty class matches nothing, [^] anything.
func matchClass(p, s string) (rest string, ok bool) {
	member, negative := false, false
	if p != "" && (p[0] == '!' || p[0] == '^') {
		negative = true
		p = p[1:]
	}
	char := s[:charLen(s)]
	for p != "" {
		if p[0] == ']' {
			return p[1:], member != negative
		}
		var lo, hi string
		if lo, p, ok = classChar(p); !ok || p == "" {
			return "", false
		}
		if len(p) > 1 && p[0] == '-' && p[1] != ']' {
			if hi, p, ok = classChar(p[1:]); !ok {
				return "", false
			}
			member = member || char == lo || char == hi || between(lo, char, hi)
			continue
		}
		member = member || char == lo
	}
	return "", false
}

// classChar splits the first, perhaps escaped, character off p.
func classChar(p string) (char, rest string, ok bool) {
	if p != "" && p[0] == '\\' {
		p = p[1:]
	}
	if p == "" {
		return "", "", false
	}
	n := charLen(p)
	return p[:n], p[n:], true
}

// between compares code points. Bytes that are not UTF-8 are in no range.
func between(lo, char, hi string) bool {
	l, c, h := codePoint(lo), codePoint(char), codePoint(hi)
	return l >= 0 && c >= 0 && h >= 0 && l <= c && c <= h
}

func codePoint(char string) rune {
	r, size := utf8.DecodeRuneInString(char)
	if r == utf8.RuneError && size <= 1 {
		return -1
	}
	return r
}

// charLen returns the length of the first character of s, which is not empty; a
// byte that is not UTF-8 counts as one.
func charLen(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}
