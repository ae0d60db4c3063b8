package sbpl_test

import (
	"strings"
	"testing"

	"steps.example/interp/jail/sbpl"
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const head = "(version 1)(deny default)"
	params := map[string]string{"A": "/a"}
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "ends before"},
		{"no default", "(version 1)", "ends before"},
		{"other version", "(version 2)(deny default)", "must"},
		{"allow default", "(version 1)(allow default)", "must"},
		{"default later", head + "(allow default)", "unknown operation"},
		{"unknown operation", head + `(allow file-teleport (subpath (param "A")))`, "unknown operation"},
		{"unknown filter", head + `(allow file-read* (regex "^/a"))`, "unknown filter or modifier"},
		{"regex literal", head + `(allow file-read* (regex #"^/a"))`, "unexpected"},
		{"modifier", head + `(allow process-exec (subpath (param "A")) (with no-sandbox))`, "unknown filter or modifier"},
		{"require-not", head + `(allow file-read* (require-not (literal "/")))`, "unknown filter or modifier"},
		{"import", head + `(import "system.sb")`, `unknown form "import"`},
		{"define", head + `(define x 1)`, `unknown form "define"`},
		{"if", head + `(if (param "A") (allow file-read*))`, `unknown form "if"`},
		{"let", head + `(let ((x 1)) x)`, `unknown form "let"`},
		{"path in the text", head + `(allow file-read* (subpath "/a"))`, "must be given as"},
		{"parameter without value", head + `(allow file-read* (subpath (param "B")))`, "has no value"},
		{"concatenation", head + `(allow file-read* (subpath (string-append "/a" "/b")))`, "must be given as"},
		{"filter of another operation", head + `(allow mach-lookup (subpath (param "A")))`, "does not apply"},
		{"local on outbound", head + `(allow network-outbound (local ip "*:*"))`, "does not apply"},
		{"localhost", head + `(allow network-outbound (remote ip "localhost:80"))`, "unknown value"},
		{"udp", head + `(allow network-outbound (remote udp "*:53"))`, "unknown kind of address"},
		{"unix socket", head + `(allow network-outbound (remote unix-socket))`, "unknown kind of address"},
		{"port", head + `(allow network-outbound (remote tcp "*:http"))`, "unknown value"},
		{"port too large", head + `(allow network-outbound (remote tcp "*:65536"))`, "unknown value"},
		{"domain", head + `(allow system-socket (socket-domain AF_UNIX))`, "unknown value"},
		{"target", head + `(allow signal (target others))`, "unknown value"},
		{"two values", head + `(allow mach-lookup (global-name "a" "b"))`, "takes one value"},
		{"no operation", head + `(allow)`, "without operations"},
		{"no action", head + `()`, "no rule"},
		{"atom", head + `allow`, "no rule"},
		{"filter before operation", head + `(allow (target same-sandbox) signal)`, "without operations"},
		{"operation after filter", head + `(allow signal (target same-sandbox) signal)`, "must be a form"},
		{"open form", head + `(allow signal`, "not closed"},
		{"open string", head + `(allow mach-lookup (global-name "a))`, "not closed"},
		{"escape", head + `(allow mach-lookup (global-name "\n"))`, "unknown escape"},
		{"byte in a string", head + "(allow mach-lookup (global-name \"\x80\"))", "unexpected"},
		{"stray parenthesis", head + `)`, "unexpected"},
		{"comment", head + `; (allow signal)`, "unexpected"},
		{"depth", head + strings.Repeat("(", 1000000), "nested deeper"},
	} {
		used := map[string]string{}
		if strings.Contains(tc.text, `"A"`) {
			used = params
		}
		if _, err := sbpl.Parse(tc.text, used); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	if _, err := sbpl.Parse(head, params); err == nil || !strings.Contains(err.Error(), "not used") {
		t.Errorf("a parameter without use: %v", err)
	}
	for _, value := range []string{"", "a", "/a/", "/a/../b", "//a", "/tmp/a", "/var", "/etc/x", "/a\x00", "/\xff", "/System/Volumes/Data/x"} {
		if _, err := sbpl.Parse(head+`(allow file-read* (subpath (param "A")))`, map[string]string{"A": value}); err == nil {
			t.Errorf("parameter %q: accepted", value)
		}
	}
	program := sbpl.Program{Text: head, Params: []sbpl.Param{{Key: "A", Value: "/a"}, {Key: "A", Value: "/b"}}}
	if _, err := program.Parse(); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a parameter given twice: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, v := range variants() {
		program, err := sbpl.Generate(v.Policy)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(program.Text)
	}
	f.Add(`(version 1)(deny default)(allow file-read* (subpath (param "READ_0")))`)
	f.Add(`(version 1)(deny default)(allow mach-lookup (global-name "a\"\\"))`)
	f.Fuzz(func(t *testing.T, text string) {
		v := variants()["network"]
		program, err := sbpl.Generate(v.Policy)
		if err != nil {
			t.Fatal(err)
		}
		// The parameters that the text uses, so that more texts are profiles.
		program.Text = text
		var used []sbpl.Param
		for _, p := range program.Params {
			if strings.Contains(text, `"`+p.Key+`"`) {
				used = append(used, p)
			}
		}
		program.Params = used
		profile, err := program.Parse()
		if err != nil {
			return
		}
		for _, probe := range sbpl.Probes(v.World) {
			for _, r := range probe.Requests {
				if d, err := profile.Decide(r); err != nil || d.Rule == "" {
					t.Fatalf("%q: %+v, %v", r, d, err)
				}
			}
		}
		// A profile without an allow allows nothing.
		if !strings.Contains(text, "allow") {
			if d, _ := profile.Decide(sbpl.Request{Op: "file-read-data", Object: "/a"}); d.Allow {
				t.Fatal("something is allowed that nothing allows")
			}
		}
	})
}
