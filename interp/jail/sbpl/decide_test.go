package sbpl_test

import (
	"strings"
	"testing"

	"steps.example/interp/jail/sbpl"
)

// Mistakes that real profiles made, and what comes of them.
func TestRuleOrder(t *testing.T) {
	t.Parallel()
	params := map[string]string{"BIN": "/opt/brew/bin", "BREW": "/opt/brew/bin/brew", "HOME": "/Users/u", "SSH": "/Users/u/.ssh"}
	for _, tc := range []struct {
		name, rules, op, object string
		allow                   bool
		by                      string
	}{
		// Homebrew denies writing its own program, then allows the directory
		// that holds it: the later allow wins, and nothing is protected.
		{"literal deny before subpath allow",
			`(deny file-write* (literal (param "BREW"))) (allow file-write* (subpath (param "BIN")))`,
			"file-write-data", "/opt/brew/bin/brew", true, `(allow file-write* (subpath (param "BIN")))`},
		{"the same the other way round",
			`(allow file-write* (subpath (param "BIN"))) (deny file-write* (literal (param "BREW")))`,
			"file-write-data", "/opt/brew/bin/brew", false, `(deny file-write* (literal (param "BREW")))`},
		{"a specific deny stands before a wildcard allow",
			`(deny file-write-unlink (literal (param "BREW"))) (allow file-write* (subpath (param "BIN")))`,
			"file-write-unlink", "/opt/brew/bin/brew", false, `(deny file-write-unlink (literal (param "BREW")))`},
		{"and only for its own operation",
			`(deny file-write-unlink (literal (param "BREW"))) (allow file-write* (subpath (param "BIN")))`,
			"file-write-data", "/opt/brew/bin/brew", true, ""},
		{"a specific deny does stand against a later specific allow",
			`(deny file-read-data (subpath (param "SSH"))) (allow file-read-data (subpath (param "HOME")))`,
			"file-read-data", "/Users/u/.ssh/id", true, ""},
		{"a deny that is too wide to be last",
			`(allow file-read* (subpath (param "SSH"))) (deny file-read* (subpath (param "HOME")))`,
			"file-read-data", "/Users/u/.ssh/id", false, ""},
		// An allow by path survives a bare deny of the same operation that
		// comes after it: the bare one is only the default.
		{"filtered allow before bare deny",
			`(allow file-write* (subpath (param "BIN"))) (deny file-write*)`,
			"file-write-data", "/opt/brew/bin/x", true, ""},
		{"bare deny elsewhere",
			`(allow file-write* (subpath (param "BIN"))) (deny file-write*)`,
			"file-write-data", "/opt/x", false, "(deny file-write*)"},
		{"bare allow of the parent", `(deny file-write-setugid) (allow file-write* (subpath (param "BIN")))`,
			"file-write-setugid", "/opt/brew/bin/x", false, "(deny file-write-setugid)"},
		{"bare rule of the operation before the parent's filters", `(allow file-read-metadata) (deny file-read* (subpath (param "HOME")))`,
			"file-read-metadata", "/Users/u/.ssh", true, "(allow file-read-metadata)"},
		{"the last of two bare rules", `(allow network*) (deny network*)`, "network-outbound", "tcp:192.0.2.1:1", false, "(deny network*)"},
		{"parents in turn", `(allow process*)`, "process-exec-interpreter", "/bin/sh", true, "(allow process*)"},
		{"exec and its wildcard", `(allow process-exec* (subpath (param "BIN")))`, "process-exec", "/opt/brew/bin/x", true, ""},
		{"nothing said", ``, "lsopen", "", false, "(deny default)"},

		// Paths are compared by component, as they are spelled.
		{"subpath is no prefix", `(allow file-read* (subpath (param "BIN")))`, "file-read-data", "/opt/brew/binary", false, ""},
		{"subpath has the directory itself", `(allow file-write* (subpath (param "BIN")))`, "file-write-unlink", "/opt/brew/bin", true, ""},
		{"subpath has nothing above", `(allow file-write* (subpath (param "BIN")))`, "file-write-unlink", "/opt/brew", false, ""},
		{"literal has nothing below", `(deny file-write* (literal (param "BIN"))) (allow file-write* (subpath (param "HOME")))`,
			"file-write-data", "/opt/brew/bin/x", false, "(deny default)"},
		{"letter case counts", `(allow file-read* (subpath (param "SSH")))`, "file-read-data", "/Users/u/.SSH/id", false, ""},

		// File rules say nothing about sockets, and addresses nothing about
		// Unix sockets.
		{"a readable socket is no connection", `(allow file-read* file-write* (subpath (param "BIN")))`,
			"network-outbound", "unix:/opt/brew/bin/s", false, "(deny default)"},
		{"any address is no unix socket", `(allow network-outbound (remote ip "*:*"))`, "network-outbound", "unix:/private/var/run/docker.sock", false, ""},
		{"any address has udp", `(allow network-outbound (remote ip "*:*"))`, "network-outbound", "udp:192.0.2.1:53", true, ""},
		{"a tcp port has no udp", `(allow network-outbound (remote tcp "*:53"))`, "network-outbound", "udp:192.0.2.1:53", false, ""},
		{"a tcp port is not another", `(allow network-outbound (remote tcp "*:44"))`, "network-outbound", "tcp:192.0.2.1:443", false, ""},
		{"a socket of the other family", `(allow system-socket (socket-domain AF_INET))`, "system-socket", "AF_INET6", false, ""},
		{"out is not in", `(allow network-outbound (remote ip "*:*"))`, "network-inbound", "tcp:0.0.0.0:80", false, ""},

		{"own processes", `(allow signal (target same-sandbox))`, "signal", "self", true, ""},
		{"other processes", `(allow signal (target same-sandbox))`, "signal", "others", false, ""},
		{"a service is not another that begins so", `(allow mach-lookup (global-name "com.apple.trustd"))`, "mach-lookup", "com.apple.trustd.agent", false, ""},
		{"kernel variables by prefix", `(allow sysctl-read) (deny sysctl-read (sysctl-name-prefix "kern.proc"))`, "sysctl-read", "kern.procargs2.7", false, ""},
		{"and the others", `(allow sysctl-read) (deny sysctl-read (sysctl-name-prefix "kern.proc"))`, "sysctl-read", "hw.ncpu", true, ""},
		{"several filters are alternatives", `(allow file-read* (literal (param "SSH")) (literal (param "BIN")))`, "file-read-data", "/opt/brew/bin", true, ""},
		{"several operations in one rule", `(allow file-read* process-exec* (subpath (param "BIN")))`, "process-exec", "/opt/brew/bin/x", true, ""},
	} {
		used := map[string]string{}
		for key, value := range params {
			if strings.Contains(tc.rules, `"`+key+`"`) {
				used[key] = value
			}
		}
		profile, err := sbpl.Parse("(version 1)\n(deny default)\n"+tc.rules, used)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		d, err := profile.Decide(sbpl.Request{Op: tc.op, Object: tc.object})
		if err != nil || d.Allow != tc.allow || tc.by != "" && d.Rule != tc.by {
			t.Errorf("%s: %+v, %v, want %t by %s", tc.name, d, err, tc.allow, tc.by)
		}
	}
}

