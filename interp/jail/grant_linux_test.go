package jail_test

import (
	"slices"
	"testing"

	"steps.example/interp/jail"
)

// What a policy can open beyond files opens just that.
func TestWiderPolicies(t *testing.T) {
	t.Parallel()
	needJail(t)
	network := func(p *jail.Policy) { p.Network = true }
	ipc := func(p *jail.Policy) { p.Gaps = []string{"ipc"} }
	exec := func(p *jail.Policy) { p.Execs = append(p.Execs, p.Dir) }
	for _, tc := range []struct {
		probe  string
		change func(*jail.Policy)
		ok     bool
	}{
		{"tcp connect", network, true},
		{"tcp bind", network, true},
		{"udp send", network, true},
		{"netlink", network, true},
		{"multipath tcp connect", network, false},
		{"unix connect", network, false},
		{"unix datagram", network, false},
		{"unix abstract connect", network, false},
		{"unix datagram from a pair", network, false},
		{"unix connect from a pair", network, false},
		{"vsock", network, false},
		{"packet socket", network, false},
		{"system v memory", ipc, true},
		{"system v memory", network, false},
		{"tcp connect", ipc, false},
		{"execute writable", exec, true},
		{"execute outside", exec, false},
	} {
		t.Run(tc.probe, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := policy(t, w.In)
			tc.change(&p)
			if res := run(t, p, self(t), "probe", tc.probe, w.encode(t)); res.OK() != tc.ok {
				t.Errorf("exit %d %s, want success: %v\n%s%s", res.ExitCode, res.Signal, tc.ok, res.Stdout, res.Stderr)
			}
		})
	}
}

func TestGrantOfOneFile(t *testing.T) {
	t.Parallel()
	needJail(t)
	w := newWorld(t)
	p := policy(t, w.In)
	p.Writes = append(p.Writes, w.out("file"))
	p.Reads = append(p.Reads, w.ro("file"))
	for _, tc := range []struct {
		script string
		ok     bool
	}{
		{"cat " + w.out("file"), true},
		{"echo changed >" + w.out("file"), true},
		{"cat " + w.ro("file"), true},
		{"echo changed >" + w.ro("file"), false},
		{"cat " + w.out("tool"), false},
		{"rm " + w.out("file"), false},
		{"ls " + w.Out + " | grep -v file", false},
	} {
		for _, m := range modes(t) {
			if res := m.run(t, p, "/bin/sh", "-c", tc.script); res.OK() != tc.ok {
				t.Errorf("%s: %s: exit %d\n%s", m.name, tc.script, res.ExitCode, res.Stderr)
			}
		}
	}
}

func TestSystemLists(t *testing.T) {
	t.Parallel()
	reads := jail.SystemReads()
	for _, want := range jail.SystemExecs() {
		if !slices.Contains(reads, want) {
			t.Errorf("%s may be executed and not read", want)
		}
	}
	if !slices.Contains(reads, "/usr") {
		t.Errorf("no /usr in %v", reads)
	}
	p := jail.Policy{Reads: reads, Execs: jail.SystemExecs(), Dir: "/usr"}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
	for _, never := range []string{"/", "/etc", "/proc", "/run", "/home", "/root", "/tmp", "/var"} {
		if slices.Contains(reads, never) {
			t.Errorf("%s is readable", never)
		}
	}
}
