package signer

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/asn1"
	"io"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"google.golang.org/protobuf/encoding/protojson"
)

const (
	bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"

	// maxEvidenceBytes bounds one certificate or timestamp. Real ones have about 1 to
	// 8 kB; their parsers recurse, so a deep one must not get to them.
	maxEvidenceBytes = 64 << 10
)

// ReadBundle reads a whole bundle, and no more than limit+1 bytes of one that is
// larger than limit, which is an error of [KindTooLarge]. Errors of r are returned as
// they are.
func ReadBundle(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if err := checkBundleSize(int64(len(data)), limit); err != nil {
		return nil, err
	}
	return data, nil
}

func checkBundleSize(size, limit int64) error {
	if size > limit {
		return fail(KindTooLarge, "check where it comes from; a policy's limits.bundleBytes can raise the limit",
			"bundle: more than %d bytes", limit)
	}
	return nil
}

// maxMembers bounds the members and elements in a bundle. One with all the log entries,
// proofs and timestamps that sigstore-go takes has about 3000. Empty ones, three bytes
// each, would cost twenty times their size in memory.
const maxMembers = 10_000

// checkBundle refuses what would cost more to parse than a bundle is worth. The count
// of commas is no less than that of members beyond the first of each object and list,
// and how deep those nest is bounded by the parser.
func checkBundle(data []byte, limit int64) error {
	if err := checkBundleSize(int64(len(data)), limit); err != nil {
		return err
	}
	if n := bytes.Count(data, []byte(",")); n > maxMembers {
		return fail(KindTooLarge, "check where it comes from", "bundle: about %d members, more than %d", n, maxMembers)
	}
	return nil
}

// envelope is a bundle of the one shape that this package accepts: v0.3, a DSSE
// envelope with one signature and our payload type, and a key hint or one P-256
// certificate. Nothing in it is authenticated yet.
type envelope struct {
	bundle  *bundle.Bundle
	keyID   string            // the hint, without a certificate
	leaf    *x509.Certificate // nil with a key hint
	payload []byte
}

const badBundle = "make the bundle with `steps sign`"

// parseBundle checks sizes first and shape next, so that sigstore-go sees nothing but
// the part of its format that is used here.
func parseBundle(data []byte, limits Limits) (envelope, error) {
	if err := checkBundle(data, limits.BundleBytes); err != nil {
		return envelope{}, err
	}
	proto := new(protobundle.Bundle)
	if err := protojson.Unmarshal(data, proto); err != nil {
		return envelope{}, fail(KindMalformed, badBundle, "bundle: not a Sigstore bundle in JSON: %s", printable(err))
	}
	if proto.GetMediaType() != bundleType {
		return envelope{}, fail(KindUnsupported, badBundle, "bundle: mediaType is %q, want %q", clip(proto.GetMediaType(), 100), bundleType)
	}
	dsse := proto.GetDsseEnvelope()
	switch {
	case dsse == nil:
		return envelope{}, fail(KindMalformed, badBundle, "bundle: signs a bare message, not a DSSE envelope")
	case dsse.GetPayloadType() != payloadType:
		return envelope{}, fail(KindMalformed, badBundle, "bundle: payloadType is %q, want %q", clip(dsse.GetPayloadType(), 100), payloadType)
	case len(dsse.GetSignatures()) != 1:
		return envelope{}, fail(KindMalformed, badBundle, "bundle: %d signatures, want exactly one", len(dsse.GetSignatures()))
	case int64(len(dsse.GetPayload())) > limits.PayloadBytes:
		return envelope{}, fail(KindTooLarge, "shorten the document; a policy's limits.payloadBytes can raise the limit",
			"bundle: payload has %d bytes, more than %d", len(dsse.GetPayload()), limits.PayloadBytes)
	}
	e := envelope{payload: dsse.GetPayload()}
	if err := e.setMaterial(proto.GetVerificationMaterial()); err != nil {
		return envelope{}, err
	}
	b, err := bundle.NewBundle(proto)
	if err != nil {
		// The signature may be fine, and what testifies to it cut off on the way.
		return envelope{}, fail(KindMalformed, "fetch it again, whole; if the signer gave it out like this, have the package signed again",
			"bundle: %s", printable(err))
	}
	e.bundle = b
	return e, nil
}

// setMaterial notes who is said to have signed.
func (e *envelope) setMaterial(material *protobundle.VerificationMaterial) (err error) {
	for i, stamp := range material.GetTimestampVerificationData().GetRfc3161Timestamps() {
		if n := len(stamp.GetSignedTimestamp()); n > maxEvidenceBytes {
			return fail(KindTooLarge, badBundle, "bundle: timestamp %d has %d bytes, more than %d", i+1, n, maxEvidenceBytes)
		}
	}
	switch content := material.GetContent().(type) {
	case *protobundle.VerificationMaterial_PublicKey:
		e.keyID = content.PublicKey.GetHint()
		return nil
	case *protobundle.VerificationMaterial_Certificate:
		e.leaf, err = parseLeaf(content.Certificate.GetRawBytes())
		return err
	case *protobundle.VerificationMaterial_X509CertificateChain:
		return fail(KindUnsupported, "put intermediate certificates into the trust root",
			"bundle: has a chain of certificates, want the leaf alone")
	}
	return fail(KindMalformed, badBundle, "bundle: names no key and has no certificate")
}

// parseLeaf reads a signing certificate and refuses what could be read in two ways.
func parseLeaf(der []byte) (*x509.Certificate, error) {
	const hint = "have it signed again with a P-256 key"
	if len(der) > maxEvidenceBytes {
		return nil, fail(KindTooLarge, badBundle, "bundle: certificate has %d bytes, more than %d", len(der), maxEvidenceBytes)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fail(KindMalformed, badBundle, "bundle: certificate: %s", printable(err))
	}
	if key, ok := leaf.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		return nil, fail(KindUnsupported, hint, "bundle: the certificate's key is not P-256")
	}
	// sigstore-go looks at the first name of a certificate only.
	if n := subjectNames(leaf); n != 1 {
		return nil, fail(KindMalformed, badBundle, "bundle: the certificate has %d subject names, want exactly one", n)
	}
	return leaf, nil
}

var oidSubjectNames = asn1.ObjectIdentifier{2, 5, 29, 17}

func subjectNames(c *x509.Certificate) int {
	for _, x := range c.Extensions {
		var names []asn1.RawValue
		if x.Id.Equal(oidSubjectNames) {
			if rest, err := asn1.Unmarshal(x.Value, &names); err != nil || len(rest) > 0 {
				return 0
			}
			return len(names)
		}
	}
	return 0
}
