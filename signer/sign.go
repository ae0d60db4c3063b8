package signer

import (
	"context"
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
// its package. The bundle has been verified, with the code and the largest limits of
// [Verify], before it is returned: signer, signature, and as much evidence as the
// Signer collects. A document beyond a client's own limits (see [DefaultLimits]) is
// signed but refused there.
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
