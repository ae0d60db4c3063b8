package signer

import (
	"fmt"
	"strings"
)

// purl is a package URL (ECMA-427) taken apart: pkg:type/namespace/name@version?qualifiers.
// Only the canonical percent-encoding is accepted, so two purls name the same
// package version if and only if their bytes are equal.
type purl struct {
	coordinates string // pkg:type/namespace/name, still encoded
	versioned   string // coordinates@version
	whole       string
}

// CheckPURL says what is wrong with a package URL, for code that asks others about it
// before [Verify] does. It is an error of [KindMalformed].
func CheckPURL(s string) error {
	_, err := parsePURL(s)
	return err
}

func parsePURL(s string) (purl, error) {
	p, reason := cutPURL(s)
	if reason != "" {
		return purl{}, fail(KindMalformed, "write it like pkg:generic/acme/foo@1.2.3?arch=amd64",
			"purl %q %s", clip(s, 200), reason)
	}
	return p, nil
}

func cutPURL(s string) (p purl, reason string) {
	if len(s) > maxNameBytes {
		return purl{}, fmt.Sprintf("has more than %d bytes", maxNameBytes)
	}
	if strings.Contains(s, "#") {
		return purl{}, "has a subpath, but steps belong to a whole package"
	}
	if hasScope(s) {
		return purl{}, scopeFault
	}
	versioned, qualifiers, qualified := strings.Cut(s, "?")
	coordinates, version, _ := strings.Cut(versioned, "@")
	segments, reason := cutCoordinates(coordinates)
	if reason != "" {
		return purl{}, reason
	}
	for _, segment := range segments[1:] {
		if reason := segmentFault(segment); reason != "" {
			return purl{}, reason
		}
	}
	if version == "" {
		return purl{}, "has no version"
	}
	if _, reason := decodeComponent(version); reason != "" {
		return purl{}, "has a version that " + reason
	}
	if qualified {
		if reason := qualifiersFault(qualifiers); reason != "" {
			return purl{}, reason
		}
	}
	return purl{coordinates: coordinates, versioned: versioned, whole: s}, ""
}

// scopeFault is for what npm's users write.
const scopeFault = "must spell the @ of a scope as %40, like pkg:npm/%40acme/foo"

func hasScope(s string) bool {
	_, rest, found := strings.Cut(s, "/@")
	return found && strings.Contains(rest, "/")
}

// cutCoordinates splits pkg:type/namespace/name at its slashes and checks the first
// part, "pkg:type".
func cutCoordinates(s string) (segments []string, reason string) {
	segments = strings.Split(s, "/")
	kind, ok := strings.CutPrefix(segments[0], "pkg:")
	if !ok {
		return nil, "does not begin with pkg:"
	}
	if !isWord(kind, "-.") {
		return nil, fmt.Sprintf("has the type %q, which is not lower-case letters, digits, - and .", kind)
	}
	if len(segments) < 2 {
		return nil, "has no name"
	}
	return segments, ""
}

// segmentFault checks one segment of namespace or name.
func segmentFault(segment string) (reason string) {
	decoded, reason := decodeComponent(segment)
	switch {
	case reason != "":
		return "has a name or namespace that " + reason
	case decoded == "." || decoded == ".." || strings.Contains(decoded, "/"):
		return fmt.Sprintf("has the segment %q", segment)
	}
	return ""
}

func qualifiersFault(s string) (reason string) {
	last := ""
	for pair := range strings.SplitSeq(s, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if !isWord(key, "-._") {
			return fmt.Sprintf("has the qualifier key %q, which is not lower-case letters, digits, -, . and _", key)
		}
		if key <= last {
			return fmt.Sprintf("has the qualifier %q twice or out of order", key)
		}
		last = key
		if _, reason := decodeComponent(value); reason != "" {
			return fmt.Sprintf("has a qualifier %q that %s", key, reason)
		}
	}
	return ""
}

// decodeComponent undoes percent-encoding, and refuses every spelling but the
// canonical one: unreserved characters and the colon as they are, all others as %XX.
func decodeComponent(s string) (decoded, reason string) {
	if s == "" {
		return "", "is empty"
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isUnreserved(c) || c == ':' {
			b.WriteByte(c)
			continue
		}
		if c != '%' {
			return "", fmt.Sprintf("must spell the byte %q as %%%02X", c, c)
		}
		if i+2 >= len(s) || unhex(s[i+1]) < 0 || unhex(s[i+2]) < 0 {
			return "", "has a % without two upper-case hex digits"
		}
		c = byte(unhex(s[i+1])<<4 | unhex(s[i+2]))
		if isUnreserved(c) || c == ':' {
			return "", fmt.Sprintf("must spell %s as %q", s[i:i+3], c)
		}
		b.WriteByte(c)
		i += 2
	}
	return b.String(), checkText(b.String())
}

func unhex(c byte) int { return strings.IndexByte("0123456789ABCDEF", c) }

// isWord tells whether s is a lower-case letter followed by lower-case letters,
// digits and the punctuation in others.
func isWord(s, others string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z'
		if !letter && (i == 0 || !('0' <= c && c <= '9') && strings.IndexByte(others, c) < 0) {
			return false
		}
	}
	return s != ""
}
