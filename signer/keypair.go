package signer

import (
	"bytes"
	"context"
	"crypto"
	"strconv"

	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore-go/pkg/sign"
)

// keypair lets sigstore-go sign one statement with a [Key]. It refuses everything that
// is not the DSSE pre-authentication encoding of that statement: a signature over other
// bytes could be moved into an envelope, because an envelope's signature covers nothing
// but such bytes.
type keypair struct {
	key     *Key
	payload []byte // the statement, which has been checked
}

var _ sign.Keypair = keypair{}

func (p keypair) GetHashAlgorithm() protocommon.HashAlgorithm {
	return protocommon.HashAlgorithm_SHA2_256
}

func (p keypair) GetSigningAlgorithm() protocommon.PublicKeyDetails {
	return protocommon.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256
}

func (p keypair) GetHint() []byte                  { return []byte(p.key.public.id) }
func (p keypair) GetKeyAlgorithm() string          { return "ECDSA" }
func (p keypair) GetPublicKey() crypto.PublicKey   { return p.key.public.key }
func (p keypair) GetPublicKeyPem() (string, error) { return string(p.key.PublicPEM()), nil }

// SignData returns the signature over data and the digest that was signed.
func (p keypair) SignData(ctx context.Context, data []byte) (signature, digest []byte, err error) {
	payload, ok := cutPAE(data)
	if !ok || len(payload) == 0 || !bytes.Equal(payload, p.payload) {
		return nil, nil, fail(KindMalformed, "sign through Sign; this key serves no other purpose",
			"refusing to sign: the data is not the DSSE encoding of the statement, of type %s", payloadType)
	}
	return p.key.signMessage(ctx, data)
}

// possession lets a certificate authority see that we hold a key: it signs the name
// that the certificate will be for, and nothing that could be an envelope's encoding.
// It is for keys that live no longer than their certificate.
type possession struct{ keypair }

func (p possession) SignData(ctx context.Context, data []byte) (signature, digest []byte, err error) {
	if len(data) > maxNameBytes || bytes.HasPrefix(data, []byte("DSSEv1")) {
		return nil, nil, fail(KindMalformed, "check the identity token", "refusing to sign: %q is not a name", clip(string(data), 100))
	}
	return p.key.signMessage(ctx, data)
}

// cutPAE returns the payload of a DSSE pre-authentication encoding
// "DSSEv1 SP LEN(type) SP type SP LEN(body) SP body" with our payload type.
func cutPAE(data []byte) (payload []byte, ok bool) {
	prefix := "DSSEv1 " + strconv.Itoa(len(payloadType)) + " " + payloadType + " "
	rest, ok := bytes.CutPrefix(data, []byte(prefix))
	if !ok {
		return nil, false
	}
	length, body, ok := bytes.Cut(rest, []byte(" "))
	return body, ok && string(length) == strconv.Itoa(len(body))
}
