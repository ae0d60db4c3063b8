package signer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	policyVersion = 1
	maxGroups     = 8
)

// policyFile is the form of a policy in JSON. Pointers tell absent members from zero
// ones. Comments are for people: JSON has no others.
type policyFile struct {
	Comment  string        `json:"comment"`
	Version  int           `json:"version"`
	Rules    []ruleFile    `json:"rules"`
	Trust    *trustFile    `json:"trust"`
	Index    *indexFile    `json:"index"`
	Homebrew *homebrewFile `json:"homebrewAPI"`
	Limits   limitsFile    `json:"limits"`
	Revoked  revokedFile   `json:"revoked"`
}

type ruleFile struct {
	Comment       string       `json:"comment"`
	Match         matchFile    `json:"match"`
	PredicateType *string      `json:"predicateType"`
	AnyOf         []signerFile `json:"anyOf"`
	AllOf         []groupFile  `json:"allOf"`
}

type matchFile struct {
	Registry string `json:"registry"`
	Package  string `json:"package"`
}

type groupFile struct {
	AnyOf []signerFile `json:"anyOf"`
}

type limitsFile struct {
	BundleBytes  *int64 `json:"bundleBytes"`
	PayloadBytes *int64 `json:"payloadBytes"`
	Steps        *int64 `json:"steps"`
}

// build checks the file and turns it into a Policy.
func (f *policyFile) build() (*Policy, error) {
	if f.Version != policyVersion {
		return nil, policyFault("write \"version\": 1, or update steps", "version is %d, want %d", f.Version, policyVersion)
	}
	if len(f.Rules) == 0 {
		return nil, policyFault("add a rule for each registry you trust", "no rules, so it trusts nobody")
	}
	p := &Policy{}
	for i, rf := range f.Rules {
		r, err := rf.build()
		if err != nil {
			return nil, within(err, "rule %d", i+1)
		}
		for j, earlier := range p.rules {
			if earlier.registry == r.registry && slices.Equal(earlier.packages, r.packages) {
				return nil, policyFault("join them: only the first rule that matches counts",
					"rule %d matches the same as rule %d", i+1, j+1)
			}
		}
		p.rules = append(p.rules, r)
	}
	var err error
	if p.limits, err = f.Limits.build(); err != nil {
		return nil, err
	}
	if p.revoked, err = f.Revoked.build(); err != nil {
		return nil, err
	}
	if f.Trust != nil {
		if p.trust, err = f.Trust.build(); err != nil {
			return nil, within(err, "trust")
		}
	} else if i, needs := p.needsRoot(); needs {
		return nil, policyFault(`add "trust", or ask for less evidence`, "rule %d needs a trust root, but there is no \"trust\"", i+1)
	}
	if f.Index != nil {
		if p.index, err = f.Index.build(); err != nil {
			return nil, within(err, "index")
		}
	}
	if f.Homebrew != nil {
		if p.api, err = f.Homebrew.build(); err != nil {
			return nil, within(err, "homebrewAPI")
		}
	}
	return p, nil
}

// needsRoot finds the first rule that cannot be followed without a trust root.
func (p *Policy) needsRoot() (i int, needs bool) {
	for i, r := range p.rules {
		for _, g := range r.groups {
			for _, key := range g.keys {
				if key.need.needsRoot() {
					return i, true
				}
			}
			if len(g.identities) > 0 {
				return i, true
			}
		}
	}
	return 0, false
}

