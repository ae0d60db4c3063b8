package signer

import (
	"crypto/sha256"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

const maxPolicyBytes = 1 << 20

// Limits bound what [Verify] reads.
type Limits struct {
	BundleBytes  int64 // of the bundle as it is stored; checked before it is parsed
	PayloadBytes int64 // of the signed statement; checked before it is parsed
	Steps        int   // elements of the document's *_steps arrays
}

// DefaultLimits returns the limits that hold where a policy says nothing.
func DefaultLimits() Limits {
	return Limits{BundleBytes: 2 << 20, PayloadBytes: 1 << 20, Steps: 1000}
}

// maxLimits are the highest that a policy may set. Parsing costs about seven times
// the bundle's size in memory.
var maxLimits = Limits{BundleBytes: 16 << 20, PayloadBytes: 8 << 20, Steps: 100_000}

// Policy says whose signatures count for which packages. It is immutable and safe
// for concurrent use. The zero Policy trusts nobody.
type Policy struct {
	rules   []rule
	limits  Limits
	revoked revocations
	digest  [32]byte
}

// rule trusts any of its keys for the packages it matches.
type rule struct {
	registry string
	packages pattern
	keys     map[string]trustedKey // by id
}

// trustedKey is valid from notBefore to notAfter, both included; zero means no bound.
type trustedKey struct {
	publicKey
	notBefore, notAfter time.Time
}

type revocations struct {
	keys    map[string]bool
	digests map[[32]byte]bool // of bundles or their payloads
	purls   map[string]bool
}

// Digest is the sha256 of the bytes the policy was parsed from, for receipts.
func (p *Policy) Digest() [32]byte { return p.digest }

// Limits returns the limits in force.
func (p *Policy) Limits() Limits { return p.limits }

// ParsePolicy reads a trust policy:
//
//	{"version": 1,
//	 "rules": [{"match": {"registry": "https://registry.example", "package": "pkg:generic/acme/*"},
//	            "anyOf": [{"key": {"id": "…", "pem": "-----BEGIN PUBLIC KEY-----…",
//	                               "notBefore": "2026-01-01T00:00:00Z", "notAfter": "2027-01-01T00:00:00Z"}}]}],
//	 "limits": {"bundleBytes": 2097152, "payloadBytes": 1048576, "steps": 1000},
//	 "revoked": {"keys": [], "bundles": [], "purls": []}}
//
// notBefore, notAfter, limits, revoked and their members may be left out. Unknown,
// duplicate and case-variant members, null, invalid UTF-8 and trailing data are
// refused. What no rule matches is not trusted; of several rules that match, only the
// first counts. A registry is compared exactly; in a package, * is a whole segment or
// ends the last one, and never reaches over a slash.
//
// A revoked key is an id. A revoked bundle is the sha256 of the bundle or, better, of
// its payload, which nobody can vary without the key. A revoked purl without
// qualifiers revokes that version with any qualifiers.
func ParsePolicy(data []byte) (*Policy, error) {
	const hint = "correct the policy file; it is strict JSON with known members only"
	if len(data) > maxPolicyBytes {
		return nil, fail(KindPolicy, hint, "policy: %d bytes, more than %d", len(data), maxPolicyBytes)
	}
	if err := refuseNull(data); err != nil {
		return nil, fail(KindPolicy, hint, "policy: %s", printable(err))
	}
	var file policyFile
	if err := json.Unmarshal(data, &file, json.RejectUnknownMembers(true)); err != nil {
		return nil, fail(KindPolicy, hint, "policy: %s", jsonFault(err))
	}
	p, err := file.build()
	if err != nil {
		return nil, within(err, "policy")
	}
	p.digest = sha256.Sum256(data)
	return p, nil
}

// ruleFor returns the rule that decides about a package. Without a registry to go by
// it is the first that matches the package, and that rule's registry is then the only
// one the statement may name.
func (p *Policy) ruleFor(registry string, name purl) (*rule, error) {
	for i := range p.rules {
		r := &p.rules[i]
		if (registry == "" || registry == r.registry) && r.packages.matches(name) {
			return r, nil
		}
	}
	where := ""
	if registry != "" {
		where = " from " + registry
	}
	return nil, fail(KindPolicy, "add a rule for it to the trust policy, if you trust its signer",
		"no rule of the trust policy matches %s%s", name.whole, where)
}

// keyFor returns the rule's key with the id, if it may be used now.
func (p *Policy) keyFor(r *rule, id string, now time.Time) (trustedKey, error) {
	key, ok := r.keys[id]
	switch {
	case p.revoked.keys[id]:
		return key, fail(KindRevoked, "have the package signed again with another key",
			"bundle: the trust policy revokes its key %q", clip(id, 100))
	case !ok:
		return key, fail(KindUntrustedKey, "check where the bundle comes from; if the key is right, add it to the rule",
			"bundle: signed by key %q, which the rule for %s on %s does not list",
			clip(id, 100), strings.Join(r.packages, "/"), r.registry)
	case !key.validAt(now):
		return key, fail(KindExpired, "have the package signed again with a current key, and check this machine's clock",
			"bundle: key %s is valid from %s to %s, but it is %s", id,
			bound(key.notBefore), bound(key.notAfter), now.UTC().Format(time.RFC3339))
	}
	return key, nil
}

// validAt tells whether t is in the key's window.
func (k trustedKey) validAt(t time.Time) bool {
	return (k.notBefore.IsZero() || !t.Before(k.notBefore)) && (k.notAfter.IsZero() || !t.After(k.notAfter))
}

func bound(t time.Time) string {
	if t.IsZero() {
		return "any time"
	}
	return t.UTC().Format(time.RFC3339)
}

func (r *revocations) name(p purl) bool { return r.purls[p.whole] || r.purls[p.versioned] }
