package signer

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/sign"

	"steps.example/signer/sigstoretest"
)

// inMemory sends requests straight to a handler.
type inMemory struct{ http.Handler }

func (h inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

func evidenceOf(t testing.TB, s *sigstoretest.Sigstore) Evidence {
	t.Helper()
	r, err := ParseTrustRoot(s.TrustRoot())
	if err != nil {
		t.Fatal(err)
	}
	return Evidence{
		Logs:       []sign.Transparency{s.Log()},
		Timestamps: []*sign.TimestampAuthority{sign.NewTimestampAuthority(&sign.TimestampAuthorityOptions{URL: "http://tsa.test/api/v1/timestamp", Transport: inMemory{s}})},
		TrustRoot:  r,
	}
}

// countingAuthority counts the certificates that were asked for.
type countingAuthority struct {
	sign.CertificateProvider
	mu sync.Mutex
	n  int
}

func (a *countingAuthority) GetCertificate(ctx context.Context, k sign.Keypair, o *sign.CertificateProviderOptions) ([]byte, error) {
	a.mu.Lock()
	a.n++
	a.mu.Unlock()
	return a.CertificateProvider.GetCertificate(ctx, k, o)
}

func certificationOf(s *sigstoretest.Sigstore) (Certification, *countingAuthority) {
	authority := &countingAuthority{CertificateProvider: sign.NewFulcio(&sign.FulcioOptions{BaseURL: "http://ca.test", Transport: inMemory{s}})}
	return Certification{
		Authority: authority,
		Token:     func(context.Context) (string, error) { return s.Token(testIdentity, testIssuer), nil },
		Identity:  testIdentity,
		Issuer:    testIssuer,
		Logs:      1,
	}, authority
}

func identitySigner(t testing.TB, c Certification, e Evidence) *Signer {
	t.Helper()
	signer, err := NewIdentitySigner(c, e)
	if err != nil {
		t.Fatal(err)
	}
	signer.now = func() time.Time { return testTime }
	return signer
}

func TestIdentitySigner(t *testing.T) {
	t.Parallel()
	s := newSigstore(t)
	c, authority := certificationOf(s)
	signer := identitySigner(t, c, evidenceOf(t, s))
	policy := withRoot(t, keylessMap(s), s)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			data, err := signer.Sign(t.Context(), testRequest())
			if err != nil {
				t.Error(err)
				return
			}
			v, err := Verify(data, policy, testWant())
			if err != nil || v.Signatories[0].Identity != testIdentity {
				t.Errorf("got %+v, %v", v, err)
			}
		})
	}
	all.Wait()
	if authority.n != 1 {
		t.Errorf("%d certificates for one batch, want 1", authority.n)
	}
	before := signer.current.key.ID()
	signer.now = func() time.Time { return testTime.Add(sigstoretest.Lifetime - certificateRest) }
	if _, err := signer.Sign(t.Context(), testRequest()); err != nil {
		t.Error(err)
	}
	if authority.n != 2 || signer.current.key.ID() == before {
		t.Errorf("%d certificates, key %s, want a second one with its own key", authority.n, signer.current.key.ID())
	}
}

func TestKeySignerWithEvidence(t *testing.T) {
	t.Parallel()
	s := newSigstore(t)
	key := testKey(t, "signer")
	signer, err := NewSigner(key, evidenceOf(t, s))
	if err != nil {
		t.Fatal(err)
	}
	data, err := signer.Sign(t.Context(), testRequest())
	if err != nil {
		t.Fatal(err)
	}
	value := policyMap(key)
	value["trust"] = trustMap(s)
	rule := signerOf(value, "key")
	rule["tlog"], rule["time"] = 1, "tsa"
	if _, err := Verify(data, withRoot(t, value, s), testWant()); err != nil {
		t.Error(err)
	}
}

// What services return is checked before it is handed out.
func TestSignerDistrustsServices(t *testing.T) {
	t.Parallel()
	s, foreign := newSigstore(t), foreignSigstore(t)
	late := sigstoretest.New(t, "home", func() time.Time { return testTime.Add(time.Hour) })
	token := func(text string, err error) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return text, err }
	}
	for _, tc := range []struct {
		name string
		bend func(*Certification, *Evidence)
		kind Kind
		want string
	}{
		{"certificate of a foreign authority", func(c *Certification, _ *Evidence) {
			*c, _ = certificationOf(foreign)
		}, KindEvidence, "leaf certificate"},
		{"certificate for another identity", func(c *Certification, _ *Evidence) {
			c.Token = token(s.Token("https://registry.example/other", testIssuer), nil)
		}, KindUntrustedKey, "the certificate is for"},
		{"certificate of another issuer", func(c *Certification, _ *Evidence) {
			c.Token = token(s.Token(testIdentity, "https://evil.example"), nil)
		}, KindUntrustedKey, "the certificate is for"},
		{"certificate for another key", func(c *Certification, _ *Evidence) {
			c.Authority = fixedCertificate(s.Certificate(testKey(t, "other").public.key, sigstoretest.Identity{SAN: testIdentity, Issuer: testIssuer}))
		}, KindService, "another key"},
		{"certificate that is none", func(c *Certification, _ *Evidence) { c.Authority = fixedCertificate("x") }, KindMalformed, "certificate"},
		{"token of nobody", func(c *Certification, _ *Evidence) { c.Token = token("x", nil) }, KindService, "get a certificate"},
		{"no token", func(c *Certification, _ *Evidence) { c.Token = token("", errors.New("logged out")) }, KindService, "logged out"},
		{"a token whose subject is an envelope's encoding", func(c *Certification, _ *Evidence) {
			c.Token = token(s.Token(pae(payloadType, testPayload(t)), testIssuer), nil)
		}, KindMalformed, "refusing to sign"},
		{"timestamp of a foreign authority", func(_ *Certification, e *Evidence) {
			e.Timestamps = evidenceOf(t, foreign).Timestamps
		}, KindEvidence, "0 trusted times"},
		{"timestamp of another hour", func(_ *Certification, e *Evidence) {
			e.Timestamps = evidenceOf(t, late).Timestamps
		}, KindEvidence, "leaf certificate"},
		{"entry in a foreign log", func(_ *Certification, e *Evidence) { e.Logs = []sign.Transparency{foreign.Log()} }, KindEvidence, "transparency log"},
		{"certificate in too few logs", func(c *Certification, _ *Evidence) { c.Logs = 2 }, KindEvidence, "SCT"},
		{"no timestamp authority there", func(_ *Certification, e *Evidence) {
			e.Timestamps = []*sign.TimestampAuthority{sign.NewTimestampAuthority(&sign.TimestampAuthorityOptions{
				URL: "http://tsa.test/", Transport: inMemory{http.NotFoundHandler()}})}
		}, KindService, "404"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, _ := certificationOf(s)
			e := evidenceOf(t, s)
			tc.bend(&c, &e)
			out, err := identitySigner(t, c, e).Sign(t.Context(), testRequest())
			wantError(t, err, tc.kind, tc.want)
			if out != nil {
				t.Error("a bundle was handed out")
			}
		})
	}
}

