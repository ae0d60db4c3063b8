package signer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"strings"
	"testing"
	"time"

	"steps.example/signer/sigstoretest"
)

// benchDocument has n steps of about 100 bytes.
func benchDocument(n int) []byte {
	step := `{"type":"symlink","source":{"base":"prefix","path":"lib/a"},"target":{"base":"etc","path":"some/where/b"}}`
	return []byte(`{"name":"foo","post_install_steps":[` + strings.TrimSuffix(strings.Repeat(step+",", n), ",") + `]}`)
}

func benchRequest(steps int) Request {
	r := testRequest()
	r.Document, r.Capabilities = benchDocument(steps), nil
	return r
}

// What is signed has been verified, so a signature costs a verification as well. The
// bare figures are those of the same two on the statement's bytes.
func BenchmarkSign(b *testing.B) {
	key := testKey(b, "signer")
	for _, steps := range []int{10, 1000} {
		b.Run(fmt.Sprintf("steps=%d", steps), func(b *testing.B) {
			r := benchRequest(steps)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					mustSign(b, key, r)
				}
			})
		})
	}
}

func BenchmarkBareSign(b *testing.B) {
	key := testKey(b, "signer")
	payload := []byte(testPayload(b))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			sum := sha256.Sum256(payload)
			if _, err := key.private.Sign(rand.Reader, sum[:], crypto.SHA256); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkBareSignAndVerify(b *testing.B) {
	key := testKey(b, "signer")
	payload := []byte(testPayload(b))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			sum := sha256.Sum256(payload)
			sig, err := key.private.Sign(rand.Reader, sum[:], crypto.SHA256)
			if err != nil || !ecdsa.VerifyASN1(key.public.key, sum[:], sig) {
				b.Error(err)
			}
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	key := testKey(b, "signer")
	policy := mustPolicy(b, policyMap(key))
	for _, steps := range []int{10, 1000} {
		data := mustSign(b, key, benchRequest(steps))
		b.Run(fmt.Sprintf("steps=%d", steps), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Verify(data, policy, testWant()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A certificate's bundle has five signatures to check: its own, of the certificate, of
// its log, of the log entry's checkpoint and of the timestamp.
func BenchmarkVerifyKeyless(b *testing.B) {
	s := newSigstore(b)
	policy := withRoot(b, keylessMap(s), s)
	data := attempt{}.bundle(b, s)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Verify(data, policy, testWant()); err != nil {
			b.Fatal(err)
		}
	}
}

// The least that has to be done about a certificate's bundle.
func BenchmarkBareVerifyAndChain(b *testing.B) {
	s := newSigstore(b)
	key := testKey(b, "ephemeral")
	env, err := parseBundle(attempt{}.bundle(b, s), DefaultLimits())
	if err != nil {
		b.Fatal(err)
	}
	r, err := ParseTrustRoot(s.TrustRoot())
	if err != nil {
		b.Fatal(err)
	}
	authority := r.material.FulcioCertificateAuthorities()[0]
	leaf, err := x509.ParseCertificate(s.Certificate(key.public.key, sigstoretest.Identity{SAN: testIdentity, Issuer: testIssuer}))
	if err != nil {
		b.Fatal(err)
	}
	sig := env.bundle.GetDsseEnvelope().GetSignatures()[0].GetSig()
	signed := []byte(pae(payloadType, string(env.payload)))
	for b.Loop() {
		sum := sha256.Sum256(signed)
		if !ecdsa.VerifyASN1(key.public.key, sum[:], sig) {
			b.Fatal("the signature is wrong")
		}
		if _, err := authority.Verify(leaf, testTime.Add(time.Second)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParsePolicy(b *testing.B) {
	data := mustJSON(b, policyMap(testKey(b, "signer")))
	for b.Loop() {
		if _, err := ParsePolicy(data); err != nil {
			b.Fatal(err)
		}
	}
}
