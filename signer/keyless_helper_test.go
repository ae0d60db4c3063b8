package signer

import (
	"encoding/hex"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore-go/pkg/sign"

	"steps.example/signer/sigstoretest"
)

const (
	testIssuer   = "https://oidc.example"
	testIdentity = "https://registry.example/signing/steps.yml@refs/heads/main"
)

// newSigstore is a deployment in which it is always testTime.
func newSigstore(t testing.TB) *sigstoretest.Sigstore {
	t.Helper()
	return sigstoretest.New(t, "home", func() time.Time { return testTime })
}

// foreignSigstore is another one.
func foreignSigstore(t testing.TB) *sigstoretest.Sigstore {
	t.Helper()
	return sigstoretest.New(t, "foreign", func() time.Time { return testTime })
}

// attempt is one way to make a bundle with a certificate. The zero value is honest.
type attempt struct {
	payload string
	id      sigstoretest.Identity
	key     *Key
	noCert  bool // sign with the key itself
	noLog   bool
	stamps  []time.Time // nil for one at testTime
	bend    func(*protobundle.Bundle)
}

func (a attempt) bundle(t testing.TB, s *sigstoretest.Sigstore) []byte {
	t.Helper()
	if a.payload == "" {
		a.payload = testPayload(t)
	}
	if a.key == nil {
		a.key = testKey(t, "ephemeral")
	}
	if a.id.SAN == "" {
		a.id.SAN = testIdentity
	}
	if a.id.Issuer == "" {
		a.id.Issuer = testIssuer
	}
	if a.stamps == nil {
		a.stamps = []time.Time{testTime}
	}
	var options sign.BundleOptions
	if !a.noCert {
		options.CertificateProvider = fixedCertificate(s.Certificate(a.key.public.key, a.id))
	}
	if !a.noLog {
		options.TransparencyLogs = []sign.Transparency{s.Log()}
	}
	b, err := sign.Bundle(&sign.DSSEData{Data: []byte(a.payload), PayloadType: payloadType}, bareKeypair{keypair{key: a.key}}, options)
	if err != nil {
		t.Fatal(err)
	}
	stamps := new(protobundle.TimestampVerificationData)
	for _, at := range a.stamps {
		stamps.Rfc3161Timestamps = append(stamps.Rfc3161Timestamps, &protocommon.RFC3161SignedTimestamp{
			SignedTimestamp: s.Timestamp(b.GetDsseEnvelope().GetSignatures()[0].GetSig(), at)})
	}
	b.VerificationMaterial.TimestampVerificationData = stamps
	if a.bend != nil {
		a.bend(b)
	}
	data, err := encodeBundle(b)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// keylessMap is a policy for the one identity, to bend.
func keylessMap(s *sigstoretest.Sigstore) map[string]any {
	return map[string]any{
		"version": 1,
		"trust":   trustMap(s),
		"rules": []any{map[string]any{
			"match": map[string]any{"registry": testRegistry, "package": "pkg:generic/acme/*"},
			"anyOf": []any{map[string]any{"keyless": map[string]any{"issuer": testIssuer, "san": testIdentity}}},
		}},
	}
}

func trustMap(s *sigstoretest.Sigstore) map[string]any {
	return map[string]any{"mode": "file", "trustedRoot": "/etc/steps/trusted_root.json", "sha256": hexOf(s.TrustRoot())}
}

// signerOf is the first signer of the first rule, to bend.
func signerOf(value map[string]any, kind string) map[string]any {
	return value["rules"].([]any)[0].(map[string]any)["anyOf"].([]any)[0].(map[string]any)[kind].(map[string]any)
}

func withRoot(t testing.TB, value map[string]any, s *sigstoretest.Sigstore) *Policy {
	t.Helper()
	p, err := mustPolicy(t, value).WithTrustRoot(s.TrustRoot())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func hexDigest(sum [32]byte) string { return hex.EncodeToString(sum[:]) }
