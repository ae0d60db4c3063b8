package signer

import (
	"bytes"
	"crypto/x509"
	"encoding/hex"
	"strings"
	"time"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
)

// Artifact is what any Sigstore bundle, not only one of ours, is verified for: the
// bytes of a file, or "sha256:" and its digest in hex; and who must have signed it.
type Artifact struct {
	Bytes  []byte
	Digest string // in the place of Bytes

	Identity, Issuer string // of the certificate, or
	PublicKey        []byte // a key in PEM
}

// VerifyArtifact verifies a bundle as the Sigstore client specification asks, under
// one fixed policy: an entry in one transparency log, one trusted time, and for
// certificates one certificate log. It says nothing about install steps: their trust
// policy is for [Verify].
func VerifyArtifact(data []byte, r *TrustRoot, a Artifact) error {
	const hint = "check the file, its bundle and who should have signed it"
	if err := checkBundle(data, maxLimits.BundleBytes); err != nil {
		return err
	}
	if r == nil {
		return noTrustRoot()
	}
	b := new(bundle.Bundle)
	if err := b.UnmarshalJSON(data); err != nil {
		return fail(KindMalformed, hint, "bundle: %s", printable(err))
	}
	content, err := a.content()
	if err != nil {
		return err
	}
	options := []verify.VerifierOption{verify.WithTransparencyLog(1), verify.WithObserverTimestamps(1)}
	var material root.TrustedMaterial = r.material
	var who verify.PolicyOption
	if a.PublicKey != nil {
		key, err := verifierOf(a.PublicKey)
		if err != nil {
			return err
		}
		material = &anyKeyMaterial{r.material, root.NewExpiringKey(key, time.Time{}, time.Time{})}
		who = verify.WithKey()
	} else {
		id, err := verify.NewShortCertificateIdentity(a.Issuer, "", a.Identity, "")
		if err != nil {
			return fail(KindMalformed, hint, "identity: %s", printable(err))
		}
		options = append(options, verify.WithSignedCertificateTimestamps(1))
		who = verify.WithCertificateIdentity(id)
	}
	verifier, err := verify.NewVerifier(material, options...)
	if err != nil {
		return fail(KindMalformed, hint, "bundle: %s", printable(err))
	}
	if _, err := verifier.Verify(b, verify.NewPolicy(content, who)); err != nil {
		return fail(KindEvidence, hint, "bundle: %s", printable(err))
	}
	return nil
}

func (a *Artifact) content() (verify.ArtifactPolicyOption, error) {
	if a.Digest == "" {
		return verify.WithArtifact(bytes.NewReader(a.Bytes)), nil
	}
	text, ok := strings.CutPrefix(a.Digest, "sha256:")
	sum, err := hex.DecodeString(text)
	if !ok || err != nil || len(sum) != 32 {
		return nil, fail(KindMalformed, "write it as sha256: and 64 hex digits", "digest %q is not a sha256", clip(a.Digest, 100))
	}
	return verify.WithArtifactDigest("sha256", sum), nil
}

// verifierOf reads a public key of any kind that Sigstore knows.
func verifierOf(text []byte) (signature.Verifier, error) {
	const hint = "give the signer's public key as PEM"
	der, err := decodePEM(text, publicPEMType)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, fail(KindMalformed, hint, "public key: %s", printable(err))
	}
	verifier, err := signature.LoadDefaultVerifier(key)
	if err != nil {
		return nil, fail(KindUnsupported, hint, "public key: %s", printable(err))
	}
	return verifier, nil
}

// anyKeyMaterial is a trust root with one key, whatever a bundle calls it.
type anyKeyMaterial struct {
	root.TrustedMaterial
	key root.TimeConstrainedVerifier
}

func (m *anyKeyMaterial) PublicKeyVerifier(string) (root.TimeConstrainedVerifier, error) {
	return m.key, nil
}
