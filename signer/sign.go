package signer

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/sign"
)

// Request is what a registry says about a package's install steps.
type Request struct {
	Registry       string    // https URL, no trailing slash
	PURL           string    // canonical package URL with version
	Revision       int       // of the steps for this package version, from 1
	IssuedAt       time.Time // kept in UTC and whole seconds
	Capabilities   []string  // what the document asks for; a set, order is lost
	Document       []byte    // the steps, one JSON object; kept to the byte
	ArtifactSHA256 [32]byte  // of the package artifact
}

// Sign returns a Sigstore bundle v0.3 in JSON that binds the request's document to
// its package. The bundle has been verified, with the code and the largest limits of
// [Verify], before it is returned. A document beyond a client's own limits (see
// [DefaultLimits]) is signed but refused there.
//
// The errors are of type [*Error], or the context's.
func Sign(ctx context.Context, key *Key, r Request) ([]byte, error) {
	s, err := newStatement(r)
	if err != nil {
		return nil, err
	}
	payload, err := encodeStatement(s)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	content := &sign.DSSEData{Data: payload, PayloadType: payloadType}
	signed, err := sign.Bundle(content, keypair{key}, sign.BundleOptions{Context: ctx})
	if err != nil {
		return nil, err // from keypair.SignData, the only part that can fail
	}
	out, err := (&bundle.Bundle{Bundle: signed}).MarshalJSON()
	if err != nil {
		return nil, fail(KindMalformed, "check the request", "encode bundle: %s", printable(err))
	}
	// protojson varies its white space from build to build on purpose.
	if err := (*jsontext.Value)(&out).Compact(); err != nil {
		return nil, fail(KindMalformed, "check the request", "encode bundle: %s", printable(err))
	}
	if _, err := Verify(out, policyFor(key, s), Expectation{
		PURL:           r.PURL,
		Registry:       r.Registry,
		ArtifactSHA256: r.ArtifactSHA256,
		Now:            s.Predicate.issuedAt,
		MinRevision:    r.Revision,
	}); err != nil {
		return nil, err
	}
	return out, nil
}

// policyFor trusts key for the package of s and nothing else.
func policyFor(key *Key, s *statement) *Policy {
	name, _ := cutCoordinates(s.Predicate.purl.coordinates)
	return &Policy{
		limits: maxLimits,
		rules: []rule{{
			registry: s.Predicate.Registry,
			packages: name,
			keys:     map[string]trustedKey{key.ID(): {publicKey: key.public}},
		}},
	}
}
