package signer

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
)

const (
	privatePEMType = "PRIVATE KEY"
	publicPEMType  = "PUBLIC KEY"

	// maxPEMBytes is far above any P-256 key (about 250 bytes) and bounds what the
	// ASN.1 parser sees.
	maxPEMBytes = 16 << 10
)

// Key is an ECDSA P-256 signing key, here or in a device or service. It can be used
// with [Sign] or a [Signer], and that is all: it signs nothing but install-steps
// statements. Printing a Key shows its id, never the secret.
type Key struct {
	private *ecdsa.PrivateKey // nil for a remote key
	remote  RemoteSign
	public  publicKey
}

// RemoteSign signs the SHA-256 of message with a key that is elsewhere, and returns an
// ASN.1 signature. It is called by several goroutines at once.
type RemoteSign func(ctx context.Context, message []byte) ([]byte, error)

// RemoteKey is the key with that public half, which signs by calling sign. What sign
// returns is checked; what it is given is always the encoding of a statement.
func RemoteKey(public crypto.PublicKey, sign RemoteSign) (*Key, error) {
	key, ok := public.(*ecdsa.PublicKey)
	if !ok {
		return nil, wrongAlgorithm("remote key", public)
	}
	half, err := newPublicKey(key, "remote key")
	if err != nil {
		return nil, err
	}
	return &Key{remote: sign, public: half}, nil
}

// publicKey is a P-256 key with its identity.
type publicKey struct {
	key *ecdsa.PublicKey
	der []byte // SubjectPublicKeyInfo
	id  string // base64 of der's sha256
}

// GenerateKey makes a new key from the system's random source.
func GenerateKey() (*Key, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fail(KindMalformed, "try again", "generate P-256 key: %s", printable(err))
	}
	return newKey(private)
}

// ParsePrivateKey reads one unencrypted PKCS#8 PEM block that holds an ECDSA P-256
// key, and nothing before or after it but white space.
func ParsePrivateKey(text []byte) (*Key, error) {
	der, err := decodePEM(text, privatePEMType)
	if err != nil {
		return nil, err
	}
	// x509 ignores what follows the outer structure; we do not.
	var whole asn1.RawValue
	if rest, err := asn1.Unmarshal(der, &whole); err == nil && len(rest) > 0 {
		return nil, fail(KindMalformed, "use the file as the key tool wrote it",
			"private key: %d bytes follow the key inside its PEM block", len(rest))
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fail(KindMalformed, "make a key with `steps keygen`",
			"private key: not PKCS#8: %s", printable(err))
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, wrongAlgorithm("private key", parsed)
	}
	return newKey(private)
}

// MarshalPEM returns the private key as PKCS#8 PEM. Store it where only the signer
// can read it.
func (k *Key) MarshalPEM() ([]byte, error) {
	if k.private == nil {
		return nil, fail(KindUnsupported, "leave it where it is", "key %s is not here and cannot be stored", k.ID())
	}
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return nil, fail(KindMalformed, "make a new key", "encode private key: %s", printable(err))
	}
	return pem.EncodeToMemory(&pem.Block{Type: privatePEMType, Bytes: der}), nil
}

// PublicPEM returns the public half, as a policy's "pem" member holds it.
func (k *Key) PublicPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: publicPEMType, Bytes: k.public.der})
}

// ID returns the key's id: standard base64 of the sha256 of its
// SubjectPublicKeyInfo. Bundles carry it as the key hint.
func (k *Key) ID() string { return k.public.id }

// String and GoString keep the secret out of logs, whatever the format verb.
func (k *Key) String() string   { return "P-256 key " + k.public.id }
func (k *Key) GoString() string { return k.String() }

// signMessage returns an ASN.1 signature over the sha256 of message, and that digest.
func (k *Key) signMessage(ctx context.Context, message []byte) (sig, digest []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	sum := sha256.Sum256(message)
	if k.private != nil {
		sig, err = k.private.Sign(rand.Reader, sum[:], crypto.SHA256)
	} else {
		sig, err = k.remote(ctx, message)
	}
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err != nil:
		return nil, nil, fail(KindService, "check the key", "sign with %s: %s", k, printable(err))
	case k.private == nil && !ecdsa.VerifyASN1(k.public.key, sum[:], sig):
		return nil, nil, fail(KindBadSignature, "check which key the service signs with", "sign with %s: the signature is by another key", k)
	}
	return sig, sum[:], nil
}

