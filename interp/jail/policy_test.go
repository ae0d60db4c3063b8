package jail_test

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"steps.example/interp/jail"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	good := jail.Policy{Reads: []string{"/usr"}, Writes: []string{"/opt/x"}, Dir: "/opt/x/sub", Env: []string{"A=", "B=x=y"}}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, want string
		change     func(*jail.Policy)
	}{
		{"nothing", "empty path", func(p *jail.Policy) { *p = jail.Policy{} }},
		{"relative", "not an absolute path", func(p *jail.Policy) { p.Reads = []string{"usr"} }},
		{"unclean", `write "/usr/bin"`, func(p *jail.Policy) { p.Execs = []string{"/usr/lib/../bin"} }},
		{"trailing slash", "not a clean path", func(p *jail.Policy) { p.Writes = []string{"/opt/x/"} }},
		{"NUL", "NUL", func(p *jail.Policy) { p.Reads = []string{"/usr\x00"} }},
		{"read everything", "never granted", func(p *jail.Policy) { p.Reads = []string{"/"} }},
		{"write everything", "never granted", func(p *jail.Policy) { p.Writes = []string{"/"} }},
		{"proc", "never granted", func(p *jail.Policy) { p.Reads = []string{"/proc/self"} }},
		{"devices", "never granted for writing", func(p *jail.Policy) { p.Writes = []string{"/dev/shm"} }},
		{"tmp", "shared with other programs", func(p *jail.Policy) { p.Writes = []string{"/tmp"} }},
		{"directory elsewhere", "under no granted directory", func(p *jail.Policy) { p.Dir = "/opt/xy" }},
		{"environment without value", "not NAME=VALUE", func(p *jail.Policy) { p.Env = []string{"SECRET"} }},
		{"environment without name", "not NAME=VALUE", func(p *jail.Policy) { p.Env = []string{"=x"} }},
		{"environment twice", "given twice", func(p *jail.Policy) { p.Env = []string{"A=1", "A=2"} }},
		{"negative limit", "limit on wall", func(p *jail.Policy) { p.Limits.Wall = -time.Second }},
		{"unknown gap", "no guarantee has this name", func(p *jail.Policy) { p.Gaps = []string{"all"} }},
		{"gap too far", "cannot be given up", func(p *jail.Policy) { p.Gaps = []string{"network"} }},
	} {
		p := good
		tc.change(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	p := good
	p.Env = []string{"hunter2"}
	if err := p.Validate(); strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a malformed entry is shown: %v", err)
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"plain\ttext\n", "plain\ttext\n"},
		{"dos\r\nlines\rover", "dos\nlines\\x0dover"},
		{"\x1b]52;c;ZXZpbA==\x07", `\x1b]52;c;ZXZpbA==\x07`},
		{"\x1b[2J\x00\x7f", `\x1b[2J\x00\x7f`},
		{"\u009b31m", `\u009b31m`},
		{"caf\u00e9 \u65e5\u672c \U0001f600", "caf\u00e9 \u65e5\u672c \U0001f600"},
		{"a\u202eb\u2066c\u200bd\ufeff", `a\u202eb\u2066c\u200bd\ufeff`},
		{"\u2028", `\u2028`},
		{"\U000e0041", `\U000e0041`},
		{"\xff\xc3", `\xff\xc3`},
		{"\ufffd", "\ufffd"},
		{"", ""},
	} {
		if got := jail.Printable([]byte(tc.in)); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.in, got, tc.want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add([]byte("a\x1b[0m\xff\r\n\u202e"))
	f.Fuzz(func(t *testing.T, in []byte) {
		out := jail.Printable(in)
		if !utf8.ValidString(out) {
			t.Errorf("%q is not UTF-8", out)
		}
		for _, r := range out {
			if r != '\n' && r != '\t' && !unicode.IsGraphic(r) {
				t.Errorf("%q has %U", out, r)
			}
		}
	})
}
