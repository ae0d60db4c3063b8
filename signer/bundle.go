package signer

import (
	"io"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"google.golang.org/protobuf/encoding/protojson"
)

const bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"

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

// envelope is a bundle of the one shape that this package accepts: v0.3, a DSSE
// envelope with one signature and our payload type, a key hint, and no other
// evidence. Nothing in it is authenticated yet.
type envelope struct {
	bundle  *bundle.Bundle
	keyID   string
	payload []byte
}

// parseBundle checks sizes first and shape next, so that sigstore-go sees nothing but
// the part of its format that is used here.
func parseBundle(data []byte, limits Limits) (envelope, error) {
	const hint = "make the bundle with `steps sign`"
	if err := checkBundleSize(int64(len(data)), limits.BundleBytes); err != nil {
		return envelope{}, err
	}
	proto := new(protobundle.Bundle)
	if err := protojson.Unmarshal(data, proto); err != nil {
		return envelope{}, fail(KindMalformed, hint, "bundle: not a Sigstore bundle in JSON: %s", printable(err))
	}
	if proto.GetMediaType() != bundleType {
		return envelope{}, fail(KindUnsupported, hint, "bundle: mediaType is %q, want %q", clip(proto.GetMediaType(), 100), bundleType)
	}
	material := proto.GetVerificationMaterial()
	switch material.GetContent().(type) {
	case *protobundle.VerificationMaterial_PublicKey:
	case *protobundle.VerificationMaterial_Certificate, *protobundle.VerificationMaterial_X509CertificateChain:
		return envelope{}, fail(KindUnsupported, "have it signed with a key that the trust policy lists",
			"bundle: signed with a certificate (keyless), which this version cannot verify")
	default:
		return envelope{}, fail(KindMalformed, hint, "bundle: names no key")
	}
	if len(material.GetTlogEntries()) > 0 || material.GetTimestampVerificationData() != nil {
		return envelope{}, fail(KindUnsupported, hint,
			"bundle: has log entries or timestamps, which this version cannot verify and will not ignore")
	}
	dsse := proto.GetDsseEnvelope()
	switch {
	case dsse == nil:
		return envelope{}, fail(KindMalformed, hint, "bundle: signs a bare message, not a DSSE envelope")
	case dsse.GetPayloadType() != payloadType:
		return envelope{}, fail(KindMalformed, hint, "bundle: payloadType is %q, want %q", clip(dsse.GetPayloadType(), 100), payloadType)
	case len(dsse.GetSignatures()) != 1:
		return envelope{}, fail(KindMalformed, hint, "bundle: %d signatures, want exactly one", len(dsse.GetSignatures()))
	case int64(len(dsse.GetPayload())) > limits.PayloadBytes:
		return envelope{}, fail(KindTooLarge, "shorten the document; a policy's limits.payloadBytes can raise the limit",
			"bundle: payload has %d bytes, more than %d", len(dsse.GetPayload()), limits.PayloadBytes)
	}
	b, err := bundle.NewBundle(proto)
	if err != nil {
		return envelope{}, fail(KindMalformed, hint, "bundle: %s", printable(err))
	}
	return envelope{bundle: b, keyID: material.GetPublicKey().GetHint(), payload: dsse.GetPayload()}, nil
}
