package signer

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

const policyVersion = 1

// policyFile is the form of a policy in JSON. Pointers tell absent members from zero
// ones.
type policyFile struct {
	Version int         `json:"version"`
	Rules   []ruleFile  `json:"rules"`
	Limits  limitsFile  `json:"limits"`
	Revoked revokedFile `json:"revoked"`
}

type ruleFile struct {
	Match matchFile    `json:"match"`
	AnyOf []signerFile `json:"anyOf"`
}

type matchFile struct {
	Registry string `json:"registry"`
	Package  string `json:"package"`
}

type signerFile struct {
	Key *keyFile `json:"key"`
}

type keyFile struct {
	ID        string  `json:"id"`
	PEM       string  `json:"pem"`
	NotBefore *string `json:"notBefore"`
	NotAfter  *string `json:"notAfter"`
}

type limitsFile struct {
	BundleBytes  *int64 `json:"bundleBytes"`
	PayloadBytes *int64 `json:"payloadBytes"`
	Steps        *int64 `json:"steps"`
}

type revokedFile struct {
	Keys    []string `json:"keys"`
	Bundles []string `json:"bundles"`
	PURLs   []string `json:"purls"`
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
	p.revoked, err = f.Revoked.build()
	return p, err
}

func (f *ruleFile) build() (r rule, err error) {
	if err := checkRegistry(f.Match.Registry); err != nil {
		return rule{}, within(err, "match")
	}
	r = rule{registry: f.Match.Registry, keys: make(map[string]trustedKey)}
	if r.packages, err = parsePattern(f.Match.Package); err != nil {
		return rule{}, within(err, "match")
	}
	if len(f.AnyOf) == 0 {
		return rule{}, policyFault("list at least one key", "anyOf is empty")
	}
	for i, s := range f.AnyOf {
		if s.Key == nil {
			return rule{}, policyFault("write {\"key\": {\"id\": …, \"pem\": …}}", "anyOf %d has no key", i+1)
		}
		key, err := s.Key.build()
		if err != nil {
			return rule{}, within(err, "anyOf %d", i+1)
		}
		if _, twice := r.keys[key.id]; twice {
			return rule{}, policyFault("list it once, with one window", "anyOf %d repeats key %s", i+1, key.id)
		}
		r.keys[key.id] = key
	}
	return r, nil
}

func (f *keyFile) build() (k trustedKey, err error) {
	if k.publicKey, err = parsePublicKey([]byte(f.PEM)); err != nil {
		return k, within(err, "pem")
	}
	if f.ID != k.id {
		return k, policyFault("make sure it is the key you mean, then write its id",
			"id is %q but the pem's is %q", clip(f.ID, 100), k.id)
	}
	if k.notBefore, err = parseWindow(f.NotBefore, "notBefore"); err != nil {
		return k, err
	}
	if k.notAfter, err = parseWindow(f.NotAfter, "notAfter"); err != nil {
		return k, err
	}
	if f.NotBefore != nil && f.NotAfter != nil && !k.notBefore.Before(k.notAfter) {
		return k, policyFault("correct the dates", "notBefore is not before notAfter")
	}
	return k, nil
}

func parseWindow(s *string, member string) (time.Time, error) {
	if s == nil {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, *s)
	if err != nil || t.IsZero() {
		return t, policyFault("write it like 2026-01-31T12:00:00Z", "%s %q is not an RFC 3339 time", member, clip(*s, 100))
	}
	return t, nil
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

func (f *revokedFile) build() (revocations, error) {
	r := revocations{
		keys:    make(map[string]bool),
		digests: make(map[[sha256.Size]byte]bool),
		purls:   make(map[string]bool),
	}
	for i, id := range f.Keys {
		sum, err := base64.StdEncoding.DecodeString(id)
		if err != nil || len(sum) != sha256.Size || base64.StdEncoding.EncodeToString(sum) != id {
			return r, policyFault("write the id that `steps keygen` printed", "revoked: key %d, %q, is not a key id", i+1, clip(id, 100))
		}
		r.keys[id] = true
	}
	for i, s := range f.Bundles {
		sum, err := parseDigest(s, "bundle")
		if err != nil {
			return r, within(err, "revoked: bundle %d", i+1)
		}
		r.digests[sum] = true
	}
	for i, s := range f.PURLs {
		p, err := parsePURL(s)
		if err != nil {
			return r, within(err, "revoked: purl %d", i+1)
		}
		r.purls[p.whole] = true
	}
	return r, nil
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
