package signer

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"strconv"

	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore-go/pkg/sign"
)

// keypair lets sigstore-go sign with a [Key]. It refuses everything that is not the
// DSSE pre-authentication encoding of a well-formed install-steps statement: a
// signature over other bytes could be moved into an envelope, because an envelope's
// signature covers nothing but such bytes.
type keypair struct{ key *Key }

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
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	payload, ok := cutPAE(data)
	if !ok {
		return nil, nil, fail(KindMalformed, "sign through Sign; this key serves no other purpose",
			"refusing to sign: the data is not a DSSE encoding of type %s", payloadType)
	}
	if _, err := decodeStatement(payload); err != nil {
		return nil, nil, err
	}
	sum := sha256.Sum256(data)
	signature, err = p.key.private.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		return nil, nil, fail(KindBadSignature, "check the key", "sign with %s: %s", p.key, printable(err))
	}
	return signature, sum[:], nil
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
