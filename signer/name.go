package signer

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const maxNameBytes = 1024

// checkText says why s may not be part of a name that people compare by eye, or "".
func checkText(s string) (reason string) {
	if !utf8.ValidString(s) {
		return "is not valid UTF-8"
	}
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp):
			return fmt.Sprintf("has the control or invisible character %U", r)
		case unicode.IsSpace(r):
			return fmt.Sprintf("has the white space %U", r)
		case !unicode.IsPrint(r):
			return fmt.Sprintf("has the unassigned or unprintable character %U", r)
		}
	}
	if !norm.NFC.IsNormalString(s) {
		return "is not in Unicode normalisation form C"
	}
	return ""
}

// checkRegistry accepts a registry's name: an https URL in its only spelling.
func checkRegistry(s string) error {
	if reason := registryFault(s); reason != "" {
		return fail(KindMalformed, "write it like https://registry.example or https://registry.example/path",
			"registry %q %s", clip(s, 100), reason)
	}
	return nil
}

func registryFault(s string) (reason string) {
	if len(s) > maxNameBytes {
		return fmt.Sprintf("has more than %d bytes", maxNameBytes)
	}
	for _, c := range []byte(s) {
		if !isUnreserved(c) && c != ':' && c != '/' {
			return fmt.Sprintf("has the character %q", c)
		}
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return "is not a URL: " + printable(err)
	case u.Scheme != "https" || u.String() != s:
		return "is not an absolute https URL"
	case u.Hostname() == "" || u.Host != strings.ToLower(u.Host) || strings.HasSuffix(u.Host, ":"):
		return "has no lower-case host"
	case u.Port() == "443":
		return "names the default port"
	}
	for i, segment := range strings.Split(u.Path, "/") {
		if i > 0 && (segment == "" || segment == "." || segment == "..") {
			return "has an empty, . or .. path segment, or a trailing slash"
		}
	}
	return ""
}

// isUnreserved tells the characters that never need percent-encoding (RFC 3986, 2.3).
func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}
