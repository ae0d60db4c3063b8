package sbpl_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"steps.example/interp/jail/sbpl"
)

var update = flag.Bool("update", false, "write the golden profiles")

// variants are the example with each kind of network.
func variants() map[string]struct {
	Policy sbpl.Policy
	World  sbpl.World
} {
	type variant = struct {
		Policy sbpl.Policy
		World  sbpl.World
	}
	p, w := sbpl.Example()
	out := map[string]variant{"none": {p, w}}
	p.Network, w.Network = true, true
	out["network"] = variant{p, w}
	p.Network, w.Network = false, false
	p.Ports, w.Ports = []uint16{8443, 443}, []uint16{443, 8443}
	out["ports"] = variant{p, w}
	return out
}

// Every probe ends as it must, in every variant of the profile.
func TestProbes(t *testing.T) {
	t.Parallel()
	for name, v := range variants() {
		results, err := sbpl.Check(v.Policy, v.World)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, r := range results {
			if !r.OK() {
				t.Errorf("%s: probe %d %s: allowed is %t, want %t by %s", name, r.Number, r.Name, r.Allowed, r.Allow, r.By)
			}
		}
	}
}

// Without rules every must-allow probe fails, and with a rule for everything
// every must-deny probe succeeds: no probe passes whatever the profile.
func TestProbesCanFail(t *testing.T) {
	t.Parallel()
	_, w := sbpl.Example()
	for _, open := range []bool{false, true} {
		text := "(version 1)(deny default)"
		for _, op := range []string{"file*", "process*", "signal", "sysctl*", "mach*", "network*", "system-socket", "lsopen",
			"appleevent-send", "job-creation", "iokit-open", "ipc-posix-shm", "ipc-sysv-shm", "pseudo-tty"} {
			if open {
				text += "(allow " + op + ")"
			}
		}
		profile, err := sbpl.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, probe := range sbpl.Probes(w) {
			allowed := !probe.Any
			for _, r := range probe.Requests {
				d, err := profile.Decide(r)
				if err != nil {
					t.Fatal(err)
				}
				if probe.Any {
					allowed = allowed || d.Allow
				} else {
					allowed = allowed && d.Allow
				}
			}
			if allowed != open {
				t.Errorf("probe %d %s: allowed is %t under a profile that is open: %t", probe.Number, probe.Name, allowed, open)
			}
		}
	}
	if _, err := sbpl.Check(sbpl.Policy{Reads: []string{"x"}}, w); err == nil {
		t.Error("a bad policy was checked")
	}
}

func TestProbeNames(t *testing.T) {
	t.Parallel()
	_, w := sbpl.Example()
	seen := map[string]bool{}
	numbers := map[int]bool{}
	for _, p := range sbpl.Probes(w) {
		if seen[p.Name] {
			t.Errorf("two probes are named %q", p.Name)
		}
		if len(p.Requests) == 0 {
			t.Errorf("probe %q asks for nothing", p.Name)
		}
		seen[p.Name], numbers[p.Number] = true, true
	}
	for n := 77; n <= 89; n++ {
		if !numbers[n] {
			t.Errorf("there is no probe %d", n)
		}
	}
}

// The profile is a text that people review.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, v := range variants() {
		program, err := sbpl.Generate(v.Policy)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, p := range program.Params {
			b.WriteString("-D " + p.Key + "=" + p.Value + "\n")
		}
		b.WriteString(program.Text)
		path := "testdata/" + name + ".golden"
		if *update {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

// No path and nothing of the never-list is in any program text.
func TestNever(t *testing.T) {
	t.Parallel()
	for name, v := range variants() {
		program, err := sbpl.Generate(v.Policy)
		if err != nil {
			t.Fatal(err)
		}
		for _, never := range []string{
			"/", "lsopen", "appleevent", "job-creation", "launchservices", "lsd", "SecurityServer", "securityd",
			"pasteboard", "iokit", "mach-register", "ipc-", "preference", "with", "import", "define", "(if", "(let",
			"AF_UNIX", "unix", "regex", "allow default", "allow file-write-setugid", "mach-priv",
		} {
			if strings.Contains(program.Text, never) {
				t.Errorf("%s: the profile has %q", name, never)
			}
		}
		if v.Policy.Network || len(v.Policy.Ports) > 0 {
			continue
		}
		for _, never := range []string{"network", "socket", "trustd"} {
			if strings.Contains(program.Text, never) {
				t.Errorf("%s: the profile has %q", name, never)
			}
		}
	}
	args, err := sbpl.Generate(sbpl.Policy{Writes: []string{`/o/") (allow default) (x "`}})
	if err != nil {
		t.Fatal(err)
	}
	if got := args.Args(); !slices.Contains(got, `WRITE_0=/o/") (allow default) (x "`) || strings.Contains(got[len(got)-1], "/o/") {
		t.Errorf("a path that looks like a program: %q", got)
	}
}
