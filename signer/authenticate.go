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

// authenticate has sigstore-go check the envelope against the one key and the
// artifact, and returns the statement in the payload that was verified.
func authenticate(e envelope, key trustedKey, artifact [32]byte, now time.Time) (*statement, error) {
	const hint = "fetch the bundle again; if it stays so, someone altered it: do not install"
	ecdsa, err := signature.LoadECDSAVerifier(key.key, crypto.SHA256)
	if err != nil {
		return nil, fail(KindUnsupported, "use a P-256 key", "key %s: %s", key.id, printable(err))
	}
	pinned := &pinnedKey{Verifier: ecdsa, key: key, now: now}
	// Current time, not "no timestamps": only then is the key's window looked at.
	verifier, err := verify.NewVerifier(pinned.material(), verify.WithCurrentTime(), verify.WithoutStatementPredicate())
	if err != nil {
		return nil, fail(KindBadSignature, hint, "bundle: %s", printable(err))
	}
	_, err = verifier.Verify(e.bundle, verify.NewPolicy(verify.WithArtifactDigest("sha256", artifact[:]), verify.WithKey()))
	if !pinned.verified {
		return nil, fail(KindBadSignature, hint, "bundle: the signature is not by key %s over this payload", key.id)
	}
	// The payload is authentic; a remaining error is about what it says, and the
	// strict decoder can say it better.
	s, decodeErr := decodeStatement(e.payload)
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

// pinnedKey is a trusted key whose window is judged at a fixed time, and which
// remembers whether a signature of it was verified.
type pinnedKey struct {
	signature.Verifier
	key      trustedKey
	now      time.Time
	verified bool
}

var _ root.TimeConstrainedVerifier = (*pinnedKey)(nil)

// ValidAtTime ignores sigstore-go's idea of the current time in favour of the caller's.
func (k *pinnedKey) ValidAtTime(time.Time) bool { return k.key.validAt(k.now) }

func (k *pinnedKey) VerifySignature(sig, message io.Reader, opts ...signature.VerifyOption) error {
	err := k.Verifier.VerifySignature(sig, message, opts...)
	k.verified = err == nil
	return err
}

// material is a trust root with this key only.
func (k *pinnedKey) material() root.TrustedMaterial {
	return root.NewTrustedPublicKeyMaterial(func(id string) (root.TimeConstrainedVerifier, error) {
		if id != k.key.id {
			return nil, fmt.Errorf("key %q is not trusted", id)
		}
		return k, nil
	})
}
