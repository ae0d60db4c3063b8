package signer

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
)

func TestKeyRoundTrip(t *testing.T) {
	t.Parallel()
	key, err := GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	text, err := key.MarshalPEM()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParsePrivateKey(text)
	if err != nil {
		t.Fatal(err)
	}
	if !again.private.Equal(key.private) || again.ID() != key.ID() {
		t.Error("the key changed on its way through PEM")
	}
	public, err := parsePublicKey(key.PublicPEM())
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(key.PublicPEM())
	sum := sha256.Sum256(block.Bytes)
	if want := base64.StdEncoding.EncodeToString(sum[:]); public.id != want || key.ID() != want {
		t.Errorf("ids %q and %q, want %q", public.id, key.ID(), want)
	}
}

func TestKeyIsNotPrinted(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	secret := key.private.D.String() //nolint:staticcheck // the secret's decimal form is what a print would show
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		got := fmt.Sprintf(format, key)
		if strings.Contains(got, secret) || !strings.Contains(got, key.ID()) {
			t.Errorf("%s prints %s", format, got)
		}
	}
}

func TestParsePrivateKeyRefuses(t *testing.T) {
	t.Parallel()
	good, err := testKey(t, "signer").MarshalPEM()
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(good)
	encode := func(kind string, der []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	pkcs8 := func(key any, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return encode("PRIVATE KEY", der)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	sec1, sec1Err := x509.MarshalECPrivateKey(testKey(t, "signer").private)
	if err != nil || sec1Err != nil {
		t.Fatal(err, sec1Err)
	}
	for _, tc := range []struct {
		name string
		text []byte
		kind Kind
		want string
	}{
		{"empty", nil, KindMalformed, "does not begin"},
		{"not PEM", []byte("secret"), KindMalformed, "does not begin"},
		{"text before", append([]byte("x\n"), good...), KindMalformed, "does not begin"},
		{"text after", append(bytes.Clone(good), "x"...), KindMalformed, "follow the block"},
		{"two keys", append(bytes.Clone(good), good...), KindMalformed, "follow the block"},
		{"damaged block before", append([]byte("-----BEGIN PRIVATE KEY-----\n"), good...), KindMalformed, "more than one"},
		{"truncated", good[:len(good)/2], KindMalformed, "no complete block"},
		{"huge", bytes.Repeat([]byte("A"), maxPEMBytes+1), KindTooLarge, "more than"},
		{"headers", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Headers: map[string]string{"A": "b"}, Bytes: block.Bytes}), KindMalformed, "headers"},
		{"public", testKey(t, "signer").PublicPEM(), KindMalformed, `"PUBLIC KEY"`},
		{"encrypted PKCS#8", encode("ENCRYPTED PRIVATE KEY", block.Bytes), KindUnsupported, "encrypted"},
		{"encrypted SEC 1", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY",
			Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00"}, Bytes: sec1}), KindUnsupported, "encrypted"},
		{"SEC 1", encode("EC PRIVATE KEY", sec1), KindUnsupported, "SEC 1"},
		{"not PKCS#8", encode("PRIVATE KEY", sec1), KindMalformed, "not PKCS#8"},
		{"bytes after the DER", encode("PRIVATE KEY", append(bytes.Clone(block.Bytes), 5, 0)), KindMalformed, "2 bytes follow"},
		{"RSA", pkcs8(rsa.GenerateKey(rand.Reader, 2048)), KindUnsupported, "rsa"},
		{"Ed25519", pkcs8(ed, nil), KindUnsupported, "ed25519"},
		{"P-384", pkcs8(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)), KindUnsupported, "P-384"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParsePrivateKey(tc.text)
			wantError(t, err, tc.kind, tc.want)
		})
	}
}

func TestParsePublicKeyRefuses(t *testing.T) {
	t.Parallel()
	good := testKey(t, "signer").public.der
	encode := func(der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}) }
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der384, err := x509.MarshalPKIXPublicKey(p384.Public())
	if err != nil {
		t.Fatal(err)
	}
	edPublic, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	edDER, err := x509.MarshalPKIXPublicKey(edPublic)
	if err != nil {
		t.Fatal(err)
	}
	// A NULL inside the outer SEQUENCE: x509 takes it, with another hash.
	longer := append(bytes.Clone(good), 5, 0)
	longer[1] += 2
	offCurve := bytes.Clone(good)
	offCurve[len(offCurve)-1] ^= 1
	for _, tc := range []struct {
		name string
		text []byte
		kind Kind
		want string
	}{
		{"P-384", encode(der384), KindUnsupported, "P-384"},
		{"Ed25519", encode(edDER), KindUnsupported, "ed25519"},
		{"trailing bytes", encode(append(bytes.Clone(good), 5, 0)), KindMalformed, "trailing"},
		{"second encoding", encode(longer), KindMalformed, "canonical"},
		{"point off the curve", encode(offCurve), KindMalformed, "public key"},
		{"no PEM", good, KindMalformed, "does not begin"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := parsePublicKey(tc.text)
			wantError(t, err, tc.kind, tc.want)
		})
	}
}
