package sbpl_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"steps.example/interp/jail"
	"steps.example/interp/jail/sbpl"
)

// stricter are the probes that only macOS denies, with the reason.
var stricter = map[string]string{
	"chmod outside":    "without namespaces Linux has nothing against it",
	"times outside":    "without namespaces Linux has nothing against it",
	"routing socket":   "on Linux the C library asks it for addresses before it uses a granted network",
	"shared memory":    "with namespaces Linux gives the command a memory file system of its own",
	"multipath socket": "on Linux a granted network is one of TCP in all forms",
}

// Both systems decide alike under the same policy: every probe that has a like
// on Linux is done by a real program in the real jail, and its end compared
// with what the profile would have made of it.
func TestLikeLinux(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, variant := range []string{"none", "network", "ports"} {
		if _, err := jail.Check().Judge(linuxPolicy(self, place{In: "/x"}, variant)); err != nil {
			t.Logf("%s: not compared: %v", variant, err)
			if variant == "none" {
				t.Skip("this kernel has no jail")
			}
			continue
		}
		for _, result := range macResults(t, variant) {
			if result.Linux == 0 || variant != "none" && !aboutSockets(result.Probe) {
				continue
			}
			t.Run(variant+"/"+result.Name, func(t *testing.T) {
				t.Parallel()
				compare(t, self, variant, result)
			})
		}
	}
}

func aboutSockets(p sbpl.Probe) bool {
	for _, r := range p.Requests {
		if r.Op == "system-socket" {
			return true
		}
	}
	return false
}

func compare(t *testing.T, self, variant string, result sbpl.Result) {
	name := result.Name
	if strings.HasPrefix(name, "tcp connect to granted port") {
		name = "tcp connect to granted port"
	}
	if name == "tcp connect over ipv6" {
		t.Skip("this machine need not have IPv6")
	}
	if _, err := os.Stat(script); name == "run a script" && err != nil {
		t.Skip(err)
	}
	w := newPlace(t)
	data, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	res, err := jail.Run(context.Background(), self, linuxPolicy(self, w, variant), jail.Command{Path: self, Args: []string{"try", name, string(data)}})
	if err != nil {
		t.Fatal(err)
	}
	if res.Signal != "" || res.ExitCode > 1 {
		t.Fatalf("exit %d %s: %s%s", res.ExitCode, res.Signal, res.Stdout, res.Stderr)
	}
	allowed := res.OK()
	switch _, known := stricter[name]; {
	case result.Allowed && !allowed:
		t.Errorf("macOS allows by %s what Linux denies: %s", result.By, res.Stdout)
	case allowed && !result.Allowed && !known:
		t.Errorf("macOS denies by %s what Linux allows", result.By)
	}
}

// linuxPolicy and macResults have the same policy, each in its system's terms.
func linuxPolicy(self string, w place, variant string) jail.Policy {
	p := jail.Policy{
		Reads: jail.SystemReads(), Execs: append(jail.SystemExecs(), self), Writes: []string{w.In},
		Env: []string{"PATH=/usr/bin:/bin"}, Dir: w.In,
	}
	if w.RO != "" {
		p.Reads = append(p.Reads, w.RO)
	}
	switch variant {
	case "network":
		p.Network = true
	case "ports":
		p.Ports = []uint16{uint16(max(w.Port, 1))}
	}
	return p
}

func macResults(t *testing.T, variant string) []sbpl.Result {
	t.Helper()
	p, w := sbpl.Example()
	p.Protect, w.Protected = nil, ""
	switch variant {
	case "network":
		p.Network, w.Network = true, true
	case "ports":
		p.Ports, w.Ports = []uint16{443}, []uint16{443}
	}
	results, err := sbpl.Check(p, w)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func newPlace(t *testing.T) place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := place{In: filepath.Join(base, "in"), RO: filepath.Join(base, "ro"), Out: filepath.Join(base, "out")}
	for _, dir := range []string{w.In, w.RO, w.Out} {
		if err := os.MkdirAll(filepath.Join(dir, "dir"), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, mode := range map[string]os.FileMode{"file": 0o644, "tool": 0o755} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexit 0\n"), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, port := range []*int{&w.Port, &w.Other} {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		*port = l.Addr().(*net.TCPAddr).Port
	}
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { udp.Close() })
	w.UDP = udp.LocalAddr().(*net.UDPAddr).Port

	// Socket paths are short; the test's directory need not be.
	sockets, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	w.Stream, w.Datagram = filepath.Join(sockets, "s"), filepath.Join(sockets, "d")
	l, err := net.Listen("unix", w.Stream)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	d, err := net.ListenPacket("unixgram", w.Datagram)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })

	victim := exec.Command("/bin/sleep", "1000")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		victim.Process.Kill()
		victim.Wait()
	})
	w.Victim = victim.Process.Pid
	return w
}
