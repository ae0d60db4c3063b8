package signer

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
)

const (
	testRegistry = "https://registry.example"
	testPURL     = "pkg:generic/acme/foo@1.2.3?arch=amd64&os=linux"
	testDocument = `{"schema": 1, "layout":"homebrew-formula","name":"foo", "post_install_steps": [ ` +
		`{"type":"mkdir_p","path":{"base":"var","path":"caf\u00e9"}}, ` +
		`{"type":"run","command":{"base":"bin","path":"x"},"network_access":true} ]}`
)

var (
	testArtifact = sha256.Sum256([]byte("the artifact"))
	testTime     = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
)

// testKey derives a key from a name, so that fuzzing workers agree on it.
func testKey(t testing.TB, name string) *Key {
	t.Helper()
	scalar := sha256.Sum256([]byte(name))
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar[:])
	if err != nil {
		t.Fatal(err)
	}
	key, err := newKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func testRequest() Request {
	return Request{
		Registry:       testRegistry,
		PURL:           testPURL,
		Revision:       7,
		IssuedAt:       testTime,
		Capabilities:   []string{"run", "network"},
		Document:       []byte(testDocument),
		ArtifactSHA256: testArtifact,
	}
}

func testWant() Expectation {
	return Expectation{PURL: testPURL, ArtifactSHA256: testArtifact, Now: testTime}
}

func mustSign(t testing.TB, key *Key, r Request) []byte {
	t.Helper()
	out, err := Sign(t.Context(), key, r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// policyMap is the policy under test as a generic JSON value, for tests to bend.
func policyMap(keys ...*Key) map[string]any {
	var anyOf []any
	for _, key := range keys {
		anyOf = append(anyOf, map[string]any{"key": map[string]any{"id": key.ID(), "pem": string(key.PublicPEM())}})
	}
	return map[string]any{
		"version": 1,
		"rules": []any{map[string]any{
			"match": map[string]any{"registry": testRegistry, "package": "pkg:generic/acme/*"},
			"anyOf": anyOf,
		}},
	}
}

func mustPolicy(t testing.TB, value any) *Policy {
	t.Helper()
	p, err := ParsePolicy(mustJSON(t, value))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustJSON(t testing.TB, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// forge signs any payload under any payload type with the bare private key, as
// someone who holds the key but not this package would.
func forge(t testing.TB, key *Key, payload []byte, payloadType string) []byte {
	t.Helper()
	return forgeContent(t, key, &sign.DSSEData{Data: payload, PayloadType: payloadType})
}

func forgeContent(t testing.TB, key *Key, content sign.Content) []byte {
	t.Helper()
	signed, err := sign.Bundle(content, bareKeypair{keypair{key: key}}, sign.BundleOptions{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := (&bundle.Bundle{Bundle: signed}).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// bareKeypair signs whatever it is given, and always the same (RFC 6979), which keeps
// fuzzing reproducible.
type bareKeypair struct{ keypair }

func (p bareKeypair) SignData(_ context.Context, data []byte) (sig, digest []byte, err error) {
	sum := sha256.Sum256(data)
	sig, err = p.key.private.Sign(nil, sum[:], crypto.SHA256)
	return sig, sum[:], err
}

// testPayload is the statement that Sign makes for testRequest.
func testPayload(t testing.TB) string {
	t.Helper()
	s, err := newStatement(testRequest())
	if err != nil {
		t.Fatal(err)
	}
	payload, err := encodeStatement(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(payload)
}

// edit replaces the only occurrence of old.
func edit(t testing.TB, s, old, new string) []byte {
	t.Helper()
	if strings.Count(s, old) != 1 {
		t.Fatalf("%d occurrences of %q", strings.Count(s, old), old)
	}
	return []byte(strings.Replace(s, old, new, 1))
}

// sigstoreAccepts tells what sigstore-go alone, with its default way of checking keys,
// says of a bundle. Attack tests use it to show that our check is what stops them.
func sigstoreAccepts(t testing.TB, data []byte, key *Key) bool {
	t.Helper()
	var b bundle.Bundle
	if err := b.UnmarshalJSON(data); err != nil {
		return false
	}
	ecdsaVerifier, err := signature.LoadECDSAVerifier(key.public.key, crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	material := root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) {
		return root.NewExpiringKey(ecdsaVerifier, testTime, testTime), nil
	})
	verifier, err := verify.NewVerifier(material, verify.WithNoObserverTimestamps(), verify.WithoutStatementPredicate())
	if err != nil {
		t.Fatal(err)
	}
	_, err = verifier.Verify(&b, verify.NewPolicy(verify.WithArtifactDigest("sha256", testArtifact[:]), verify.WithKey()))
	return err == nil
}

// wantError checks an error's kind, and that it says what to do.
func wantError(t testing.TB, err error, kind Kind, text string) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got error %v, want one of kind %s", err, kind)
	}
	if e.Kind != kind || !strings.Contains(e.Msg, text) {
		t.Errorf("got %s: %s\nwant %s: …%s…", e.Kind, e.Msg, kind, text)
	}
	if e.Hint == "" {
		t.Errorf("no hint in %v", e)
	}
	if bytes.ContainsFunc([]byte(err.Error()), func(r rune) bool { return r < ' ' || r == 0x7f }) {
		t.Errorf("control characters in %q", err)
	}
}

func hexOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
