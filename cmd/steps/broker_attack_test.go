//go:build !light

package main

import (
	"bytes"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"steps.example/interp/broker"
	"steps.example/schema"
)

// TestBrokerAttacks forges what a caller says, or bends what root said: the broker, which
// verifies everything itself, does nothing, and the user's part is taken back.
func TestBrokerAttacks(t *testing.T) {
	t.Parallel()
	s := newBrokerScene(t)
	other := strings.ReplaceAll(brokerDocument, "demo.conf", "evil.conf")
	before := s.tree(t)
	var forge atomic.Pointer[func(*broker.Request)]
	s.line = func(_ *brokerConn, up bool, line []byte) []byte {
		if f := forge.Load(); f != nil && up && bytes.Contains(line, []byte(`"hello"`)) {
			return forged(t, line, *f)
		}
		return line
	}
	hello := func(f func(*broker.Hello)) func(*broker.Request) {
		return func(r *broker.Request) { f(r.Hello) }
	}
	config, err := os.ReadFile(s.dir + "/etc/broker.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		forge func(*broker.Request)
		bend  func() error
		code  int
		want  string
	}{
		{name: "another bundle", code: exitTrust, want: "what was signed is not the document",
			forge: hello(func(h *broker.Hello) { h.Bundles = [][]byte{s.sign(t, other, 2)} })},
		{name: "an unsigned document", code: exitTrust, want: "bundle",
			forge: hello(func(h *broker.Hello) { h.Bundles = [][]byte{[]byte(brokerDocument)} })},
		{name: "forged document digest", code: exitTrust, want: "what was signed is not the document",
			forge: hello(func(h *broker.Hello) { h.DocumentSHA256 = sumOf("x") })},
		{name: "another artifact", code: exitTrust, want: "artifact",
			forge: hello(func(h *broker.Hello) { h.ArtifactSHA256 = sumOf("x") })},
		{name: "another package", code: exitTrust, want: "",
			forge: hello(func(h *broker.Hello) { h.PURL = "pkg:generic/acme/other@1.0" })},
		{name: "another version", code: exitRefused, want: "is for version 1.0, not 9",
			forge: hello(func(h *broker.Hello) { h.Target.Version = "9" })},
		{name: "a phase of removal", code: exitRefused, want: "is not of an installation",
			forge: hello(func(h *broker.Hello) { h.Target.Phases = append(h.Target.Phases, "post_remove_steps") })},
		{name: "another prefix", code: exitRefused, want: "outside the directories that the broker's configuration allows",
			forge: hello(func(h *broker.Hello) { h.Target.Dirs["prefix_root"] = s.home })},
		{name: "approved less", code: exitRefused, want: "needs your approval",
			forge: hello(func(h *broker.Hello) { h.Target.Approved = nil })},
		{name: "steps that do something else", code: exitMoved, want: "has changed since the plan was made",
			forge: hello(func(h *broker.Hello) { h.Steps = []int{3}; h.Plan = "" })},
		{name: "capability not allowed", code: exitRefused, want: "--approve ownership",
			bend: func() error { s.configure(t, s.opt, "sudo"); return nil }},
		{name: "directories not allowed", code: exitRefused, want: "outside the directories",
			bend: func() error { s.configure(t, s.opt+"/etc", "sudo", "ownership"); return nil }},
		{name: "configuration that others can write", code: exitTrust, want: "others can write to it",
			bend: func() error { return os.Chmod(s.dir+"/etc/broker.json", 0o664) }},
		{name: "configuration of another", code: exitTrust, want: "belongs to uid 65534",
			bend: func() error { return os.Chown(s.dir+"/etc/broker.json", nobody, nobody) }},
		{name: "policy of another", code: exitTrust, want: "belongs to uid 65534",
			bend: func() error { return os.Chown(s.dir+"/etc/trust.json", nobody, nobody) }},
		{name: "directory of another", code: exitTrust, want: "belongs to uid 65534",
			bend: func() error { return os.Chown(s.dir+"/etc", nobody, nobody) }},
		{name: "directory for all", code: exitTrust, want: "others can write to it",
			bend: func() error { return os.Chmod(s.dir+"/etc", 0o777) }},
		{name: "linked configuration", code: exitTrust, want: "only root may be able to decide",
			bend: func() error {
				if err := os.Rename(s.dir+"/etc/broker.json", s.dir+"/etc/real.json"); err != nil {
					return err
				}
				return os.Symlink("real.json", s.dir+"/etc/broker.json")
			}},
		{name: "unknown member", code: exitTrust, want: "unknown",
			bend: func() error {
				return os.WriteFile(s.dir+"/etc/broker.json", bytes.Replace(config, []byte("{"), []byte(`{"any": 1, `), 1), 0o644)
			}},
	} {
		forge.Store(nil)
		if tc.forge != nil {
			forge.Store(&tc.forge)
		}
		if tc.bend != nil {
			if err := tc.bend(); err != nil {
				t.Fatal(err)
			}
		}
		code, out := s.asNobody(s.home, s.apply...)
		if code != tc.code || !strings.Contains(out, tc.want) {
			t.Errorf("%s: exit status %d: %s\nwant %d: %q", tc.name, code, out, tc.code, tc.want)
		}
		if now := s.tree(t); now != before {
			t.Fatalf("%s: the tree is\n%s", tc.name, now)
		}
		// As root had it.
		for _, err := range []error{
			os.Chown(s.dir+"/etc", 0, 0), os.Chmod(s.dir+"/etc", 0o755), os.RemoveAll(s.dir + "/etc/broker.json"),
			os.WriteFile(s.dir+"/etc/broker.json", config, 0o644), os.Chown(s.dir+"/etc/trust.json", 0, 0),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	forge.Store(nil)
	if code, out := s.asNobody(s.home, s.apply...); code != 0 {
		t.Fatalf("a good caller afterwards: exit status %d: %s", code, out)
	}
	// What was accepted once is not replaced by something older, whoever asks.
	s.write(t, "demo.bundle", s.sign(t, brokerDocument, 1))
	s.apply = append(s.apply, "--state", s.home+"/fresh")
	if code, out := s.asNobody(s.home, "undo", "--prefix", s.opt, "--state", s.home+"/state"); code != 0 {
		t.Fatalf("undo: exit status %d: %s", code, out)
	}
	if code, out := s.asNobody(s.home, s.apply...); code != exitTrust || !strings.Contains(out, "the broker for steps that need root") {
		t.Errorf("an older bundle: exit status %d: %s", code, out)
	}
	if now := s.tree(t); now != before {
		t.Errorf("the tree is\n%s", now)
	}
}

// TestBrokerConfigBothWays holds the schema of the configuration and the parser that the
// broker uses against each other.
func TestBrokerConfigBothWays(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, config string
		valid        bool
	}{
		{"good", `{"version": 1, "within": ["/opt/brew", "/Applications"], "capabilities": ["sudo", "ownership", "write:home"]}`, true},
		{"comment", `{"comment": "x", "version": 1, "within": ["/opt/.brew.d/a b"], "capabilities": []}`, true},
		{"all", `{"version": 1, "within": ["/"], "capabilities": []}`, false},
		{"relative", `{"version": 1, "within": ["opt"], "capabilities": []}`, false},
		{"not clean", `{"version": 1, "within": ["/opt/"], "capabilities": []}`, false},
		{"above", `{"version": 1, "within": ["/opt/../etc"], "capabilities": []}`, false},
		{"here", `{"version": 1, "within": ["/opt/./etc"], "capabilities": []}`, false},
		{"two slashes", `{"version": 1, "within": ["//opt"], "capabilities": []}`, false},
		{"a line end", `{"version": 1, "within": ["/opt\n"], "capabilities": []}`, false},
		{"nowhere", `{"version": 1, "within": [], "capabilities": []}`, false},
		{"no capabilities", `{"version": 1, "within": ["/opt"]}`, false},
		{"set-id", `{"version": 1, "within": ["/opt"], "capabilities": ["set-id"]}`, false},
		{"commands", `{"version": 1, "within": ["/opt"], "capabilities": ["run"]}`, false},
		{"unknown member", `{"version": 1, "within": ["/opt"], "capabilities": [], "any": 1}`, false},
		{"doubled member", `{"version": 1, "version": 1, "within": ["/opt"], "capabilities": []}`, false},
		{"other version", `{"version": 2, "within": ["/opt"], "capabilities": []}`, false},
		{"no version", `{"within": ["/opt"], "capabilities": []}`, false},
		{"other case", `{"Version": 1, "within": ["/opt"], "capabilities": []}`, false},
		{"trailing data", `{"version": 1, "within": ["/opt"], "capabilities": []} {}`, false},
		{"nothing", ``, false},
	} {
		cueErr := schema.ValidateBroker([]byte(tc.config))
		_, err := parseBrokerConfig([]byte(tc.config))
		if (cueErr == nil) != tc.valid || (err == nil) != tc.valid {
			t.Errorf("%s: the schema says %v, the parser %v, want valid: %v", tc.name, cueErr, err, tc.valid)
		}
	}
}