func (f *ruleFile) build() (r rule, err error) {
	if err := checkRegistry(f.Match.Registry); err != nil {
		return rule{}, within(err, "match")
	}
	r = rule{registry: f.Match.Registry}
	if r.packages, err = parsePattern(f.Match.Package); err != nil {
		return rule{}, within(err, "match")
	}
	// The signers of a rule are for one kind of statement. There is one so far.
	if f.PredicateType != nil && *f.PredicateType != PredicateType {
		return rule{}, policyFault("update steps, or correct it",
			"predicateType %q, but this version knows %s only", clip(*f.PredicateType, 100), PredicateType)
	}
	groups := f.AllOf
	switch {
	case f.AnyOf != nil && f.AllOf != nil:
		return rule{}, policyFault("decide for one", "both anyOf and allOf")
	case f.AllOf == nil:
		groups = []groupFile{{f.AnyOf}}
	case len(f.AllOf) < 2 || len(f.AllOf) > maxGroups:
		return rule{}, policyFault("use anyOf for a single one", "allOf has %d groups of signers, want 2 to %d", len(f.AllOf), maxGroups)
	}
	for i := range groups {
		g, err := groups[i].build(&r)
		if err != nil && f.AllOf != nil {
			err = within(err, "allOf %d", i+1)
		}
		if err != nil {
			return rule{}, err
		}
		r.groups = append(r.groups, g)
	}
	return r, nil
}

// build refuses a signer that r lists already: it could not be told which of the
// windows or groups is meant.
func (f *groupFile) build(r *rule) (group, error) {
	g := group{keys: make(map[string]trustedKey)}
	if len(f.AnyOf) == 0 {
		return g, policyFault("list at least one key or identity", "anyOf is empty")
	}
	for i, s := range f.AnyOf {
		switch {
		case s.Key != nil && s.Keyless != nil, s.Key == nil && s.Keyless == nil:
			return g, policyFault("write {\"key\": {…}} or {\"keyless\": {…}}", "anyOf %d has no key, or more than one signer", i+1)
		case s.Key != nil:
			key, err := s.Key.build()
			if err != nil {
				return g, within(err, "anyOf %d", i+1)
			}
			for _, other := range append(slices.Clone(r.groups), g) {
				if _, twice := other.keys[key.id]; twice {
					return g, policyFault("list it once, with one window", "anyOf %d repeats key %s", i+1, key.id)
				}
			}
			g.keys[key.id] = key
		default:
			id, err := s.Keyless.build()
			if err != nil {
				return g, within(err, "anyOf %d", i+1)
			}
			for _, other := range append(slices.Clone(r.groups), g) {
				if slices.ContainsFunc(other.identities, func(o identity) bool { return o.same(&id) }) {
					return g, policyFault("list it once", "anyOf %d repeats identity %s", i+1, id.String())
				}
			}
			g.identities = append(g.identities, id)
		}
	}
	return g, nil
}

func (f *limitsFile) build() (Limits, error) {
	l := DefaultLimits()
	steps := int64(l.Steps)
	for _, x := range []struct {
		name  string
		given *int64
		limit *int64
		max   int64
	}{
		{"bundleBytes", f.BundleBytes, &l.BundleBytes, maxLimits.BundleBytes},
		{"payloadBytes", f.PayloadBytes, &l.PayloadBytes, maxLimits.PayloadBytes},
		{"steps", f.Steps, &steps, int64(maxLimits.Steps)},
	} {
		if x.given == nil {
			continue
		}
		if *x.given < 1 || *x.given > x.max {
			return Limits{}, policyFault("choose one in that range", "limits: %s %d is not in 1..%d", x.name, *x.given, x.max)
		}
		*x.limit = *x.given
	}
	l.Steps = int(steps)
	return l, nil
}

func policyFault(hint, format string, args ...any) *Error {
	return fail(KindPolicy, hint, format, args...)
}

// within says where in the policy an error arose. Whatever its kind was, it is now a
// bad policy.
func within(err error, format string, args ...any) error {
	where := fmt.Sprintf(format, args...)
	if e, ok := errors.AsType[*Error](err); ok {
		return fail(KindPolicy, e.Hint, "%s: %s", where, e.Msg)
	}
	return err
}

// refuseNull refuses null, which the decoder would take for an absent member.
func refuseNull(data []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(data))
	for {
		token, err := d.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case token.Kind() == jsontext.KindNull:
			return fmt.Errorf("null at %q", clip(string(d.StackPointer()), 100))
		}
	}
}
