package sbpl

import (
	"fmt"
	"path"
	"slices"
)

// A World names what probes try to reach. All paths are real paths of macOS,
// see [Canonical].
type World struct {
	In        string // writable, not executable; holds file, tool and dir
	Protected string // protected directory at least one directory below In; empty: none
	RO        string // readable only; holds file and tool
	Out       string // not granted; holds file, tool and a Unix socket s
	Home      string // the user's, not granted
	Bin       string // executable directory of the system
	Network   bool   // the policy grants any network
	Ports     []uint16
}

// A Probe is one thing to try, as the requests that macOS makes of the sandbox
// when a program tries it.
type Probe struct {
	Number int    // of the project's list of probes
	Name   string // unique
	// Linux is the number of the probe that tries the same on Linux; 0: there
	// is nothing like it there.
	Linux int
	Allow bool // whether it must succeed; otherwise it must fail
	// Any says that each of the requests would do for the purpose, so that all
	// must be denied. Otherwise the purpose needs them all.
	Any      bool
	Requests []Request
}

// A Result is what a profile makes of a probe.
type Result struct {
	Probe
	Allowed bool   // the probe would succeed
	By      string // the deciding request and rule
}

// OK reports whether the probe ended as it must.
func (r Result) OK() bool { return r.Allowed == r.Allow }

// Check generates the profile of a policy, reads it back and runs the probes of
// a world through it. An error says that the policy is bad, or that the profile
// holds something that cannot be decided.
func Check(p Policy, w World) ([]Result, error) {
	program, err := Generate(p)
	if err != nil {
		return nil, err
	}
	profile, err := program.Parse()
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, probe := range Probes(w) {
		r := Result{Probe: probe, Allowed: !probe.Any}
		for _, request := range probe.Requests {
			d, err := profile.Decide(request)
			if err != nil {
				return nil, fmt.Errorf("probe %d %s: %w", probe.Number, probe.Name, err)
			}
			if r.By == "" || d.Allow == probe.Any && r.Allowed != d.Allow {
				r.By = fmt.Sprintf("%s: %s", request, d.Rule)
				r.Allowed = d.Allow
			}
		}
		results = append(results, r)
	}
	return results, nil
}

// Example returns a policy and its world, so that the probes can be run without
// a machine in mind.
func Example() (Policy, World) {
	w := World{
		In: "/opt/pkg/var/in", Protected: "/opt/pkg/var/in/.git/hooks",
		RO: "/opt/pkg/share/ro", Out: "/opt/out", Home: "/Users/u", Bin: "/usr/bin",
	}
	p := Policy{
		Reads: []string{w.RO}, Execs: []string{"/usr", "/bin", "/sbin"}, Writes: []string{w.In},
		Temp: "/private/var/folders/ab/cd/T/steps", Protect: []string{w.Protected},
	}
	return p, w
}

// request and its likes keep the table of probes readable.

func one(op, object string) []Request { return []Request{{op, object}} }

func on(object string, ops ...string) []Request {
	var out []Request
	for _, op := range ops {
		out = append(out, Request{op, object})
	}
	return out
}

func lookup(names ...string) []Request {
	var out []Request
	for _, name := range names {
		out = append(out, Request{"mach-lookup", name})
	}
	return out
}

// rename is what macOS asks before it moves one name to another that is free.
func rename(from, to string) []Request {
	return []Request{{"file-write-unlink", from}, {"file-write-create", to}}
}

// link is what macOS asks before it makes a hard link.
func link(from, to string) []Request {
	return []Request{{"file-link", from}, {"file-write-create", to}}
}

// connect is what macOS asks before it connects a new socket.
func connect(domain, address string) []Request {
	return []Request{{"system-socket", domain}, {"network-outbound", address}}
}

func (w World) in(name string) string   { return path.Join(w.In, name) }
func (w World) ro(name string) string   { return path.Join(w.RO, name) }
func (w World) out(name string) string  { return path.Join(w.Out, name) }
func (w World) home(name string) string { return path.Join(w.Home, name) }
func (w World) bin(name string) string  { return path.Join(w.Bin, name) }

// Probes returns the probes for a world. Those about a protected directory are
// left out of a world without one.
func Probes(w World) []Probe {
	return slices.Concat(w.fileProbes(), w.socketProbes(), w.processProbes(), w.macProbes(), w.protectedProbes(), w.allowedProbes())
}
