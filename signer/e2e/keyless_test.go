package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"steps.example/interp"
	"steps.example/interp/commit"
	"steps.example/signer"
	"steps.example/signer/online"
	"steps.example/steps"
)

const (
	purl     = "pkg:generic/acme/hello@1.0.0"
	document = `{"schema":1,"layout":"homebrew-formula","name":"hello","version":"1.0.0","post_install_steps":[
  {"type":"mkdir_p","path":{"base":"var","path":"log/hello"}},
  {"type":"write","path":{"base":"etc","path":"hello.conf"},"content":"from {{name}} {{version}}\n"}]}`
)

var artifact = []byte("the package")

// TestKeyless goes all the way: a token becomes a certificate, the certificate signs, a
// client with a policy verifies, and what it verified is applied. Then it tries what
// must not work.
func TestKeyless(t *testing.T) {
	for _, p := range servers {
		if _, err := p.installed(); err != nil {
			t.Skip(err)
		}
	}
	s := newSigstore(t)
	bundle := must(s.signer(t, claims()).Sign(t.Context(), request(t)))(t)
	t.Run("apply", func(t *testing.T) { apply(t, must(signer.Verify(bundle, s.policy(t), want()))(t), s) })
	t.Run("command", s.testCommand)
	t.Run("many", s.testMany)
	t.Run("key", s.testKey)
	t.Run("no certificate", s.testNoCertificate)
	t.Run("refused", func(t *testing.T) { s.testRefused(t, bundle) })
	t.Run("cosign", func(t *testing.T) { s.testCosign(t, bundle) })
}

func request(t *testing.T) signer.Request {
	t.Helper()
	doc := must(steps.Decode([]byte(document), steps.DefaultLimits))(t)
	return signer.Request{
		Registry: registry, PURL: purl, Revision: 1, IssuedAt: time.Now(), Document: []byte(document),
		Capabilities: steps.Capabilities(doc), ArtifactSHA256: sha256.Sum256(artifact),
	}
}

func want() signer.Expectation {
	return signer.Expectation{PURL: purl, ArtifactSHA256: sha256.Sum256(artifact), Now: time.Now()}
}

// keyless is the one signer that the policy trusts.
func (s *sigstore) keyless() map[string]any {
	return map[string]any{"issuer": s.issuer.url, "san": identity, "buildSigner": buildFile, "tlog": 1, "timestamps": 1, "sct": 1}
}

func (s *sigstore) policy(t *testing.T) *signer.Policy {
	t.Helper()
	return policy(t, map[string]any{"keyless": s.keyless()}, s.trust.json(t))
}

// policy trusts by for all of acme's packages.
func policy(t *testing.T, by map[string]any, trustRoot []byte) *signer.Policy {
	t.Helper()
	p := must(signer.ParsePolicy(policyFile(t, by, "/etc/steps/trusted_root.json", trustRoot)))(t)
	return must(p.WithTrustRoot(trustRoot))(t)
}

func policyFile(t *testing.T, by map[string]any, path string, trustRoot []byte) []byte {
	t.Helper()
	sum := sha256.Sum256(trustRoot)
	return marshal(t, map[string]any{
		"version": 1,
		"trust":   map[string]any{"mode": "file", "trustedRoot": path, "sha256": hex.EncodeToString(sum[:])},
		"rules": []any{map[string]any{
			"match": map[string]any{"registry": registry, "package": "pkg:generic/acme/*"}, "anyOf": []any{by}}},
	})
}

// apply has the steps done that were verified.
func apply(t *testing.T, v *signer.Verified, s *sigstore) {
	t.Helper()
	if got := v.Signatories; len(got) != 1 || got[0].Identity != identity || got[0].Issuer != s.issuer.url || len(got[0].Times) != 1 {
		t.Fatalf("signed by %+v", got)
	}
	dir := must(filepath.EvalSymlinks(t.TempDir()))(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"brew/var", "brew/etc", "home", "temp"} {
		if err := os.MkdirAll(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	store := must(commit.OpenStore(at("state")))(t)
	defer store.Close()
	doc := must(steps.Decode(v.Document, steps.DefaultLimits))(t)
	job := interp.Job{Document: doc, Phases: []steps.Phase{steps.PhasePostInstall}, Target: interp.Target{
		Layout: doc.Layout, Name: doc.Name, Version: doc.Version, OS: "linux", User: "tester", Umask: 0o022,
		Dirs:      map[string]string{"homebrew_prefix": at("brew"), "home": at("home"), "temp": at("temp")},
		Protected: []string{at("state")},
	}}
	done := must(interp.Apply(t.Context(), job, interp.Machine{}, interp.ApplyOptions{Store: store, Provenance: interp.Provenance{
		BundleSHA256: hex.EncodeToString(v.BundleSHA256[:]), PURL: v.PURL, Revision: v.Revision}}))(t)
	if done.Receipt == nil || len(done.Receipt.Changeset.Changes) != 3 {
		t.Errorf("receipt %+v", done.Receipt)
	}
	if got := must(os.ReadFile(at("brew/etc/hello.conf")))(t); string(got) != "from hello 1.0.0\n" {
		t.Errorf("the file holds %q", got)
	}
}

// testMany signs at once what a worker would, under one certificate.
func (s *sigstore) testMany(t *testing.T) {
	const count = 20
	services, trustRoot := s.services(t)
	token := s.issuer.token(t, claims())
	var tokens atomic.Int32
	by := must(services.IdentitySigner(online.Identity{
		Token: func(context.Context) (string, error) { tokens.Add(1); return token, nil },
		Name:  identity, Issuer: s.issuer.url, CertificateLogs: 1,
	}, trustRoot))(t)
	p := s.policy(t)
	var all sync.WaitGroup
	for i := range count {
		r := request(t)
		r.Revision = i + 1
		all.Go(func() {
			bundle, err := by.Sign(t.Context(), r)
			if err != nil {
				t.Errorf("revision %d: %v", r.Revision, err)
				return
			}
			if v, err := signer.Verify(bundle, p, want()); err != nil || v.Revision != r.Revision {
				t.Errorf("revision %d: %+v, %v", r.Revision, v, err)
			}
		})
	}
	all.Wait()
	if n := tokens.Load(); n != 1 {
		t.Errorf("%d tokens for one certificate", n)
	}
}

// testKey signs with a key, and has the log and the timestamp authority testify.
func (s *sigstore) testKey(t *testing.T) {
	key := must(signer.GenerateKey())(t)
	services, trustRoot := s.services(t)
	bundle := must(must(signer.NewSigner(key, services.Evidence(trustRoot)))(t).Sign(t.Context(), request(t)))(t)
	trusted := map[string]any{"id": key.ID(), "pem": string(key.PublicPEM()), "time": "tsa", "tlog": 1}
	v := must(signer.Verify(bundle, policy(t, map[string]any{"key": trusted}, s.trust.json(t)), want()))(t)
	if v.KeyID != key.ID() || len(v.Signatories[0].Times) != 1 {
		t.Errorf("signed by %+v", v.Signatories)
	}
	bare := must(signer.Sign(t.Context(), key, request(t)))(t)
	_, err := signer.Verify(bare, policy(t, map[string]any{"key": trusted}, s.trust.json(t)), want())
	wantError(t, err, signer.KindEvidence, "transparency log")
}
