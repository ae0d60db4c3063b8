package signer

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/sign"
)

// Request is what a registry says about a package's install steps.
type Request struct {
	Registry       string    // https URL, no trailing slash
	PURL           string    // canonical package URL with version
	Revision       int       // of the steps for this package version, from 1
	IssuedAt       time.Time // kept in UTC and whole seconds
	Capabilities   []string  // what the document asks for, exactly; order is lost
	Document       []byte    // the steps, one JSON object; kept to the byte
	ArtifactSHA256 [32]byte  // of the package artifact
	PackageID      string    // the registry's own name for the package; may be ""
	Previous       [32]byte  // Verified.PayloadSHA256 of the revision before; may be zero
	MinInterpreter string    // "" for [Interpreter]

	// Checked is what [CheckDocument] made of Document; nil if it was not asked.
	Checked *CheckedDocument
}

// Sign returns a Sigstore bundle v0.3 in JSON that binds the request's document to
// its package, signed by key and with no other evidence. See [Signer.Sign].
func Sign(ctx context.Context, key *Key, r Request) ([]byte, error) {
	s, err := NewSigner(key, Evidence{})
	if err != nil {
		return nil, err
	}
	return s.Sign(ctx, r)
}

// Sign returns a Sigstore bundle v0.3 in JSON that binds the request's document to
// its package. The bundle has been verified before it is returned, as it will be read
// by others: signer, signature, and as much evidence as the Signer collects, with the
// code and the largest limits of [Verify]. Without evidence there is no more to verify
// than that the bundle, read again, has this key's signature over the statement that
// was checked before it was signed; no policy is asked then. A document beyond a
// client's own limits (see [DefaultLimits]) is signed but refused there.
//
// The errors are of type [*Error], or the context's. After one of [KindService] the
// same request may be tried again.
func (s *Signer) Sign(ctx context.Context, r Request) ([]byte, error) {
	st, err := newStatement(r)
	if err != nil {
		return nil, err
	}
	payload, err := encodeStatement(st)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	with, err := s.credentials(ctx)
	if err != nil {
		return nil, err
	}
	options := sign.BundleOptions{
		Context:              ctx,
		TimestampAuthorities: s.evidence.Timestamps,
		TransparencyLogs:     s.evidence.Logs,
	}
	if with.certificate != nil {
		options.CertificateProvider = fixedCertificate(with.certificate)
	}
	content := &sign.DSSEData{Data: payload, PayloadType: payloadType}
	signed, err := sign.Bundle(content, keypair{with.key, payload}, options)
	if err != nil {
		return nil, serviceFault(ctx, "sign", err)
	}
	if s.bare() {
		out := encodeBare(signed)
		if err := checkOwn(out, payload, with.key); err != nil {
			return nil, err
		}
		return out, nil
	}
	out, err := encodeBundle(signed)
	if err != nil {
		return nil, err
	}
	if _, err := Verify(out, s.policyFor(with.key, st), Expectation{
		PURL:           r.PURL,
		Registry:       r.Registry,
		PackageID:      r.PackageID,
		ArtifactSHA256: r.ArtifactSHA256,
		Now:            st.Predicate.issuedAt,
		MinRevision:    r.Revision,
	}); err != nil {
		return nil, err
	}
	return out, nil
}

// bare tells that a key signs and nobody else testifies.
func (s *Signer) bare() bool {
	return s.key != nil && len(s.evidence.Logs)+len(s.evidence.Timestamps) == 0
}

// checkOwn reads a finished bundle of one signature as a client does, and verifies that
// key signed payload in it.
func checkOwn(data, payload []byte, key *Key) error {
	e, err := parseBundle(data, maxLimits)
	if err != nil {
		return err
	}
	signed := sha256.Sum256((&sign.DSSEData{Data: e.payload, PayloadType: payloadType}).PreAuthEncoding())
	signature := e.bundle.GetDsseEnvelope().GetSignatures()[0].GetSig()
	if e.keyID != key.ID() || !bytes.Equal(e.payload, payload) || !ecdsa.VerifyASN1(key.public.key, signed[:], signature) {
		return fail(KindBadSignature, "sign again; if it stays so, check this machine's memory", "the new bundle does not have the signature of %s over the statement", key)
	}
	return nil
}

// encodeBare is encodeBundle for a bundle of a key's signature and no evidence. It makes
// the same bytes, in a tenth of the time; nothing in them needs an escape.
func encodeBare(b *protobundle.Bundle) []byte {
	e := b.GetDsseEnvelope()
	out := make([]byte, 0, base64.StdEncoding.EncodedLen(len(e.GetPayload()))+512)
	out = append(out, `{"mediaType":"`+bundleType+`","verificationMaterial":{"publicKey":{"hint":"`...)
	out = append(out, b.GetVerificationMaterial().GetPublicKey().GetHint()...)
	out = append(out, `"}},"dsseEnvelope":{"payload":"`...)
	out = base64.StdEncoding.AppendEncode(out, e.GetPayload())
	out = append(out, `","payloadType":"`+payloadType+`","signatures":[{"sig":"`...)
	out = base64.StdEncoding.AppendEncode(out, e.GetSignatures()[0].GetSig())
	return append(out, `"}]}}`...)
}

func encodeBundle(b *protobundle.Bundle) ([]byte, error) {
	out, err := (&bundle.Bundle{Bundle: b}).MarshalJSON()
	if err != nil {
		return nil, fail(KindMalformed, "check the request", "encode bundle: %s", printable(err))
	}
	// protojson varies its white space from build to build on purpose.
	if err := (*jsontext.Value)(&out).Compact(); err != nil {
		return nil, fail(KindMalformed, "check the request", "encode bundle: %s", printable(err))
	}
	return out, nil
}

// serviceFault keeps our own errors and the context's, and words the others.
func serviceFault(ctx context.Context, what string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fail(KindService, "try again, and check the signing services", "%s: %s", what, printable(err))
}

// policyFor trusts this signer for the package of st and nothing else.
func (s *Signer) policyFor(key *Key, st *statement) *Policy {
	name, _ := cutCoordinates(st.Predicate.purl.coordinates)
	g := group{keys: map[string]trustedKey{key.ID(): {publicKey: key.public, need: s.need}}}
	if s.certification != nil {
		g = group{identities: []identity{{issuer: s.certification.Issuer, san: s.certification.Identity, need: s.need}}}
	}
	return &Policy{
		limits: maxLimits,
		root:   s.evidence.TrustRoot,
		rules:  []rule{{registry: st.Predicate.Registry, packages: name, groups: []group{g}}},
	}
}
