package steps

import (
	"slices"
	"strings"
)

// textRule is one of the schema's rules for the text of a path.
type textRule uint8

// The rules, by the names that the schema gives them. They are regular expressions
// there; here they are written out, which is faster and lets errors say what is wrong.
// Tests hold the two against each other.
const (
	ruleAbsoluteText textRule = iota
	ruleRelativeText
	ruleLinkText
	ruleCommandText
	ruleCommandName
)

// violates says in words how s breaks the rule; it is "" if it does not.
func (r textRule) violates(s string) string {
	switch r {
	case ruleAbsoluteText:
		return absoluteViolation(s)
	case ruleCommandText:
		if !strings.Contains(s, "/") && !strings.HasPrefix(s, "~") && !startsWithPlaceholder(s) && !startsWithToken(s, isAbsoluteToken) {
			return nameViolation(s)
		}
		return absoluteViolation(s)
	case ruleCommandName:
		return nameViolation(s)
	case ruleLinkText:
		return relativeViolation(s)
	default:
		if v := relativeViolation(s); v != "" {
			return v
		}
		if strings.Contains(s, "..") && !beneath(s) {
			return "leaves its base by \"..\""
		}
		return ""
	}
}

func absoluteViolation(s string) string {
	rest := s
	switch {
	case s == "":
		return "is empty"
	case s[0] == '/':
	case s == "~", strings.HasPrefix(s, "~/"), startsWithPlaceholder(s):
	default:
		name, after, ok := cutToken(s)
		if !ok || !isAbsoluteToken(name) || after != "" && after[0] != '/' {
			return "has no base and is not absolute"
		}
		rest = after
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part == ".." {
			return "is absolute and has \"..\""
		}
	}
	return restViolation(rest)
}

func relativeViolation(s string) string {
	switch {
	case s == "":
		return "is empty"
	case s[0] == '/':
		return "is absolute, although it has a base"
	case startsWithPlaceholder(s):
		return "begins with a placeholder for a directory, although it has a base"
	case s == "~", strings.HasPrefix(s, "~/"):
		return "begins with the home directory, although it has a base"
	}
	return restViolation(s)
}

func nameViolation(s string) string {
	if s == "" {
		return "is empty"
	}
	c := s[0]
	if !(c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || startsWithToken(s, isValueToken)) {
		return "is neither absolute nor a plain name"
	}
	if strings.Contains(s, "/") {
		return "is neither absolute nor a plain name"
	}
	return restViolation(s)
}

// restViolation looks for NUL bytes, and for tokens that may not be there.
func restViolation(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		return "holds a NUL byte"
	}
	for {
		i := strings.IndexByte(s, '{')
		if i < 0 || i+1 == len(s) {
			return ""
		}
		if s = s[i:]; s[1] != '{' {
			s = s[1:]
			continue
		}
		name, after, ok := cutToken(s)
		switch {
		case !ok:
			return "has \"{{\", but no token"
		case isAbsoluteToken(name):
			return "has the token {{" + name + "}}, which is an absolute path, after its beginning or a base"
		case !isValueToken(name):
			return "has the unknown token {{" + name + "}}"
		}
		s = after
	}
}

func startsWithToken(s string, is func(string) bool) bool {
	name, _, ok := cutToken(s)
	return ok && is(name)
}

func startsWithPlaceholder(s string) bool {
	if s == "" || s[0] != '$' {
		return false
	}
	name, _, _ := strings.Cut(s[1:], "/")
	return slices.Contains(placeholderNames, name)
}

// cutToken cuts a token off the beginning of s.
func cutToken(s string) (name, after string, ok bool) {
	if s, ok = strings.CutPrefix(s, "{{"); !ok {
		return "", "", false
	}
	name, after, ok = strings.Cut(s, "}}")
	if !ok || name == "" {
		return "", "", false
	}
	for i := range len(name) {
		c := name[i]
		letter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c != '.' && (c < '0' || c > '9')) {
			return "", "", false
		}
	}
	return name, after, true
}

// beneath reports whether each ".." of a relative path undoes a name before it, and at
// most maxUndo of them nest.
func beneath(s string) bool {
	// An entry is a name that is not undone, and how deep those it held did nest.
	var names []int
	for part := range strings.SplitSeq(s, "/") {
		switch part {
		case "", ".":
		case "..":
			if len(names) == 0 {
				return false
			}
			last := len(names) - 1
			nested := names[last] + 1
			if nested > maxUndo {
				return false
			}
			if names = names[:last]; last > 0 {
				names[last-1] = max(names[last-1], nested)
			}
		default:
			names = append(names, 0)
		}
	}
	return true
}
