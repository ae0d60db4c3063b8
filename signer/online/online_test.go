package online

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"steps.example/signer"
	"steps.example/signer/sigstoretest"
)

const (
	testRegistry = "https://registry.example"
	testPURL     = "pkg:generic/acme/foo@1.2.3"
	testIssuer   = "https://oidc.example"
	testIdentity = "https://registry.example/signing/steps.yml@refs/heads/main"
)

var testArtifact = sha256.Sum256([]byte("the artifact"))

func testRequest() signer.Request {
	return signer.Request{
		Registry: testRegistry, PURL: testPURL, Revision: 1, IssuedAt: time.Now(),
		Document: []byte(`{"schema":1,"layout":"generic","name":"foo"}`), ArtifactSHA256: testArtifact,
	}
}

// accepts verifies a bundle as a client that trusts by, and loads the trust root if
// there is one.
func accepts(t *testing.T, data []byte, by map[string]any, trustRoot []byte) error {
	t.Helper()
	value := map[string]any{"version": 1, "rules": []any{map[string]any{
		"match": map[string]any{"registry": testRegistry, "package": "pkg:generic/acme/*"}, "anyOf": []any{by}}}}
	if trustRoot != nil {
		sum := sha256.Sum256(trustRoot)
		value["trust"] = map[string]any{"mode": "file", "trustedRoot": "/root.json", "sha256": hex.EncodeToString(sum[:])}
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := signer.ParsePolicy(text)
	if err == nil && trustRoot != nil {
		policy, err = policy.WithTrustRoot(trustRoot)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = signer.Verify(data, policy, signer.Expectation{PURL: testPURL, ArtifactSHA256: testArtifact, Now: time.Now()})
	return err
}

func wantError(t *testing.T, err error, kind signer.Kind, text string) {
	t.Helper()
	e, ok := errors.AsType[*signer.Error](err)
	if !ok || e.Kind != kind || !strings.Contains(e.Msg, text) || e.Hint == "" || strings.ContainsAny(e.Msg, "\x1b\n") {
		t.Errorf("got %v, want %s: …%s…", err, kind, text)
	}
}

func TestKMS(t *testing.T) {
	t.Parallel()
	key, err := OpenKMS(t.Context(), "steptest://good")
	if err != nil {
		t.Fatal(err)
	}
	data, err := signer.Sign(t.Context(), key, testRequest())
	if err != nil {
		t.Fatal(err)
	}
	trusted := func(k *signer.Key) map[string]any {
		return map[string]any{"key": map[string]any{"id": k.ID(), "pem": string(k.PublicPEM())}}
	}
	if err := accepts(t, data, trusted(key), nil); err != nil {
		t.Error(err)
	}
	other, err := OpenKMS(t.Context(), "steptest://another")
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, accepts(t, data, trusted(other), nil), signer.KindUntrustedKey, "does not list")
}

func TestKMSRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reference string
		kind      signer.Kind
		want      string
	}{
		{"", signer.KindMalformed, "reference"},
		{"key.pem", signer.KindMalformed, "reference"},
		{"steptest://", signer.KindMalformed, "reference"},
		{"../../bin/sh://x", signer.KindMalformed, "reference"},
		{"a/../../x://x", signer.KindMalformed, "reference"},
		{"Steptest://x", signer.KindMalformed, "reference"},
		{"absent://x", signer.KindService, "sigstore-kms-absent"},
		{"steptest://missing", signer.KindService, "no such key"},
		{"steptest://garbage", signer.KindService, "sigstore-kms-steptest"},
		{"steptest://empty", signer.KindService, "not one to what it was asked"},
		{"steptest://p384", signer.KindUnsupported, "P-256"},
	} {
		key, err := OpenKMS(t.Context(), tc.reference)
		wantError(t, err, tc.kind, tc.want)
		if key != nil {
			t.Errorf("%s: a key came with the error", tc.reference)
		}
	}
	for _, tc := range []struct {
		id   string
		kind signer.Kind
		want string
	}{
		{"fickle", signer.KindBadSignature, "another key"},
		{"mute", signer.KindService, "not one to what it was asked"},
	} {
		key, err := OpenKMS(t.Context(), "steptest://"+tc.id)
		if err != nil {
			t.Fatal(err)
		}
		out, err := signer.Sign(t.Context(), key, testRequest())
		wantError(t, err, tc.kind, tc.want)
		if out != nil {
			t.Error("a bundle was handed out")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := OpenKMS(ctx, "steptest://good"); err == nil {
		t.Error("a cancelled context is ignored")
	}
}

// The whole way on loopback: token, certificate, log, timestamp, and the client's
// verification.
func TestServices(t *testing.T) {
	t.Parallel()
	s := sigstoretest.New(t, "home", time.Now)
	server := httptest.NewServer(s)
	defer server.Close()
	services, err := ParseServices(s.SigningConfig(server.URL), Options{})
	if err != nil {
		t.Fatal(err)
	}
	trustRoot := s.TrustRoot()
	r, err := signer.ParseTrustRoot(trustRoot)
	if err != nil {
		t.Fatal(err)
	}
	identity := Identity{
		Token: func(context.Context) (string, error) { return s.Token(testIdentity, testIssuer), nil },
		Name:  testIdentity, Issuer: testIssuer, CertificateLogs: 1,
	}
	byIdentity, err := services.IdentitySigner(identity, r)
	if err != nil {
		t.Fatal(err)
	}
	data, err := byIdentity.Sign(t.Context(), testRequest())
	if err != nil {
		t.Fatal(err)
	}
	named := func(san string) map[string]any {
		return map[string]any{"keyless": map[string]any{"issuer": testIssuer, "san": san}}
	}
	if err := accepts(t, data, named(testIdentity), trustRoot); err != nil {
		t.Error(err)
	}
	wantError(t, accepts(t, data, named(testIdentity+"x"), trustRoot), signer.KindUntrustedKey, "does not list")

	key, err := signer.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	byKey, err := signer.NewSigner(key, services.Evidence(r))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = byKey.Sign(t.Context(), testRequest()); err != nil {
		t.Fatal(err)
	}
	if err := accepts(t, data, map[string]any{"key": map[string]any{
		"id": key.ID(), "pem": string(key.PublicPEM()), "time": "tsa", "tlog": 1}}, trustRoot); err != nil {
		t.Error(err)
	}
	// A service that is gone is an error, not a bundle with less in it.
	server.Close()
	out, err := byKey.Sign(t.Context(), testRequest())
	wantError(t, err, signer.KindService, "sign")
	if out != nil {
		t.Error("a bundle was handed out")
	}
}

func TestParseServicesRefuses(t *testing.T) {
	t.Parallel()
	s := sigstoretest.New(t, "home", time.Now)
	good := string(s.SigningConfig("http://127.0.0.1:1"))
	for _, tc := range []struct{ name, config, want string }{
		{"nothing", "", "signing configuration"},
		{"not JSON", "x", "signing configuration"},
		{"version 0.1", strings.Replace(good, "v0.2", "v0.1", 1), "media type"},
		{"unknown member", strings.Replace(good, `"caUrls"`, `"x": 1, "caUrls"`, 1), "signing configuration"},
		{"Rekor v1", strings.Replace(good, `"majorApiVersion": 2`, `"majorApiVersion": 1`, 1), "rekorTlogUrls"},
		{"no selector for logs", strings.Replace(good, `"rekorTlogConfig": {"selector": "ANY"},`, "", 1), "rekorTlogConfig"},
		{"no selector for timestamps", strings.Replace(good, `, "tsaConfig": {"selector": "ANY"}`, "", 1), "tsaConfig"},
		{"undefined selector", strings.Replace(good, `"ANY"`, `"SERVICE_SELECTOR_UNDEFINED"`, 1), "rekorTlogUrls"},
		{"huge", strings.Repeat(" ", maxConfigBytes+1), "more than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if tc.config == good {
				t.Fatal("nothing to change")
			}
			_, err := ParseServices([]byte(tc.config), Options{})
			wantError(t, err, signer.KindMalformed, tc.want)
		})
	}
	_, err := ParseServices([]byte(good), Options{Now: func() time.Time { return time.Now().AddDate(-1, 0, 0) }})
	wantError(t, err, signer.KindMalformed, "no matching service")

	r, err := signer.ParseTrustRoot(s.TrustRoot())
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, member, want string }{
		{"no authority", "caUrls", "no certificate authority"},
		{"no timestamps", "tsaUrls", "no timestamp authority"},
	} {
		var value map[string]any
		if err := json.Unmarshal([]byte(good), &value); err != nil {
			t.Fatal(err)
		}
		delete(value, tc.member)
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		services, err := ParseServices(text, Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = services.IdentitySigner(Identity{}, r)
		wantError(t, err, signer.KindMalformed, tc.want)
	}
}

