//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"

	"steps.example/signer"
	"steps.example/signer/sigstoretest"
)

const (
	signRegistry = "https://registry.example"
	signPURL     = "pkg:generic/acme/bench@1.0"

	signIdentity = "https://ci.example/acme/release"
	signIssuer   = "https://oidc.example"
	signArtifact = "the package"
)

// signing measures what a signature costs whoever checks one and whoever makes many.
func (b *suite) signing() error {
	if err := b.signedFiles(); err != nil {
		return err
	}
	for _, measure := range []func() error{b.verifyKey, b.verifyIdentity, b.coldVerify, b.batch, b.batchMemory} {
		if err := measure(); err != nil {
			return err
		}
	}
	return nil
}

func (b *suite) at(name string) string { return filepath.Join(b.dir, "signing", name) }

func (b *suite) read(name string) []byte {
	data, err := os.ReadFile(b.at(name))
	if err != nil {
		panic(err) // it was written just now
	}
	return data
}

// inMemory lets a Sigstore deployment for tests be used by a program.
type inMemory struct{ testing.TB }

func (inMemory) Helper()           {}
func (inMemory) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// signedFiles makes a key, a Sigstore deployment, and what they signed: key.bundle and
// identity.bundle of a document, file.bundle of any file.
func (b *suite) signedFiles() error {
	if err := os.MkdirAll(b.at(""), 0o755); err != nil {
		return err
	}
	deployment := sigstoretest.New(inMemory{}, "bench", time.Now)
	server := httptest.NewServer(deployment)
	defer server.Close()
	token := deployment.Token(signIdentity, signIssuer)
	for name, data := range map[string][]byte{
		"document": document(12), "root.json": deployment.TrustRoot(), "config.json": deployment.SigningConfig(server.URL),
		"token": []byte(token), "artifact": []byte(signArtifact),
	} {
		if err := os.WriteFile(b.at(name), data, 0o600); err != nil {
			return err
		}
	}
	sign := []string{"sign", b.at("document"), "--artifact", b.at("artifact"), "--purl", signPURL, "--registry", signRegistry}
	for _, args := range [][]string{
		{"keygen", b.at("key"), "--policy", b.at("key.policy"), "--registry", signRegistry, "--package", "pkg:generic/acme/*"},
		append(sign, "--key", b.at("key"), "-o", b.at("key.bundle")),
		append(sign, "--signing-config", b.at("config.json"), "--trusted-root", b.at("root.json"), "--identity-token", b.at("token"),
			"--identity", signIdentity, "--issuer", signIssuer, "-o", b.at("identity.bundle")),
		{"sign-bundle", "--identity-token", token, "--bundle", b.at("file.bundle"), "--trusted-root", b.at("root.json"),
			"--signing-config", b.at("config.json"), b.at("artifact")},
	} {
		if _, err := b.process(nil, filepath.Join(b.bin, "steps-full"), args...); err != nil {
			return err
		}
	}
	return nil
}

// envelope is what the least that could verify a bundle has to read of it.
type envelope struct {
	VerificationMaterial struct {
		Certificate struct{ RawBytes []byte }
	}
	DsseEnvelope struct {
		Payload    []byte
		Signatures []struct{ Sig []byte }
	}
}

// signed is the digest under the signature, and the signature.
func (e *envelope) signed() ([]byte, []byte) {
	const payloadType = "application/vnd.in-toto+json"
	p := e.DsseEnvelope.Payload
	sum := sha256.Sum256(fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(p), p))
	return sum[:], e.DsseEnvelope.Signatures[0].Sig
}

// repeat measures f as often as makes it long enough for the clock.
func repeat(f func() error) (sample, error) {
	const n = 200
	start := time.Now()
	for range n {
		if err := f(); err != nil {
			return sample{}, err
		}
	}
	return sample{wall: time.Since(start) / n}, nil
}

func us(d time.Duration) string { return fmt.Sprintf("%.0f µs", float64(d)/1e3) }

