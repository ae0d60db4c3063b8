package signer

import (
	"crypto"
	"fmt"
	"io"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
)

// Signatory is who made a verified signature: a key, or an identity with its issuer.
type Signatory struct {
	KeyID    string // "" for an identity
	Identity string // the certificate's subject alternative name
	Issuer   string
	// Times are the trusted times of the signature that the rule demanded: when
	// authorities of the trust root saw it. They are empty where the policy is content
	// with the clock.
	Times        []time.Time
	BundleSHA256 [32]byte // this copy; others of the same statement differ
}

// String names the signatory for people.
func (s Signatory) String() string {
	if s.KeyID != "" {
		return "key " + s.KeyID
	}
	return s.Identity + " of " + s.Issuer
}

// authenticateKey has sigstore-go check the envelope against the one key, the
// evidence that the policy wants beside it, and the artifact. It returns the statement
// in the payload that was verified.
func (p *Policy) authenticateKey(e envelope, key trustedKey, artifact [32]byte, now time.Time) (*statement, *Signatory, error) {
	ecdsa, err := signature.LoadECDSAVerifier(key.key, crypto.SHA256)
	if err != nil {
		return nil, nil, fail(KindUnsupported, "use a P-256 key", "key %s: %s", key.id, printable(err))
	}
	pinned := &pinnedKey{Verifier: ecdsa, key: key, now: now}
	material, err := pinned.material(key.need, p.root)
	if err != nil {
		return nil, nil, err
	}
	verifier, err := verify.NewVerifier(material, key.need.options()...)
	if err != nil {
		return nil, nil, fail(KindPolicy, "report it as a bug", "key %s: %s", key.id, printable(err))
	}
	result, err := verifier.Verify(e.bundle, verify.NewPolicy(verify.WithArtifactDigest("sha256", artifact[:]), verify.WithKey()))
	switch {
	case err != nil && pinned.outside:
		return nil, nil, fail(KindExpired, "have the package signed again with a current key",
			"bundle: signed when key %s was not valid, which is from %s to %s", key.id, bound(key.notBefore), bound(key.notAfter))
	case err != nil && !pinned.verified:
		return nil, nil, key.need.diagnose(e.bundle, material, "key "+key.id, err)
	}
	s, err := readStatement(e.payload, artifact, err)
	if err != nil {
		return nil, nil, err
	}
	return s, &Signatory{KeyID: key.id, Times: timesOf(result)}, nil
}

// authenticateIdentity does the same for a certificate of the identity.
func (p *Policy) authenticateIdentity(e envelope, id *identity, artifact [32]byte) (*statement, *Signatory, error) {
	if p.root == nil {
		return nil, nil, noTrustRoot()
	}
	who, err := certified(e.leaf)
	if err != nil {
		return nil, nil, err
	}
	wanted, err := id.option()
	if err != nil {
		return nil, nil, fail(KindPolicy, "correct the identity in the trust policy", "identity %s: %s", id, printable(err))
	}
	verifier, err := verify.NewVerifier(p.root.material, id.need.options()...)
	if err != nil {
		return nil, nil, fail(KindPolicy, "report it as a bug", "identity %s: %s", id, printable(err))
	}
	result, err := verifier.Verify(e.bundle, verify.NewPolicy(verify.WithArtifactDigest("sha256", artifact[:]), wanted))
	if err != nil {
		// Is it authentic, and only what it says is wrong?
		if _, again := verifier.Verify(e.bundle, verify.NewPolicy(verify.WithoutArtifactUnsafe(), wanted)); again != nil {
			return nil, nil, id.need.diagnose(e.bundle, p.root.material, id.String(), err)
		}
	}
	s, err := readStatement(e.payload, artifact, err)
	if err != nil {
		return nil, nil, err
	}
	return s, &Signatory{Identity: who.SubjectAlternativeName, Issuer: who.Issuer, Times: timesOf(result)}, nil
}

// readStatement decodes an authentic payload. It may have come with an error of
// sigstore-go about what the payload says, which the strict decoder can word better.
func readStatement(payload []byte, artifact [32]byte, err error) (*statement, error) {
	s, decodeErr := decodeStatement(payload)
	switch {
	case decodeErr != nil:
		return nil, decodeErr
	case s.Predicate.artifact != artifact:
		return nil, fail(KindWrongArtifact, "fetch the package again; if it stays so, do not install",
			"package artifact has sha256 %x, but the bundle was signed for %x", artifact, s.Predicate.artifact)
	case err != nil:
		return nil, fail(KindMalformed, badStatement, "bundle: %s", printable(err))
	}
	return s, nil
}

// timesOf leaves out the machine's own clock, which is nobody's testimony.
func timesOf(r *verify.VerificationResult) (times []time.Time) {
	for _, t := range r.VerifiedTimestamps {
		if t.Type != "CurrentTime" {
			times = append(times, t.Timestamp.UTC())
		}
	}
	return times
}

func noTrustRoot() error {
	return fail(KindTrustRoot, "read the file that the trust policy names, and give it to the verifier",
		"the rule needs the trust root, which was not loaded")
}

// pinnedKey is a trusted key which remembers whether a signature of it was verified,
// and whether it was outside its window.
type pinnedKey struct {
	signature.Verifier
	key      trustedKey
	now      time.Time
	verified bool
	outside  bool
}

var _ root.TimeConstrainedVerifier = (*pinnedKey)(nil)

// ValidAtTime looks at the trusted time t where the rule wants one, and else at the
// caller's clock in place of sigstore-go's.
func (k *pinnedKey) ValidAtTime(t time.Time) bool {
	if k.key.need.current {
		t = k.now
	}
	valid := k.key.validAt(t)
	k.outside = k.outside || !valid
	return valid
}

func (k *pinnedKey) VerifySignature(sig, message io.Reader, opts ...signature.VerifyOption) error {
	err := k.Verifier.VerifySignature(sig, message, opts...)
	k.verified = err == nil
	return err
}

// material is a trust root with this key only, and with the logs and timestamp
// authorities of r if evidence of theirs is wanted.
func (k *pinnedKey) material(need evidence, r *TrustRoot) (root.TrustedMaterial, error) {
	m := &keyMaterial{key: k, TrustedMaterial: new(root.BaseTrustedMaterial)}
	if need.needsRoot() {
		if r == nil {
			return nil, noTrustRoot()
		}
		m.TrustedMaterial = r.material
	}
	return m, nil
}

type keyMaterial struct {
	root.TrustedMaterial
	key *pinnedKey
}

func (m *keyMaterial) PublicKeyVerifier(id string) (root.TimeConstrainedVerifier, error) {
	if id != m.key.key.id {
		return nil, fmt.Errorf("key %q is not trusted", id)
	}
	return m.key, nil
}
