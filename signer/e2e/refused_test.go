package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"github.com/sigstore/sigstore-go/pkg/root"
	"google.golang.org/protobuf/encoding/protojson"

	"steps.example/signer"
	"steps.example/signer/online"
	"steps.example/signer/sigstoretest"
)

// testNoCertificate asks for certificates with tokens that deserve none, or one for
// somebody else.
func (s *sigstore) testNoCertificate(t *testing.T) {
	with := func(member string, value any) map[string]any {
		c := claims()
		c[member] = value
		return c
	}
	stranger := &issuer{url: s.issuer.url, key: newKey(t)}
	for _, tc := range []struct {
		name  string
		token string
		kind  signer.Kind
		want  string
	}{
		{"another branch", s.issuer.token(t, with("branch", "refs/heads/evil")), signer.KindUntrustedKey, "refs/heads/evil"},
		{"another workflow", s.issuer.token(t, with("workflow", "other.yml")), signer.KindUntrustedKey, "other.yml"},
		{"no branch", s.issuer.token(t, map[string]any{"sub": "workflow-1", "workflow": workflow}), signer.KindService, "get a certificate"},
		{"for another service", s.issuer.token(t, with("aud", "another")), signer.KindService, "get a certificate"},
		{"expired", s.issuer.token(t, with("exp", time.Now().Add(-time.Hour).Unix())), signer.KindService, "get a certificate"},
		{"forged", stranger.token(t, claims()), signer.KindService, "get a certificate"},
		{"of an issuer that the authority does not know", newIssuer(t).token(t, claims()), signer.KindService, "get a certificate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			services, trustRoot := s.services(t)
			by := must(services.IdentitySigner(online.Identity{
				Token: func(context.Context) (string, error) { return tc.token, nil },
				Name:  identity, Issuer: s.issuer.url, CertificateLogs: 1,
			}, trustRoot))(t)
			bundle, err := by.Sign(t.Context(), request(t))
			wantError(t, err, tc.kind, tc.want)
			if bundle != nil {
				t.Error("a bundle was handed out")
			}
		})
	}
}

