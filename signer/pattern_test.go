package signer

import "testing"

func TestPattern(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, purl string
		want          bool
	}{
		{"pkg:generic/acme/*", "pkg:generic/acme/foo@1", true},
		{"pkg:generic/acme/*", "pkg:generic/acme/foo@2?arch=x", true},
		{"pkg:generic/acme/foo", "pkg:generic/acme/foo@1", true},
		{"pkg:generic/acme/foo", "pkg:generic/acme/foo2@1", false},
		{"pkg:generic/acme/foo", "pkg:generic/acme/fo@1", false},
		{"pkg:generic/acme/foo", "pkg:generic/acme/Foo@1", false},
		{"pkg:generic/acme/lib*", "pkg:generic/acme/libfoo@1", true},
		{"pkg:generic/acme/lib*", "pkg:generic/acme/lib@1", false},
		{"pkg:generic/*/foo", "pkg:generic/acme/foo@1", true},
		{"pkg:generic/*", "pkg:generic/foo@1", true},
		{"pkg:npm/%40acme/*", "pkg:npm/%40acme/foo@1", true},
		// Anchored at both ends, and never over a slash.
		{"pkg:generic/acme/*", "pkg:generic/acmeX/foo@1", false},
		{"pkg:generic/acme/*", "pkg:generic/acme/x/foo@1", false},
		{"pkg:generic/acme/*", "pkg:generic/acme@1", false},
		{"pkg:generic/acme/*", "pkg:generic/evil/acme/foo@1", false},
		{"pkg:generic/acme/*", "pkg:generic2/acme/foo@1", false},
		{"pkg:generic/*", "pkg:generic/acme/foo@1", false},
		{"pkg:generic/acme/*", "pkg:generic/evil/foo@acme?x=acme", false},
	} {
		p, err := parsePattern(tc.pattern)
		if err != nil {
			t.Fatal(err)
		}
		name, err := parsePURL(tc.purl)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.matches(name); got != tc.want {
			t.Errorf("%s matches %s: %v, want %v", tc.pattern, tc.purl, got, tc.want)
		}
	}
}

func TestParsePatternRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "*", "pkg:*", "pkg:*/foo", "pkg:gen*/foo", "pkg:generic", "pkg:generic/", "pkg:generic//foo", "generic/*",
		"pkg:generic/**", "pkg:generic/**/foo", "pkg:generic/a*b", "pkg:generic/*b", "pkg:generic/a*/foo", "pkg:generic/*a*",
		"pkg:generic/acme/*@1", "pkg:generic/acme/*?os=linux", "pkg:generic/acme/*#x", "pkg:generic/../foo", "pkg:generic/fo%6F",
		"pkg:generic/a[bc]", "pkg:generic/a+", "^pkg:generic/a$",
	} {
		_, err := parsePattern(s)
		wantError(t, err, KindMalformed, "package pattern")
	}
}
