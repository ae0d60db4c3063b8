package signer

import (
	"crypto/sha256"
	"time"
)

// Expectation is what the caller knows about the package from elsewhere: its request,
// its own download, its own clock and state. Nothing in it may come from the bundle.
type Expectation struct {
	PURL           string    // the package being installed, with version
	Registry       string    // where it comes from; "" leaves it to the policy's rule
	ArtifactSHA256 [32]byte  // of the artifact as downloaded
	Now            time.Time // judged against the key's window
	MinRevision    int       // the highest revision seen so far, or 0
}

// Verified is what a bundle says, after every check has passed.
type Verified struct {
	// Document is the signed document, byte for byte. Interpret these bytes; reading
	// the bundle or another file again would undo the verification.
	Document     []byte
	PURL         string
	Registry     string
	Revision     int
	IssuedAt     time.Time // the signer's claim
	Capabilities []string  // the signer's claim; sorted
	KeyID        string

	PayloadSHA256  [32]byte // identifies the signed statement
	BundleSHA256   [32]byte // identifies this copy; others of the same statement differ
	ArtifactSHA256 [32]byte
}

// Verify checks that bundle holds steps that a key trusted by policy signed for the
// package and artifact that the caller wants. On any doubt it returns an [*Error] and
// no result. It does not keep or change its arguments.
//
// The order is: sizes, shape, rule, revocation and window of the key, signature and
// artifact digest (sigstore-go), then the same verified bytes through a strict
// decoder, then what they say against what is wanted.
func Verify(bundle []byte, policy *Policy, want Expectation) (*Verified, error) {
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
	env, err := parseBundle(bundle, policy.limits)
	if err != nil {
		return nil, err
	}
	key, err := policy.keyFor(rule, env.keyID, want.Now)
	if err != nil {
		return nil, err
	}
	s, err := authenticate(env, key, want.ArtifactSHA256, want.Now)
	if err != nil {
		return nil, err
	}
	p := &s.Predicate
	v := &Verified{
		Document:       p.Document,
		PURL:           p.PURL,
		Registry:       p.Registry,
		Revision:       p.Revision,
		IssuedAt:       p.issuedAt,
		Capabilities:   p.Capabilities,
		KeyID:          key.id,
		PayloadSHA256:  sha256.Sum256(env.payload),
		BundleSHA256:   sha256.Sum256(bundle),
		ArtifactSHA256: p.artifact,
	}
	if err := policy.accept(v, rule, name, p.steps, want.MinRevision); err != nil {
		return nil, err
	}
	return v, nil
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
func (p *Policy) accept(v *Verified, r *rule, want purl, steps, minRevision int) error {
	switch {
	case v.PURL != want.whole:
		return fail(KindWrongPackage, "use the bundle of the package you install",
			"bundle: signed for %s, not for %s", v.PURL, want.whole)
	case v.Registry != r.registry:
		return fail(KindWrongPackage, "use the bundle of the registry the package comes from",
			"bundle: signed for registry %s, not for %s", v.Registry, r.registry)
	case p.revoked.digests[v.PayloadSHA256] || p.revoked.digests[v.BundleSHA256]:
		return fail(KindRevoked, "update to a later revision or version",
			"bundle: the trust policy revokes it (payload sha256 %x)", v.PayloadSHA256)
	case p.revoked.name(want):
		return fail(KindRevoked, "update to another version", "the trust policy revokes %s", want.whole)
	case v.Revision < minRevision:
		return fail(KindStale, "fetch the current bundle; an older one may be a replay",
			"bundle: revision %d is older than %d, seen before", v.Revision, minRevision)
	case steps > p.limits.Steps:
		return fail(KindTooLarge, "split the document; a policy's limits.steps can raise the limit",
			"bundle: %d steps, more than %d", steps, p.limits.Steps)
	}
	return nil
}
