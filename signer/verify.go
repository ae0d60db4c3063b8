package signer

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"time"
)

// Expectation is what the caller knows about the package from elsewhere: its request,
// its own download, its own clock, state and index. Nothing in it may come from the
// bundle.
type Expectation struct {
	PURL           string    // the package being installed, with version
	Registry       string    // where it comes from; "" leaves it to the policy's rule
	PackageID      string    // the registry's own name for it; "" for any
	ArtifactSHA256 [32]byte  // of the artifact as downloaded
	Now            time.Time // judged against the windows of keys
	MinRevision    int       // the highest revision seen so far, or 0
	Listed         Mark      // what the signed index lists; zero without an index
	State          State     // what was seen before; nil for nothing
}

// Verified is what a bundle says, after every check has passed.
type Verified struct {
	// Document is the signed document, byte for byte. Interpret these bytes; reading
	// the bundle or another file again would undo the verification.
	Document       []byte
	PURL           string
	Registry       string
	PackageID      string // may be ""
	Revision       int
	IssuedAt       time.Time // the signer's claim
	MinInterpreter string
	Capabilities   []string // what the document asks for; sorted
	KeyID          string   // of the first signatory; "" for an identity

	// Signatories are who signed, one for each group of signers that the rule wants,
	// in the rule's order.
	Signatories []Signatory

	PayloadSHA256  [32]byte // identifies the signed statement
	BundleSHA256   [32]byte // of the first signatory
	ArtifactSHA256 [32]byte
	PolicySHA256   [32]byte // of the policy that accepted it
}

// Mark is what a [State] is to record of the statement.
func (v *Verified) Mark() Mark { return Mark{v.Revision, v.PayloadSHA256} }

// Verify checks that bundle holds steps that a signer trusted by policy signed for the
// package and artifact that the caller wants. On any doubt it returns an [*Error] and
// no result. It does not keep or change its arguments.
//
// The order is: sizes, shape, rule, revocation and window of the signer, then evidence,
// signature and artifact digest (sigstore-go), then the same verified bytes through a
// strict decoder, then what they say against what is wanted.
func Verify(bundle []byte, policy *Policy, want Expectation) (*Verified, error) {
	return VerifyAll([][]byte{bundle}, policy, want)
}

// VerifyAll is [Verify] for a rule that wants several signers: it takes one bundle of
// each, in any order, no more and no fewer. They have to say the same of the same
// document; only the times at which they were issued may differ.
func VerifyAll(bundles [][]byte, policy *Policy, want Expectation) (*Verified, error) {
	if policy == nil {
		policy = new(Policy)
	}
	name, err := want.check()
	if err != nil {
		return nil, err
	}
	rule, err := policy.ruleFor(want.Registry, name)
	if err != nil {
		return nil, err
	}
	if len(bundles) != len(rule.groups) {
		return nil, fail(KindIncomplete, "give one bundle of each group of signers",
			"the rule of the trust policy wants %d signatures, got %d", len(rule.groups), len(bundles))
	}
	signed := make([]*signedStatement, len(rule.groups))
	for _, data := range bundles {
		n, s, err := policy.verifyOne(data, rule, want)
		if err != nil {
			return nil, err
		}
		if signed[n] != nil {
			return nil, fail(KindIncomplete, "give one bundle of each group of signers",
				"two bundles are by signers of one group; the rule of the trust policy wants another's")
		}
		signed[n] = s
	}
	for _, s := range signed[1:] {
		if !signed[0].agrees(s) {
			return nil, fail(KindEquivocation, "have the package signed again by all its signers",
				"the bundles are of different statements about %s", name.whole)
		}
	}
	v := signed[0].verified(policy)
	for _, s := range signed {
		v.Signatories = append(v.Signatories, s.by)
	}
	p := &signed[0].statement.Predicate
	if err := policy.accept(v, rule, name, p.steps, want.PackageID); err != nil {
		return nil, err
	}
	if err := checkState(v, p.previous, &want); err != nil {
		return nil, err
	}
	return v, nil
}

// signedStatement is an authentic statement and who signed it.
type signedStatement struct {
	statement *statement
	payload   [32]byte
	by        Signatory
}