// testRefused has a client refuse bundle, which is good, for one difference each.
func (s *sigstore) testRefused(t *testing.T, bundle []byte) {
	other := must(s.signer(t, claims()).Sign(t.Context(), request(t)))(t)
	abroad := sigstoretest.New(t, "abroad", time.Now)
	far := trustOf(t, abroad)
	trusting := func(edit func(keyless map[string]any)) *signer.Policy {
		by := maps.Clone(s.keyless())
		edit(by)
		return policy(t, map[string]any{"keyless": by}, s.trust.json(t))
	}
	rooted := func(edit func(*trust)) *signer.Policy {
		r := s.trust
		edit(&r)
		return policy(t, map[string]any{"keyless": s.keyless()}, r.json(t))
	}
	bent := func(edit func(b, other *protobundle.Bundle)) []byte { return bend(t, bundle, other, edit) }
	otherPath := func(b, _ *protobundle.Bundle) {
		dsse := b.GetDsseEnvelope()
		dsse.Payload = bytes.Replace(dsse.Payload, []byte("log/hello"), []byte("log/hullo"), 1)
	}
	home := s.policy(t)
	for _, tc := range []struct {
		name   string
		bundle []byte
		policy *signer.Policy
		edit   func(*signer.Expectation)
		kind   signer.Kind // "" for success
		want   string
	}{
		{name: "nothing"},
		{name: "nothing, in the other bundle", bundle: other},

		{name: "another name", policy: trusting(func(by map[string]any) { by["san"] = identity + "x" }), kind: signer.KindUntrustedKey, want: "does not list"},
		{name: "another issuer", policy: trusting(func(by map[string]any) { by["issuer"] = s.issuer.url + "x" }), kind: signer.KindUntrustedKey, want: "does not list"},
		{name: "another build", policy: trusting(func(by map[string]any) { by["buildSigner"] = buildFile + "x" }), kind: signer.KindUntrustedKey, want: "but its certificate says buildSigner"},
		{name: "two logs wanted", policy: trusting(func(by map[string]any) { by["tlog"] = 2 }), kind: signer.KindEvidence, want: "transparency log"},
		{name: "two times wanted", policy: trusting(func(by map[string]any) { by["timestamps"] = 2 }), kind: signer.KindEvidence, want: "1 trusted times, want 2"},
		{name: "two certificate logs wanted", policy: trusting(func(by map[string]any) { by["sct"] = 2 }), kind: signer.KindEvidence, want: "threshold of 2"},

		{name: "another trust root", policy: rooted(func(r *trust) { *r = far }), kind: signer.KindEvidence, want: "transparency log"},
		{name: "another authority", policy: rooted(func(r *trust) { r.authority = far.authority }), kind: signer.KindEvidence, want: "leaf certificate"},
		{name: "another certificate log", policy: rooted(func(r *trust) { r.certLog = far.certLog }), kind: signer.KindEvidence, want: "certificate timestamp"},
		{name: "another log", policy: rooted(func(r *trust) { r.log = far.log }), kind: signer.KindEvidence, want: "transparency log"},
		{name: "another name of the log", policy: rooted(func(r *trust) { r.logURL = "https://log.test" }), kind: signer.KindEvidence, want: "transparency log"},
		{name: "another timestamp authority", policy: rooted(func(r *trust) { r.stamps = far.stamps }), kind: signer.KindEvidence, want: "0 trusted times"},
		{name: "certified abroad", bundle: s.certifiedAbroad(t, abroad), policy: trusting(func(by map[string]any) { delete(by, "buildSigner") }),
			kind: signer.KindEvidence, want: "leaf certificate"},

		{name: "another payload", bundle: bent(otherPath), kind: signer.KindEvidence, want: "transparency log"},
		{name: "another payload, and no log wanted", bundle: bent(otherPath), policy: trusting(func(by map[string]any) { by["tlog"] = 0 }),
			kind: signer.KindBadSignature, want: "not by"},
		{name: "another payload and its signature", bundle: bent(func(b, other *protobundle.Bundle) { b.Content = other.Content }),
			kind: signer.KindEvidence, want: "transparency log"},
		{name: "another certificate", bundle: bent(func(b, other *protobundle.Bundle) {
			b.VerificationMaterial.Content = other.VerificationMaterial.Content
		}), kind: signer.KindEvidence, want: "transparency log"},
		{name: "no log entry", bundle: bent(func(b, _ *protobundle.Bundle) { b.VerificationMaterial.TlogEntries = nil }), kind: signer.KindEvidence, want: "transparency log"},
		{name: "no proof of inclusion", bundle: bent(func(b, _ *protobundle.Bundle) {
			b.VerificationMaterial.TlogEntries[0].InclusionProof = nil
		}), kind: signer.KindMalformed, want: "inclusion proof missing"},
		{name: "another log entry", bundle: bent(func(b, other *protobundle.Bundle) {
			b.VerificationMaterial.TlogEntries = other.VerificationMaterial.TlogEntries
		}), kind: signer.KindEvidence, want: "transparency log"},
		{name: "another checkpoint", bundle: bent(func(b, other *protobundle.Bundle) {
			b.VerificationMaterial.TlogEntries[0].InclusionProof.Checkpoint = other.VerificationMaterial.TlogEntries[0].InclusionProof.Checkpoint
		}), kind: signer.KindEvidence, want: "transparency log"},
		{name: "no timestamp", bundle: bent(func(b, _ *protobundle.Bundle) { b.VerificationMaterial.TimestampVerificationData = nil }),
			kind: signer.KindEvidence, want: "0 trusted times, want 1"},
		{name: "another timestamp", bundle: bent(func(b, other *protobundle.Bundle) {
			b.VerificationMaterial.TimestampVerificationData = other.VerificationMaterial.TimestampVerificationData
		}), kind: signer.KindEvidence, want: "0 trusted times, want 1"},

		{name: "another artifact", edit: func(e *signer.Expectation) { e.ArtifactSHA256 = sha256.Sum256([]byte("evil")) }, kind: signer.KindWrongArtifact},
		{name: "another version", edit: func(e *signer.Expectation) { e.PURL = "pkg:generic/acme/hello@1.0.1" }, kind: signer.KindWrongPackage},
		{name: "an older revision", edit: func(e *signer.Expectation) { e.MinRevision = 2 }, kind: signer.KindStale},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.bundle == nil {
				tc.bundle = bundle
			}
			if tc.policy == nil {
				tc.policy = home
			}
			e := want()
			if tc.edit != nil {
				tc.edit(&e)
			}
			v, err := signer.Verify(tc.bundle, tc.policy, e)
			if tc.kind == "" {
				if err != nil || string(v.Document) != document {
					t.Fatalf("%+v, %v", v, err)
				}
				return
			}
			wantError(t, err, tc.kind, tc.want)
			if v != nil {
				t.Error("a result came with the error")
			}
		})
	}
}