func TestDecideRefuses(t *testing.T) {
	t.Parallel()
	profile, err := sbpl.Parse("(version 1) (deny default)", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []sbpl.Request{
		{},
		{Op: "default"},
		{Op: "file-chroot", Object: "/x"},
		{Op: "file-write*", Object: "/x"},
		{Op: "file-read-data"},
		{Op: "file-read-data", Object: "x"},
		{Op: "file-read-data", Object: "/x/../y"},
		{Op: "file-read-data", Object: "/x//y"},
		{Op: "file-read-data", Object: "/tmp/x"},
		{Op: "file-read-data", Object: "/System/Volumes/Data/Users/u"},
		{Op: "signal", Object: "children"},
		{Op: "mach-lookup"},
		{Op: "lsopen", Object: "x"},
		{Op: "system-socket", Object: "unix"},
		{Op: "network-outbound", Object: "tcp:443"},
		{Op: "network-outbound", Object: "tcp:x:"},
		{Op: "network-outbound", Object: "tcp:x:99999"},
		{Op: "network-outbound", Object: "sctp:x:1"},
		{Op: "network-outbound", Object: "unix:s"},
	} {
		if d, err := profile.Decide(r); err == nil {
			t.Errorf("%q: decided %+v", r, d)
		}
	}
}