// verifyOne returns the statement in a bundle that a signer of the rule's group n
// signed, and that nothing revokes.
func (p *Policy) verifyOne(data []byte, r *rule, want Expectation) (n int, s *signedStatement, err error) {
	env, err := parseBundle(data, p.limits)
	if err != nil {
		return 0, nil, err
	}
	if err := p.revoked.envelope(env); err != nil {
		return 0, nil, err
	}
	n, key, id, err := r.groupFor(env)
	if err != nil {
		return 0, nil, err
	}
	var st *statement
	var by *Signatory
	if key != nil {
		if err := key.checkClock(want.Now); err != nil {
			return 0, nil, err
		}
		st, by, err = p.authenticateKey(env, *key, want.ArtifactSHA256, want.Now)
	} else {
		st, by, err = p.authenticateIdentity(env, id, want.ArtifactSHA256)
	}
	if err != nil {
		return 0, nil, err
	}
	if need := needOf(key, id); need.logs > 0 {
		if err := p.trust.witnesses.check(env); err != nil {
			return 0, nil, err
		}
	}
	if err := p.revoked.signatory(by); err != nil {
		return 0, nil, err
	}
	by.BundleSHA256 = sha256.Sum256(data)
	s = &signedStatement{statement: st, payload: sha256.Sum256(env.payload), by: *by}
	if p.revoked.digests[s.payload] || p.revoked.digests[by.BundleSHA256] {
		return 0, nil, fail(KindRevoked, "update to a later revision or version",
			"bundle: the trust policy revokes it (payload sha256 %x)", s.payload)
	}
	return n, s, nil
}

// needOf is what the rule demands beside the signature of its key or identity.
func needOf(key *trustedKey, id *identity) evidence {
	if key != nil {
		return key.need
	}
	return id.need
}

// agrees tells whether two statements say the same, whenever they were issued.
func (s *signedStatement) agrees(other *signedStatement) bool {
	a, b := &s.statement.Predicate, &other.statement.Predicate
	return a.PURL == b.PURL && a.Registry == b.Registry && a.PackageID == b.PackageID &&
		a.Revision == b.Revision && a.MinInterpreter == b.MinInterpreter && a.previous == b.previous &&
		a.artifact == b.artifact && slices.Equal(a.Capabilities, b.Capabilities) &&
		bytes.Equal(a.Document, b.Document)
}

func (s *signedStatement) verified(policy *Policy) *Verified {
	p := &s.statement.Predicate
	return &Verified{
		Document:       p.Document,
		PURL:           p.PURL,
		Registry:       p.Registry,
		PackageID:      p.PackageID,
		Revision:       p.Revision,
		IssuedAt:       p.issuedAt,
		MinInterpreter: p.MinInterpreter,
		Capabilities:   p.Capabilities,
		KeyID:          s.by.KeyID,
		PayloadSHA256:  s.payload,
		BundleSHA256:   s.by.BundleSHA256,
		ArtifactSHA256: p.artifact,
		PolicySHA256:   policy.digest,
	}
}

// check refuses expectations that would weaken the verification by being unset.
func (want *Expectation) check() (purl, error) {
	const hint = "pass what is known of the package, not what the bundle says"
	switch {
	case want.ArtifactSHA256 == [32]byte{}:
		return purl{}, fail(KindMalformed, hint, "expected artifact digest is not set")
	case want.Now.IsZero():
		return purl{}, fail(KindMalformed, hint, "expected time is not set")
	case want.MinRevision < 0:
		return purl{}, fail(KindMalformed, hint, "expected revision %d is negative", want.MinRevision)
	}
	if want.Registry != "" {
		if err := checkRegistry(want.Registry); err != nil {
			return purl{}, err
		}
	}
	return parsePURL(want.PURL)
}

// accept compares an authentic statement with the package that is wanted, the rule
// and the revocations.
func (p *Policy) accept(v *Verified, r *rule, want purl, steps int, packageID string) error {
	switch {
	case v.PURL != want.whole:
		return fail(KindWrongPackage, "use the bundle of the package you install",
			"bundle: signed for %s, not for %s", v.PURL, want.whole)
	case v.Registry != r.registry:
		return fail(KindWrongPackage, "use the bundle of the registry the package comes from",
			"bundle: signed for registry %s, not for %s", v.Registry, r.registry)
	case packageID != "" && v.PackageID != packageID:
		return fail(KindWrongPackage, "use the bundle of the package you install",
			"bundle: signed for package id %q, not for %q", v.PackageID, packageID)
	case p.revoked.name(want):
		return fail(KindRevoked, "update to another version", "the trust policy revokes %s", want.whole)
	case steps > p.limits.Steps:
		return fail(KindTooLarge, "split the document; a policy's limits.steps can raise the limit",
			"bundle: %d steps, more than %d", steps, p.limits.Steps)
	}
	return nil
}