// certifiedAbroad is a bundle by another deployment's authority, which certifies the
// very identity; the log and the timestamp authority are ours, and serve everybody.
func (s *sigstore) certifiedAbroad(t *testing.T, abroad *sigstoretest.Sigstore) []byte {
	t.Helper()
	server := httptest.NewServer(abroad)
	t.Cleanup(server.Close)
	services := must(online.ParseServices(signingConfig(t, s.issuer.url, server.URL, s.trust.logURL, s.stampURL), online.Options{}))(t)
	far, mixed := trustOf(t, abroad), s.trust
	mixed.authority, mixed.certLog = far.authority, far.certLog
	by := must(services.IdentitySigner(online.Identity{
		Token: func(context.Context) (string, error) { return abroad.Token(identity, s.issuer.url), nil },
		Name:  identity, Issuer: s.issuer.url, CertificateLogs: 1,
	}, must(signer.ParseTrustRoot(mixed.json(t)))(t)))(t)
	return must(by.Sign(t.Context(), request(t)))(t)
}

// trustOf takes another deployment's trust root apart.
func trustOf(t *testing.T, abroad *sigstoretest.Sigstore) (r trust) {
	t.Helper()
	whole := must(root.NewTrustedRootFromJSON(abroad.TrustRoot()))(t)
	for _, a := range whole.FulcioCertificateAuthorities() {
		r.authority = a.(*root.FulcioCertificateAuthority).Root
	}
	for _, l := range whole.CTLogs() {
		r.certLog = l.PublicKey
	}
	for _, l := range whole.RekorLogs() {
		r.log, r.logURL = l.PublicKey, l.BaseURL
	}
	for _, a := range whole.TimestampingAuthorities() {
		stamper := a.(*root.SigstoreTimestampingAuthority)
		r.stamps = []*x509.Certificate{stamper.Leaf, stamper.Root}
	}
	return r
}

func bend(t *testing.T, data, other []byte, edit func(b, other *protobundle.Bundle)) []byte {
	t.Helper()
	read := func(data []byte) *protobundle.Bundle {
		b := new(protobundle.Bundle)
		if err := protojson.Unmarshal(data, b); err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := read(data)
	edit(b, read(other))
	out := must(protojson.Marshal(b))(t)
	if bytes.Equal(must(protojson.Marshal(read(data)))(t), out) {
		t.Fatal("nothing was changed")
	}
	return out
}

func wantError(t *testing.T, err error, kind signer.Kind, text string) {
	t.Helper()
	e, ok := errors.AsType[*signer.Error](err)
	if !ok || e.Kind != kind || !strings.Contains(e.Msg, text) {
		t.Errorf("got %v, want %s: …%s…", err, kind, text)
	}
}