func TestNewSignerRefuses(t *testing.T) {
	t.Parallel()
	s := newSigstore(t)
	good, _ := certificationOf(s)
	full := evidenceOf(t, s)
	rootless := full
	rootless.TrustRoot = nil
	_, err := NewSigner(nil, Evidence{})
	wantError(t, err, KindMalformed, "no key")
	_, err = NewSigner(testKey(t, "signer"), rootless)
	wantError(t, err, KindTrustRoot, "trust root")
	for _, tc := range []struct {
		name string
		c    Certification
		e    Evidence
		kind Kind
	}{
		{"nothing", Certification{}, full, KindMalformed},
		{"no identity", Certification{Authority: good.Authority, Token: good.Token, Issuer: testIssuer}, full, KindMalformed},
		{"no issuer", Certification{Authority: good.Authority, Token: good.Token, Identity: testIdentity}, full, KindMalformed},
		{"no evidence", good, Evidence{TrustRoot: full.TrustRoot}, KindMalformed},
		{"no trust root", good, rootless, KindTrustRoot},
	} {
		_, err := NewIdentitySigner(tc.c, tc.e)
		wantError(t, err, tc.kind, "signer")
	}
}

func TestPossession(t *testing.T) {
	t.Parallel()
	p := possession{keypair{key: testKey(t, "ephemeral")}}
	sig, _, err := p.SignData(t.Context(), []byte(testIdentity))
	sum := sha256.Sum256([]byte(testIdentity))
	if err != nil || !ecdsa.VerifyASN1(p.key.public.key, sum[:], sig) {
		t.Errorf("no proof: %v", err)
	}
	for _, data := range []string{pae(payloadType, testPayload(t)), "DSSEv1 ", "DSSEv1", strings.Repeat("x", 2000)} {
		_, _, err := p.SignData(t.Context(), []byte(data))
		wantError(t, err, KindMalformed, "refusing to sign")
	}
}

func TestRemoteKey(t *testing.T) {
	t.Parallel()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var asked [][]byte
	signWith := func(k *ecdsa.PrivateKey) RemoteSign {
		return func(_ context.Context, message []byte) ([]byte, error) {
			asked = append(asked, bytes.Clone(message))
			sum := sha256.Sum256(message)
			return ecdsa.SignASN1(rand.Reader, k, sum[:])
		}
	}
	key, err := RemoteKey(private.Public(), signWith(private))
	if err != nil {
		t.Fatal(err)
	}
	data, err := Sign(t.Context(), key, testRequest())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(data, mustPolicy(t, policyMap(key)), testWant()); err != nil {
		t.Error(err)
	}
	if len(asked) != 1 || string(asked[0]) != pae(payloadType, testPayload(t)) {
		t.Errorf("asked to sign %q", asked)
	}
	_, err = key.MarshalPEM()
	wantError(t, err, KindUnsupported, "not here")

	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		sign RemoteSign
		kind Kind
		want string
	}{
		{"another key", signWith(other), KindBadSignature, "another key"},
		{"no signature", func(context.Context, []byte) ([]byte, error) { return nil, nil }, KindBadSignature, "another key"},
		{"refusal", func(context.Context, []byte) ([]byte, error) { return nil, errors.New("no such key") }, KindService, "no such key"},
	} {
		key, err := RemoteKey(private.Public(), tc.sign)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Sign(t.Context(), key, testRequest())
		wantError(t, err, tc.kind, tc.want)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, public := range []crypto.PublicKey{p384.Public(), nil, "x"} {
		_, err := RemoteKey(public, signWith(private))
		wantError(t, err, KindUnsupported, "remote key")
	}
}

func TestSignatureTakesTime(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	ctx, cancel := context.WithCancel(t.Context())
	slow, err := RemoteKey(key.public.key, func(context.Context, []byte) ([]byte, error) {
		cancel()
		return nil, ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Sign(ctx, slow, testRequest()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