func (b *suite) verifies(what, bundle, policyText string, trustRoot []byte, against string, bare func(*envelope) error) error {
	data := b.read(bundle)
	policy, err := signer.ParsePolicy([]byte(policyText))
	if err == nil && trustRoot != nil {
		policy, err = policy.WithTrustRoot(trustRoot)
	}
	var e envelope
	if err = errors.Join(err, json.Unmarshal(data, &e)); err != nil {
		return err
	}
	want := signer.Expectation{PURL: signPURL, ArtifactSHA256: sha256.Sum256([]byte(signArtifact)), Now: time.Now()}
	x, y, ratio, err := b.pairs(
		func() (sample, error) {
			return repeat(func() error { _, err := signer.Verify(data, policy, want); return err })
		},
		func() (sample, error) { return repeat(func() error { return bare(&e) }) },
	)
	if err != nil {
		return err
	}
	row(what, us(x.wall), us(y.wall)+" "+against, ratio, "")
	return nil
}

var errBadSignature = errors.New("the signature is wrong")

func (b *suite) verifyKey() error {
	text := b.read("key")
	key, err := signer.ParsePrivateKey(text)
	if err != nil {
		return err
	}
	public, err := publicKey(key.PublicPEM())
	if err != nil {
		return err
	}
	return b.verifies("verify in process: key, 12 steps", "key.bundle", string(b.read("key.policy")), nil, "bare ECDSA verify", func(e *envelope) error {
		if sum, sig := e.signed(); !ecdsa.VerifyASN1(public, sum, sig) {
			return errBadSignature
		}
		return nil
	})
}

func (b *suite) verifyIdentity() error {
	rootText := b.read("root.json")
	trusted, err := root.NewTrustedRootFromJSON(rootText)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(rootText)
	policy := fmt.Sprintf(`{"version":1,"trust":{"mode":"file","trustedRoot":"/root.json","sha256":%q},"rules":[{
		"match":{"registry":%q,"package":"pkg:generic/acme/*"},"anyOf":[{"keyless":{"issuer":%q,"san":%q}}]}]}`,
		hex.EncodeToString(sum[:]), signRegistry, signIssuer, signIdentity)
	return b.verifies("verify in process: certificate, log entry, timestamp, certificate log, 12 steps", "identity.bundle", policy, rootText,
		"bare ECDSA verify and chain", func(e *envelope) error {
			leaf, err := x509.ParseCertificate(e.VerificationMaterial.Certificate.RawBytes)
			if err != nil {
				return err
			}
			if _, err := trusted.FulcioCertificateAuthorities()[0].Verify(leaf, leaf.NotBefore); err != nil {
				return err
			}
			if sum, sig := e.signed(); !ecdsa.VerifyASN1(leaf.PublicKey.(*ecdsa.PublicKey), sum, sig) {
				return errBadSignature
			}
			return nil
		})
}

// cosign is Sigstore's client on the PATH, or the one that the end-to-end tests built.
func cosign() string {
	if path, err := exec.LookPath("cosign"); err == nil {
		return path
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	found, _ := filepath.Glob(filepath.Join(cache, "steps-e2e", "cosign-*"))
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}

func (b *suite) coldVerify() error {
	who := []string{"--certificate-identity", signIdentity, "--certificate-oidc-issuer", signIssuer, "--trusted-root", b.at("root.json"), b.at("artifact")}
	file := func() (sample, error) {
		return b.process(nil, filepath.Join(b.bin, "steps"), append([]string{"verify-bundle", "--bundle", b.at("file.bundle")}, who...)...)
	}
	steps := func() (sample, error) {
		return b.process(nil, filepath.Join(b.bin, "steps"), "verify-bundle", b.at("key.bundle"), "--policy", b.at("key.policy"),
			"--artifact", b.at("artifact"), "--purl", signPURL)
	}
	path := cosign()
	for _, c := range []struct {
		what string
		run  func() (sample, error)
	}{
		{"cold steps verify-bundle, any file's bundle with a certificate", file},
		{"cold steps verify-bundle, install steps with a key", steps},
	} {
		against := func() (sample, error) {
			return b.process([]string{"HOME=" + b.dir}, path, append([]string{"verify-blob", "--new-bundle-format", "--use-signed-timestamps", "--bundle", b.at("file.bundle")}, who...)...)
		}
		if path == "" {
			x, _, _, err := b.pairs(c.run, func() (sample, error) { return b.process(nil, "/bin/true") })
			if err != nil {
				return err
			}
			fmt.Printf("| %s, against cosign verify-blob | %s | not installed | | ≤ 0.5 |\n", c.what, ms(x.wall))
			continue
		}
		x, y, ratio, err := b.pairs(c.run, against)
		if err != nil {
			return err
		}
		row(c.what+", against cosign verify-blob", ms(x.wall), ms(y.wall), ratio, "≤ 0.5")
	}
	return nil
}
