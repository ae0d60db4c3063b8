package jail

import (
	"context"
	"fmt"
	"strings"

	"steps.example/interp/jail/sbpl"
)

// The probes of macOS.
const (
	firstMac = 77
	lastMac  = 86
)

// evaluated are the cases for Seatbelt as its profile decides them, on any
// system: each thing that macOS has and others have not, and one case for all
// that both have.
func evaluated() []Case {
	_, w := sbpl.Example()
	var cases []Case
	for _, p := range sbpl.Probes(w) {
		if p.Number < firstMac || p.Number > lastMac {
			continue
		}
		name, _, _ := strings.Cut(p.Name, " (")
		c := Case{Number: p.Number, Name: "mac: " + name, Expected: "denied"}
		if p.Allow {
			c.Expected = "allowed"
		}
		c.run = func(_ context.Context, _ *site, r *Result) {
			results, err := evaluate()
			if err != nil {
				r.fail("%v", err)
				return
			}
			for _, e := range results {
				if e.Name == p.Name {
					r.evaluation(e)
				}
			}
		}
		cases = append(cases, c)
	}
	return append(cases, Case{lastMac, "mac: what both systems have", "same", func(_ context.Context, _ *site, r *Result) {
		results, err := evaluate()
		if err != nil {
			r.fail("%v", err)
			return
		}
		r.Mechanism, r.Control = evaluatedBy, "ok"
		n := 0
		for _, e := range results {
			if e.Number >= firstMac && e.Number <= lastMac {
				continue
			}
			n++
			if !e.OK() {
				r.fail("%d %s: allowed is %t, by %s", e.Number, e.Name, e.Allowed, e.By)
			}
		}
		r.Got = fmt.Sprintf("%d same", n)
	}})
}

const evaluatedBy = "seatbelt (evaluated)"

// evaluate runs the probes through the profile of the example policy.
func evaluate() ([]sbpl.Result, error) { return sbpl.Check(sbpl.Example()) }

func (r *Result) evaluation(e sbpl.Result) {
	r.Mechanism = evaluatedBy
	r.Got = "denied"
	if e.Allowed {
		r.Got = "ok"
	}
	if !e.OK() {
		r.fail("decided by %s", e.By)
	}
	if e.Allow {
		r.Control = "ok"
		return
	}
	r.controlled(openProfile(e.Probe))
}

// openProfile decides a probe by a profile that allows all that it asks for.
func openProfile(p sbpl.Probe) error {
	text := "(version 1)(deny default)"
	for _, request := range p.Requests {
		text += "(allow " + request.Op + ")"
	}
	profile, err := sbpl.Parse(text, nil)
	if err != nil {
		return err
	}
	for _, request := range p.Requests {
		d, err := profile.Decide(request)
		if err != nil {
			return err
		}
		if !d.Allow {
			return fmt.Errorf("an open profile denies %s", request)
		}
	}
	return nil
}