func newKey(private *ecdsa.PrivateKey) (*Key, error) {
	public, err := newPublicKey(&private.PublicKey, "private key")
	if err != nil {
		return nil, err
	}
	return &Key{private: private, public: public}, nil
}

// parsePublicKey reads one PEM block that holds a P-256 SubjectPublicKeyInfo in its
// only DER encoding, so that one key cannot have two ids.
func parsePublicKey(text []byte) (publicKey, error) {
	der, err := decodePEM(text, publicPEMType)
	if err != nil {
		return publicKey{}, err
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return publicKey{}, fail(KindMalformed, "paste the public key that `steps keygen` wrote",
			"public key: %s", printable(err))
	}
	key, ok := parsed.(*ecdsa.PublicKey)
	if !ok {
		return publicKey{}, wrongAlgorithm("public key", parsed)
	}
	public, err := newPublicKey(key, "public key")
	if err != nil {
		return publicKey{}, err
	}
	if !bytes.Equal(public.der, der) {
		return publicKey{}, fail(KindMalformed, "paste the public key that `steps keygen` wrote",
			"public key: not in canonical DER")
	}
	return public, nil
}

func newPublicKey(key *ecdsa.PublicKey, what string) (publicKey, error) {
	if key.Curve != elliptic.P256() {
		return publicKey{}, fail(KindUnsupported, "make a P-256 key with `steps keygen`",
			"%s: curve %s, but only P-256 is supported", what, key.Curve.Params().Name)
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return publicKey{}, fail(KindMalformed, "make a new key", "%s: %s", what, printable(err))
	}
	sum := sha256.Sum256(der)
	return publicKey{key: key, der: der, id: base64.StdEncoding.EncodeToString(sum[:])}, nil
}

func wrongAlgorithm(what string, key any) error {
	return fail(KindUnsupported, "make a P-256 key with `steps keygen`",
		"%s: %T, but only ECDSA P-256 is supported", what, key)
}

// decodePEM returns the bytes of the only block in text, which must be of the given
// type and have no headers.
func decodePEM(text []byte, want string) ([]byte, error) {
	const hint = "give one unencrypted PEM block, as `steps keygen` writes it"
	if len(text) > maxPEMBytes {
		return nil, fail(KindTooLarge, hint, "PEM: %d bytes, more than %d", len(text), maxPEMBytes)
	}
	text = bytes.TrimSpace(text)
	if !bytes.HasPrefix(text, []byte("-----BEGIN ")) {
		return nil, fail(KindMalformed, hint, "PEM: does not begin with -----BEGIN %s-----", want)
	}
	block, rest := pem.Decode(text)
	switch {
	case block == nil:
		return nil, fail(KindMalformed, hint, "PEM: no complete block")
	case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
		return nil, fail(KindUnsupported, "decrypt it first (openssl pkcs8 -in KEY -out PLAIN) and protect the file by its mode",
			"PEM: the private key is encrypted")
	case block.Type == "EC PRIVATE KEY" && want == privatePEMType:
		return nil, fail(KindUnsupported, "convert it: openssl pkcs8 -topk8 -nocrypt -in KEY -out PKCS8",
			"PEM: %q is SEC 1, but PKCS#8 (%q) is needed", block.Type, want)
	case block.Type != want:
		return nil, fail(KindMalformed, hint, "PEM: block is %q, want %q", block.Type, want)
	case len(block.Headers) > 0:
		return nil, fail(KindMalformed, hint, "PEM: block has headers")
	case len(rest) > 0:
		return nil, fail(KindMalformed, hint, "PEM: %d bytes follow the block", len(rest))
	}
	// pem.Decode skips a damaged first block and returns a later one.
	if bytes.Count(text, []byte("-----BEGIN ")) != 1 {
		return nil, fail(KindMalformed, hint, "PEM: more than one block")
	}
	return block.Bytes, nil
}
