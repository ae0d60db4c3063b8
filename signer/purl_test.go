package signer

import (
	"strings"
	"testing"
)

func TestParsePURL(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"pkg:generic/foo@1",
		"pkg:generic/acme/foo@1.2.3",
		"pkg:npm/%40angular/animation@12.3.1",
		"pkg:deb/debian/attr@1:2.4.47-2?arch=source",
		"pkg:golang/google.golang.org/genproto@v0.0.0-20240101",
		"pkg:generic/acme/foo@1.2.3?arch=amd64&os=linux",
		"pkg:generic/caf%C3%A9@1",
		"pkg:conda/libstdc%2B%2B@1",
		"pkg:generic/foo@1?download_url=https:%2F%2Fx.example%2Fy",
	} {
		p, err := parsePURL(s)
		if err != nil {
			t.Errorf("%s: %v", s, err)
		}
		if p.whole != s || !strings.HasPrefix(s, p.versioned) || !strings.HasPrefix(p.versioned, p.coordinates+"@") {
			t.Errorf("%s: taken apart as %+v", s, p)
		}
	}
}

func TestParsePURLRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ purl, want string }{
		{"", "pkg:"},
		{"generic/foo@1", "pkg:"},
		{"PKG:generic/foo@1", "pkg:"},
		{"pkg://generic/foo@1", "type"},
		{"pkg:/generic/foo@1", "type"},
		{"pkg:Generic/foo@1", "type"},
		{"pkg:generic@1", "no name"},
		{"pkg:generic/foo", "no version"},
		{"pkg:generic/foo@", "no version"},
		{"pkg:generic/foo?arch=x", "no version"},
		{"pkg:generic/@1", "empty"},
		{"pkg:generic//foo@1", "empty"},
		{"pkg:generic/./foo@1", `segment "."`},
		{"pkg:generic/../foo@1", `segment ".."`},
		{"pkg:generic/%2E%2E/foo@1", `as '.'`},
		{"pkg:generic/a%2Fb@1", "segment"},
		{"pkg:npm/@acme/foo@1", "%40"},
		{"pkg:generic/foo@1@2", "%40"},
		{"pkg:generic/foo@1/2", "%2F"},
		{"pkg:generic/foo@1#sub", "subpath"},
		{"pkg:generic/foo@1?", "qualifier key"},
		{"pkg:generic/foo@1?arch=", "empty"},
		{"pkg:generic/foo@1?arch", "empty"},
		{"pkg:generic/foo@1?os=linux&arch=x", "out of order"},
		{"pkg:generic/foo@1?arch=x&arch=y", "twice"},
		{"pkg:generic/foo@1?Arch=x", "qualifier key"},
		{"pkg:generic/foo@1?a=x=y", "%3D"},
		{"pkg:generic/foo@1?a=x?y", "%3F"},
		{"pkg:generic/fo%6F@1", `as 'o'`},
		{"pkg:generic/foo%3a@1", "hex"},
		{"pkg:generic/foo%3A@1", `as ':'`},
		{"pkg:generic/foo%4@1", "hex"},
		{"pkg:generic/foo%@1", "hex"},
		{"pkg:generic/foo@1%2", "hex"},
		{"pkg:generic/café@1", "%C3"},
		{"pkg:generic/foo bar@1", "%20"},
		{"pkg:generic/foo%20bar@1", "white space"},
		{"pkg:generic/foo%0A@1", "U+000A"},
		{"pkg:generic/foo%00@1", "U+0000"},
		{"pkg:generic/foo%7F@1", "U+007F"},
		{"pkg:generic/foo%C2%9B@1", "U+009B"},
		{"pkg:generic/foo%E2%80%AE@1", "U+202E"},
		{"pkg:generic/foo%E2%81%A6@1", "U+2066"},
		{"pkg:generic/foo%E2%80%8B@1", "U+200B"},
		{"pkg:generic/foo%EF%BB%BF@1", "U+FEFF"},
		{"pkg:generic/foo%E2%80%A8@1", "U+2028"},
		{"pkg:generic/foo%EE%80%80@1", "U+E000"},
		{"pkg:generic/foo%CD%B8@1", "U+0378"},
		{"pkg:generic/cafe%CC%81@1", "normalisation"},
		{"pkg:generic/foo%FF@1", "UTF-8"},
		{"pkg:generic/foo%ED%A0%80@1", "UTF-8"},
		{"pkg:generic/foo*@1", "%2A"},
		{"pkg:generic/" + strings.Repeat("a", maxNameBytes) + "@1", "more than"},
	} {
		_, err := parsePURL(tc.purl)
		wantError(t, err, KindMalformed, tc.want)
	}
}

func TestCheckRegistry(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"https://registry.example", "https://registry.example:8443/a/b", "https://xn--caf-dma.example"} {
		if err := checkRegistry(s); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []string{
		"", "registry.example", "http://registry.example", "HTTPS://registry.example", "https:registry.example",
		"https://", "https:///path", "https://Registry.example", "https://registry.example/", "https://registry.example/a/",
		"https://registry.example//a", "https://registry.example/../a", "https://registry.example/.", "https://u@registry.example",
		"https://registry.example?q", "https://registry.example#f", "https://registry.example/%61", "https://registry.example:",
		"https://registry.example:443", "https://registry.example:x", "https://régistry.example", "https://registry.example\n",
		"https://registry.example/*", "https://registry.example/" + strings.Repeat("a", maxNameBytes),
	} {
		wantError(t, checkRegistry(s), KindMalformed, "registry")
	}
}
