package e2e

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	prototrustroot "github.com/sigstore/protobuf-specs/gen/pb-go/trustroot/v1"
	"github.com/sigstore/sigstore-go/pkg/root"

	"steps.example/signer"
	"steps.example/signer/online"
)

const (
	registry  = "https://registry.example"
	workflow  = "signing/steps.yml"
	branch    = "refs/heads/main"
	identity  = registry + "/" + workflow + "@" + branch
	buildFile = registry + "/" + workflow

	// certLogName cannot be an address with a port: the log takes no such origin.
	certLogName = "certlog.test"

	// publication is how often the logs publish what waits; signers wait for it.
	publication = "200ms"
)

// sigstore is a deployment whose servers run until the test ends.
type sigstore struct {
	issuer *issuer
	config []byte // the signing configuration
	trust  trust

	stampURL string
}

// trust is what a trust root is made of.
type trust struct {
	authority *x509.Certificate
	certLog   crypto.PublicKey
	log       crypto.PublicKey
	logURL    string
	stamps    []*x509.Certificate // from the signing one to the root
}

func newSigstore(t *testing.T) *sigstore {
	t.Helper()
	dir := t.TempDir()
	caKey, certLogKey, logKey := newKey(t), newKey(t), newKey(t)
	s := &sigstore{issuer: newIssuer(t), trust: trust{
		authority: newAuthority(t, caKey), certLog: certLogKey.Public(), log: logKey.Public()}}
	ca := writePEM(t, dir, "ca.pem", "CERTIFICATE", s.trust.authority.Raw)
	certLogPublic := writePEM(t, dir, "certlog.pub", "PUBLIC KEY", must(x509.MarshalPKIXPublicKey(s.trust.certLog))(t))

	certLog := start(t, tesseract, "/healthz", func(port, _ int) []string {
		return []string{
			"--http_endpoint=127.0.0.1:" + strconv.Itoa(port), "--origin=" + certLogName, "--ext_key_usages=CodeSigning", "--roots_pem_file=" + ca,
			"--private_key=" + writePEM(t, dir, "certlog.key", "EC PRIVATE KEY", must(x509.MarshalECPrivateKey(certLogKey))(t)),
			"--storage_dir=" + filepath.Join(dir, "certlog"), "--checkpoint_interval=" + publication,
		}
	})
	authority := start(t, fulcio, "/healthz", func(port, other int) []string {
		return []string{
			"serve", "--host=127.0.0.1", "--port=" + strconv.Itoa(port), "--grpc-host=127.0.0.1", "--grpc-port=" + strconv.Itoa(other),
			"--metrics-port=0", "--log_type=prod", "--legacy-unix-domain-socket=legacy", // in its own directory
			"--config-path=" + write(t, dir, "fulcio.json", s.authorityConfig(t)),
			"--ca=fileca", "--fileca-watch=false", "--fileca-cert=" + ca, "--fileca-key-passwd=", "--fileca-key=" + writeKey(t, dir, "ca.key", caKey),
			"--ct-log-url=" + certLog, "--ct-log-origin=" + certLogName, "--ct-log-public-key-path=" + certLogPublic,
		}
	})
	s.trust.logURL = start(t, rekor, "/healthz", func(port, other int) []string {
		// The checkpoint's origin has to be the host in the trust root's URL.
		return []string{
			"serve", "--hostname=127.0.0.1", "--http-address=127.0.0.1", "--http-port=" + strconv.Itoa(port),
			"--grpc-address=127.0.0.1", "--grpc-port=" + strconv.Itoa(other), "--http-metrics-port=0",
			"--signer-filepath=" + writeKey(t, dir, "log.key", logKey), "--storage-dir=" + filepath.Join(dir, "log"),
			"--checkpoint-interval=" + publication,
		}
	})
	s.stampURL = start(t, timestamper, "/ping", func(port, _ int) []string {
		return []string{
			"serve", "--host=127.0.0.1", "--port=" + strconv.Itoa(port), "--scheme=http", "--timestamp-signer=memory", "--disable-ntp-monitoring",
		}
	}) + "/api/v1/timestamp"
	chain := must(get(s.stampURL + "/certchain"))(t)
	for block, rest := pem.Decode(chain); block != nil; block, rest = pem.Decode(rest) {
		s.trust.stamps = append(s.trust.stamps, must(x509.ParseCertificate(block.Bytes))(t))
	}
	if len(s.trust.stamps) < 2 {
		t.Fatalf("the timestamp authority's chain is %q", chain)
	}
	s.config = signingConfig(t, s.issuer.url, authority, s.trust.logURL, s.stampURL)
	return s
}