func TestSignArtifact(t *testing.T) {
	t.Parallel()
	s := sigstoretest.New(t, "home", time.Now)
	server := httptest.NewServer(s)
	defer server.Close()
	services, err := ParseServices(s.SigningConfig(server.URL), Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := signer.ParseTrustRoot(s.TrustRoot())
	if err != nil {
		t.Fatal(err)
	}
	file := []byte("a file")
	sum := sha256.Sum256(file)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	statement := []byte(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"a","digest":{"sha256":"` +
		digest[len("sha256:"):] + `"}}],"predicateType":"https://example.com/x","predicate":{}}`)
	token := s.Token(testIdentity, testIssuer)
	for _, tc := range []struct {
		name      string
		content   []byte
		statement bool
	}{{"file", file, false}, {"statement", statement, true}} {
		data, err := services.SignArtifact(t.Context(), token, tc.content, tc.statement, s.TrustRoot())
		if err != nil {
			t.Fatal(err)
		}
		good := signer.Artifact{Digest: digest, Identity: testIdentity, Issuer: testIssuer}
		if err := signer.VerifyArtifact(data, r, good); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		bad := good
		bad.Identity += "x"
		wantError(t, signer.VerifyArtifact(data, r, bad), signer.KindEvidence, "bundle")
		bad = signer.Artifact{Bytes: []byte("another file"), Identity: testIdentity, Issuer: testIssuer}
		wantError(t, signer.VerifyArtifact(data, r, bad), signer.KindEvidence, "bundle")
	}
	_, err = services.SignArtifact(t.Context(), "x", file, false, s.TrustRoot())
	wantError(t, err, signer.KindService, "sign")
	_, err = services.SignArtifact(t.Context(), token, file, false, sigstoretest.New(t, "foreign", time.Now).TrustRoot())
	wantError(t, err, signer.KindService, "sign")
	_, err = services.SignArtifact(t.Context(), token, file, false, []byte("{}"))
	wantError(t, err, signer.KindMalformed, "trust root")
}
