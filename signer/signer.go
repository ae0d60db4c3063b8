package signer

import (
	"context"
	"crypto/ecdsa"
	"sync"
	"time"

	"github.com/sigstore/sigstore-go/pkg/sign"
)

// Signer signs statements in one way: with a key, or with certificates for an
// identity. It is safe for concurrent use.
type Signer struct {
	key           *Key           // nil with certificates
	certification *Certification // nil with a key
	evidence      Evidence
	need          evidence // what evidence has to yield
	now           func() time.Time

	mu      sync.Mutex
	current credentials
}

// Evidence is what a [Signer] collects beside each signature. Package online makes it
// from a Sigstore signing configuration.
type Evidence struct {
	Logs       []sign.Transparency
	Timestamps []*sign.TimestampAuthority
	TrustRoot  *TrustRoot // to check what they return; may be nil if there are none
}

// Certification is how a [Signer] without a key of its own becomes somebody.
type Certification struct {
	// Authority gives a certificate for an identity token, as Fulcio does.
	Authority sign.CertificateProvider
	// Token returns an OpenID Connect identity token. It is asked for each certificate.
	Token func(context.Context) (string, error)
	// Identity and Issuer are what the certificate has to say, exactly.
	Identity, Issuer string
	// Logs is how many certificate logs must have promised to include it.
	Logs int
}

// NewSigner signs with key.
func NewSigner(key *Key, e Evidence) (*Signer, error) {
	s := &Signer{key: key, evidence: e, now: time.Now}
	s.need = evidence{logs: len(e.Logs), stamps: len(e.Timestamps), current: len(e.Timestamps) == 0}
	switch {
	case key == nil:
		return nil, fail(KindMalformed, "make a key with `steps keygen`", "signer: no key")
	case s.need.needsRoot() && e.TrustRoot == nil:
		return nil, fail(KindTrustRoot, "pass the trust root of the services", "signer: logs and timestamps cannot be checked without a trust root")
	}
	return s, nil
}

// NewIdentitySigner signs with certificates for an identity. Each comes with a key
// that is made for it, never stored, and forgotten when the certificate is near its
// end. The signatures need a trusted time, so e has to have timestamps, or logs that
// sign one.
func NewIdentitySigner(c Certification, e Evidence) (*Signer, error) {
	const hint = "pass all that the signing configuration has"
	switch {
	case c.Authority == nil || c.Token == nil:
		return nil, fail(KindMalformed, hint, "signer: no certificate authority, or no identity token")
	case c.Identity == "" || c.Issuer == "":
		return nil, fail(KindMalformed, "pass what the certificates have to say", "signer: identity and issuer are not set")
	case len(e.Timestamps)+len(e.Logs) == 0:
		return nil, fail(KindMalformed, hint, "signer: nobody would testify when a certificate signed")
	case c.Logs < 0:
		return nil, fail(KindMalformed, hint, "signer: %d certificate logs", c.Logs)
	case e.TrustRoot == nil:
		return nil, fail(KindTrustRoot, "pass the trust root of the services", "signer: certificates cannot be checked without a trust root")
	}
	s := &Signer{certification: &c, evidence: e, now: time.Now}
	s.need = evidence{logs: len(e.Logs), times: max(1, len(e.Timestamps)), scts: c.Logs}
	return s, nil
}

// credentials are a key and, for an identity, its certificate.
type credentials struct {
	key         *Key
	certificate []byte
	until       time.Time
}

// certificateRest is how much of a certificate's life is left for the signature to get
// its timestamps and log entries.
const certificateRest = time.Minute

// credentials returns what to sign with now. One certificate serves all signatures of
// its lifetime.
func (s *Signer) credentials(ctx context.Context) (credentials, error) {
	if s.key != nil {
		return credentials{key: s.key}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.key != nil && s.now().Add(certificateRest).Before(s.current.until) {
		return s.current, nil
	}
	next, err := s.certification.certify(ctx)
	if err != nil {
		return credentials{}, err
	}
	s.current = next
	return next, nil
}

// certify gets a certificate for a new key. That it is of the authority that the trust
// root knows is checked with each signature.
func (c *Certification) certify(ctx context.Context) (credentials, error) {
	key, err := GenerateKey()
	if err != nil {
		return credentials{}, err
	}
	token, err := c.Token(ctx)
	if err != nil {
		return credentials{}, serviceFault(ctx, "get an identity token", err)
	}
	der, err := c.Authority.GetCertificate(ctx, possession{keypair{key: key}}, &sign.CertificateProviderOptions{IDToken: token})
	if err != nil {
		return credentials{}, serviceFault(ctx, "get a certificate", err)
	}
	leaf, err := parseLeaf(der)
	if err != nil {
		return credentials{}, err
	}
	who, err := certified(leaf)
	if err != nil {
		return credentials{}, err
	}
	if public, ok := leaf.PublicKey.(*ecdsa.PublicKey); !ok || !public.Equal(key.public.key) {
		return credentials{}, fail(KindService, "check the certificate authority", "the certificate is for another key")
	}
	wanted := identity{issuer: c.Issuer, san: c.Identity}
	if !wanted.matches(who) {
		return credentials{}, fail(KindUntrustedKey, "check the identity token, or correct the configured identity",
			"the certificate is for %q of %q, want %s", clip(who.SubjectAlternativeName, 200), clip(who.Issuer, 100), &wanted)
	}
	return credentials{key: key, certificate: der, until: leaf.NotAfter}, nil
}

// fixedCertificate is a certificate that was got before.
type fixedCertificate []byte

func (c fixedCertificate) GetCertificate(context.Context, sign.Keypair, *sign.CertificateProviderOptions) ([]byte, error) {
	return c, nil
}