// authorityConfig has Fulcio make names from the workflow and the branch in a token.
func (s *sigstore) authorityConfig(t *testing.T) []byte {
	t.Helper()
	return marshal(t, map[string]any{
		"OIDCIssuers": map[string]any{s.issuer.url: map[string]any{
			"IssuerURL": s.issuer.url, "ClientID": audience, "Type": "ci-provider", "CIProvider": "registry"}},
		"CIIssuerMetadata": map[string]any{"registry": map[string]any{
			"DefaultTemplateValues":          map[string]string{"url": registry},
			"ExtensionTemplates":             map[string]string{"BuildSignerURI": "{{.url}}/{{.workflow}}"},
			"SubjectAlternativeNameTemplate": "{{.url}}/{{.workflow}}@{{.branch}}"}},
	})
}

func signingConfig(t *testing.T, issuer, authority, log, stamper string) []byte {
	t.Helper()
	service := func(url string, version uint32) []root.Service {
		return []root.Service{{URL: url, MajorAPIVersion: version, ValidityPeriodStart: begun(), Operator: "e2e"}}
	}
	one := root.ServiceConfiguration{Selector: prototrustroot.ServiceSelector_ANY}
	c := must(root.NewSigningConfig(root.SigningConfigMediaType02,
		service(authority, 1), service(issuer, 1), service(log, 2), one, service(stamper, 1), one))(t)
	return must(c.MarshalJSON())(t)
}

// json is the trusted_root.json.
func (r trust) json(t *testing.T) []byte {
	t.Helper()
	logs := func(key crypto.PublicKey, url string) map[string]*root.TransparencyLog {
		id := sha256.Sum256(must(x509.MarshalPKIXPublicKey(key))(t))
		return map[string]*root.TransparencyLog{hex.EncodeToString(id[:]): {
			BaseURL: url, ID: id[:], ValidityPeriodStart: begun(),
			HashFunc: crypto.SHA256, PublicKey: key, SignatureHashFunc: crypto.SHA256,
		}}
	}
	last := len(r.stamps) - 1
	stamper := &root.SigstoreTimestampingAuthority{
		Leaf: r.stamps[0], Intermediates: r.stamps[1:last], Root: r.stamps[last], ValidityPeriodStart: begun(), URI: "https://tsa.test"}
	made := must(root.NewTrustedRoot(root.TrustedRootMediaType01,
		[]root.CertificateAuthority{&root.FulcioCertificateAuthority{Root: r.authority, ValidityPeriodStart: begun(), URI: "https://ca.test"}},
		logs(r.certLog, "https://"+certLogName), []root.TimestampingAuthority{stamper}, logs(r.log, r.logURL)))(t)
	return must(made.MarshalJSON())(t)
}

// begun is when the deployment says that it began: before all that it signs.
func begun() time.Time { return time.Now().Add(-time.Hour) }

// claims are those of the registry's signing workflow.
func claims() map[string]any {
	return map[string]any{"sub": "workflow-1", "workflow": workflow, "branch": branch}
}

// signer signs as the registry, with tokens of these claims.
func (s *sigstore) signer(t *testing.T, claims map[string]any) *signer.Signer {
	t.Helper()
	token := s.issuer.token(t, claims)
	services, trustRoot := s.services(t)
	return must(services.IdentitySigner(online.Identity{
		Token: func(context.Context) (string, error) { return token, nil },
		Name:  identity, Issuer: s.issuer.url, CertificateLogs: 1,
	}, trustRoot))(t)
}

func (s *sigstore) services(t *testing.T) (*online.Services, *signer.TrustRoot) {
	t.Helper()
	return must(online.ParseServices(s.config, online.Options{}))(t), must(signer.ParseTrustRoot(s.trust.json(t)))(t)
}

func newAuthority(t *testing.T, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "e2e authority", Organization: []string{"e2e"}},
		NotBefore: begun(), NotAfter: begun().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	return must(x509.ParseCertificate(der))(t)
}

func writeKey(t *testing.T, dir, name string, key *ecdsa.PrivateKey) string {
	t.Helper()
	return writePEM(t, dir, name, "PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key))(t))
}

func writePEM(t *testing.T, dir, name, kind string, der []byte) string {
	t.Helper()
	return write(t, dir, name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func write(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// must takes what a call returns, and gives its value or ends the test.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
