package signer

import (
	"crypto/sha256"

	"github.com/sigstore/sigstore-go/pkg/root"
)

const maxTrustRootBytes = 4 << 20

// TrustRoot holds the certificate authorities, logs and timestamp authorities of one
// Sigstore deployment. It is immutable and safe for concurrent use.
type TrustRoot struct {
	material *root.TrustedRoot
	digest   [32]byte
}

// ParseTrustRoot reads a Sigstore trusted_root.json. Whether it is the right one is
// for the caller to know; a [Policy] pins it by digest.
func ParseTrustRoot(data []byte) (*TrustRoot, error) {
	const hint = "give the trusted_root.json of the Sigstore deployment"
	if len(data) > maxTrustRootBytes {
		return nil, fail(KindTooLarge, hint, "trust root: %d bytes, more than %d", len(data), maxTrustRootBytes)
	}
	material, err := root.NewTrustedRootFromJSON(data)
	if err != nil {
		return nil, fail(KindMalformed, hint, "trust root: %s", printable(err))
	}
	return &TrustRoot{material: material, digest: sha256.Sum256(data)}, nil
}

// Digest is the sha256 of the bytes the trust root was parsed from.
func (r *TrustRoot) Digest() [32]byte { return r.digest }

// TrustRootFile is the path that the policy names for its trust root, or "" where no
// rule needs one. Read it, and give the bytes to [Policy.WithTrustRoot].
func (p *Policy) TrustRootFile() string { return p.trust.path }

// WithTrustRoot returns a policy that verifies with the trust root in data. Other
// bytes than the policy pins are an error of [KindTrustRoot]. Rules that need no trust
// root work without.
func (p *Policy) WithTrustRoot(data []byte) (*Policy, error) {
	if p.trust.path == "" {
		return nil, fail(KindPolicy, `add "trust" to the policy`, "the trust policy names no trust root")
	}
	if sum := sha256.Sum256(data); sum != p.trust.sha256 {
		return nil, fail(KindTrustRoot, "restore the file, or, if the new one is right, write its sha256 into the trust policy",
			"trust root %s has sha256 %x, but the trust policy pins %x", p.trust.path, sum, p.trust.sha256)
	}
	r, err := ParseTrustRoot(data)
	if err != nil {
		return nil, err
	}
	q := *p
	q.root = r
	return &q, nil
}
