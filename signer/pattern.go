package signer

import "strings"

// pattern selects packages by their coordinates, pkg:type/namespace/name, whatever
// their version and qualifiers. It is compared segment by segment and always with
// the whole of the coordinates:
//
//   - the first segment, pkg:type, is literal;
//   - a segment * stands for exactly one segment;
//   - a * that ends the last segment, as in pkg:generic/acme/lib*, stands for the
//     rest of that segment, one character or more;
//   - all else is literal, in canonical percent-encoding.
//
// So * never reaches over a slash: pkg:generic/acme/* matches pkg:generic/acme/foo,
// not pkg:generic/acme/x/foo and not pkg:generic/acmeX/foo.
type pattern []string

func parsePattern(s string) (pattern, error) {
	segments, reason := patternSegments(s)
	if reason != "" {
		return nil, fail(KindMalformed, "write it like pkg:generic/acme/*; * is a whole segment or ends the last one",
			"package pattern %q %s", clip(s, 200), reason)
	}
	return segments, nil
}

func patternSegments(s string) (p pattern, reason string) {
	if len(s) > maxNameBytes {
		return nil, "is too long"
	}
	if hasScope(s) {
		return nil, scopeFault
	}
	if strings.ContainsAny(s, "@?#") {
		return nil, "has a version, qualifiers or a subpath, which rules do not look at"
	}
	segments, reason := cutCoordinates(s)
	if reason != "" {
		return nil, reason
	}
	for i, segment := range segments[1:] {
		literal := segment
		if i == len(segments)-2 {
			literal = strings.TrimSuffix(segment, "*")
		}
		if segment == "*" {
			continue
		}
		if strings.Contains(literal, "*") {
			return nil, "has a * inside a segment"
		}
		if reason := segmentFault(literal); reason != "" {
			return nil, reason
		}
	}
	return segments, ""
}

func (p pattern) matches(name purl) bool {
	segments := strings.Split(name.coordinates, "/")
	if len(segments) != len(p) {
		return false
	}
	for i, want := range p {
		prefix, wild := strings.CutSuffix(want, "*")
		switch {
		case !wild && segments[i] != want,
			wild && (len(segments[i]) <= len(prefix) || !strings.HasPrefix(segments[i], prefix)):
			return false
		}
	}
	return true
}
