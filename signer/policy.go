package signer

import (
	"crypto/sha256"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
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
	trust   trustPin
	root    *TrustRoot
	index   *Index
	api     *apiTrust
	digest  [32]byte
}

// trustPin names a trust root and says what is in it, and who watches its logs.
type trustPin struct {
	path      string
	sha256    [32]byte
	witnesses witnesses
}

// rule trusts signatures for the packages it matches, if each of its groups made one.
type rule struct {
	registry string
	packages pattern
	groups   []group
}

// group is a set of signers of which any one will do.
type group struct {
	keys       map[string]trustedKey // by id
	identities []identity
}

// trustedKey is valid from notBefore to notAfter, both included; zero means no bound.
type trustedKey struct {
	publicKey
	notBefore, notAfter time.Time
	need                evidence
}

type revocations struct {
	keys       map[string]bool
	digests    map[[32]byte]bool // of bundles or their payloads
	purls      map[string]bool
	entries    map[logEntry]bool
	identities []revokedIdentity
}

// logEntry is a place in a transparency log.
type logEntry struct {
	log   [32]byte // sha256 of the log's public key
	index int64
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
//	                               "notBefore": "2026-01-01T00:00:00Z", "notAfter": "2027-01-01T00:00:00Z"}},
//	                      {"keyless": {"issuer": "https://oidc.example", "san": "https://…"}}]}],
//	 "trust": {"mode": "file", "trustedRoot": "/etc/steps/trusted_root.json", "sha256": "…"},
//	 "limits": {"bundleBytes": 2097152, "payloadBytes": 1048576, "steps": 1000},
//	 "revoked": {"keys": [], "bundles": [], "purls": [], "logEntries": [], "identities": []}}
//
// Only version and rules have to be there. The policy, rules, keys, identities and
// sources may have a "comment". Unknown, duplicate and case-variant members, null,
// invalid UTF-8 and trailing data are refused. What no rule matches is
// not trusted; of several rules that match, only the first counts. A registry is
// compared exactly; in a package, * is a whole segment or ends the last one, and never
// reaches over a slash. The schema of trust policies has the members one by one.
//
// "trust" may have "witnesses": {"threshold": 2, "keys": […]}: then each log entry that
// a rule demands has to have a checkpoint which that many of them cosigned.
//
// A rule may have "allOf", a list of {"anyOf": […]}, in the place of "anyOf": then a
// signer of each is needed, and [VerifyAll] takes their bundles.
//
// A key is judged by the clock, or with "time": "tsa" by the time that a timestamp
// authority of the trust root saw its signature. An identity is always judged by
// trusted times: "timestamps" of them (1), of timestamp authorities or of logs. It is
// also to be in "tlog" transparency logs (1) and "sct" certificate logs (1). Its "san"
// is compared exactly; "sanPattern" is a regular expression for all of it.
//
// A revoked key is an id. A revoked bundle is the sha256 of the bundle or, better, of
// its payload, which nobody can vary without the key. A revoked purl without
// qualifiers revokes that version with any qualifiers. A revoked log entry only counts
// where the rule demands logs, for else it can be left out of the bundle. A revoked
// identity with "after" stays trusted for what was signed before.
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

// groupFor returns the group of the rule that lists the signer of e, with the key or
// identity it lists. Nothing is verified yet.
func (r *rule) groupFor(e envelope) (n int, key *trustedKey, id *identity, err error) {
	where := strings.Join(r.packages, "/") + " on " + r.registry
	if e.leaf == nil {
		for n := range r.groups {
			if key, ok := r.groups[n].keys[e.keyID]; ok {
				return n, &key, nil, nil
			}
		}
		return 0, nil, nil, fail(KindUntrustedKey, "check where the bundle comes from; if the key is right, add it to the rule",
			"bundle: signed by key %q, which the rule for %s does not list", clip(e.keyID, 100), where)
	}
	who, err := certified(e.leaf)
	if err != nil {
		return 0, nil, nil, err
	}
	for n := range r.groups {
		for i := range r.groups[n].identities {
			if id := &r.groups[n].identities[i]; id.matches(who) {
				return n, nil, id, nil
			}
		}
	}
	if want := r.otherBuild(who); want != "" {
		return 0, nil, nil, fail(KindUntrustedKey, "check where the bundle comes from; if the build is right, correct buildSigner in the rule",
			"bundle: signed by %q, which the rule for %s lists, but its certificate says buildSigner %q, not %q",
			clip(who.SubjectAlternativeName, 200), where, clip(who.BuildSignerURI, 200), want)
	}
	return 0, nil, nil, fail(KindUntrustedKey, "check where the bundle comes from; if the identity is right, add it to the rule",
		"bundle: signed by %q of issuer %q, which the rule for %s does not list",
		clip(who.SubjectAlternativeName, 200), clip(who.Issuer, 200), where)
}

// otherBuild is the build that the rule wants of somebody whom it lists but for that.
func (r *rule) otherBuild(who certificate.Summary) string {
	for _, g := range r.groups {
		for _, id := range g.identities {
			want := id.buildSigner
			if id.buildSigner = ""; want != "" && id.matches(who) {
				return want
			}
		}
	}
	return ""
}

// checkClock refuses a key that is judged by the clock and is outside its window.
func (key *trustedKey) checkClock(now time.Time) error {
	if key.need.current && !key.validAt(now) {
		return fail(KindExpired, "have the package signed again with a current key, and check this machine's clock",
			"bundle: key %s is valid from %s to %s, but it is %s", key.id,
			bound(key.notBefore), bound(key.notAfter), now.UTC().Format(time.RFC3339))
	}
	return nil
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

// envelope refuses what is revoked by its outside, before anything is verified.
func (r *revocations) envelope(e envelope) error {
	if e.leaf == nil && r.keys[e.keyID] {
		return fail(KindRevoked, "have the package signed again with another key",
			"bundle: the trust policy revokes its key %q", clip(e.keyID, 100))
	}
	for _, entry := range e.bundle.GetVerificationMaterial().GetTlogEntries() {
		place := logEntry{index: entry.GetLogIndex()}
		if copy(place.log[:], entry.GetLogId().GetKeyId()) == len(place.log) && r.entries[place] {
			return fail(KindRevoked, "update to a later revision or version",
				"bundle: the trust policy revokes entry %d of log %x", place.index, place.log)
		}
	}
	return nil
}

// signatory refuses an authentic signature of a revoked identity.
func (r *revocations) signatory(s *Signatory) error {
	for i := range r.identities {
		if r.identities[i].covers(s) {
			return fail(KindRevoked, "have the package signed again by another identity",
				"bundle: the trust policy revokes %s of %s", s.Identity, s.Issuer)
		}
	}
	return nil
}
