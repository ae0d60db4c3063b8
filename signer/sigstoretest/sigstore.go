package sigstoretest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
)

// LogHost is the transparency log's name, which its checkpoints carry.
const LogHost = "127.0.0.1"

// Sigstore is one deployment. Its services are safe for concurrent use.
type Sigstore struct {
	t     testing.TB
	name  string
	now   func() time.Time
	start time.Time

	authority authority // of certificates
	stamper   authority // its own certificate chain, of timestamps
	stampLeaf *x509.Certificate
	stampKey  *ecdsa.PrivateKey
	ctKey     *ecdsa.PrivateKey // of the certificate log
	log       *transparencyLog
	secret    []byte // of tokens
}

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes a deployment that has worked since a day before now. Its keys follow from
// its name: it is the same in each process of a fuzzing test, and those of another name
// are strangers.
func New(t testing.TB, name string, now func() time.Time) *Sigstore {
	t.Helper()
	s := &Sigstore{t: t, name: name, now: now, start: now().Add(-24 * time.Hour).Truncate(time.Second), secret: []byte(name)}
	s.ctKey = s.newKey("certificate log")
	s.authority = s.newAuthority("certificates")
	s.stamper = s.newAuthority("timestamps")
	s.stampKey = s.newKey("stamp")
	s.stampLeaf = s.newStampLeaf()
	s.log = &transparencyLog{key: s.newKey("log")}
	return s
}

func (s *Sigstore) newKey(label string) *ecdsa.PrivateKey {
	s.t.Helper()
	scalar := sha256.Sum256([]byte(s.name + " " + label))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar[:])
	if err != nil {
		s.t.Fatal(err)
	}
	return key
}

func (s *Sigstore) newAuthority(name string) authority {
	s.t.Helper()
	key := s.newKey(name)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: name, Organization: []string{"sigstoretest"}},
		NotBefore:             s.start,
		NotAfter:              s.start.AddDate(10, 0, 0),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	return authority{s.create(template, authority{template, key}, key.Public()), key}
}

// create signs a certificate.
func (s *Sigstore) create(template *x509.Certificate, by authority, public crypto.PublicKey) *x509.Certificate {
	s.t.Helper()
	// No random source: RFC 6979 makes the signature follow from the rest.
	der, err := x509.CreateCertificate(nil, template, by.cert, public, by.key)
	if err != nil {
		s.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		s.t.Fatal(err)
	}
	return cert
}

// TrustRoot is the deployment's trusted_root.json.
func (s *Sigstore) TrustRoot() []byte {
	s.t.Helper()
	logs := func(key *ecdsa.PrivateKey, url string) map[string]*root.TransparencyLog {
		id := s.keyID(key)
		return map[string]*root.TransparencyLog{hex.EncodeToString(id[:]): {
			BaseURL: url, ID: id[:], ValidityPeriodStart: s.start,
			HashFunc: crypto.SHA256, PublicKey: key.Public(), SignatureHashFunc: crypto.SHA256,
		}}
	}
	r, err := root.NewTrustedRoot(root.TrustedRootMediaType01,
		[]root.CertificateAuthority{&root.FulcioCertificateAuthority{Root: s.authority.cert, ValidityPeriodStart: s.start, URI: "https://ca.test"}},
		logs(s.ctKey, "https://ct.test"),
		[]root.TimestampingAuthority{&root.SigstoreTimestampingAuthority{
			Root: s.stamper.cert, Leaf: s.stampLeaf, ValidityPeriodStart: s.start, URI: "https://tsa.test"}},
		logs(s.log.key, "https://"+LogHost))
	if err != nil {
		s.t.Fatal(err)
	}
	data, err := r.MarshalJSON()
	if err != nil {
		s.t.Fatal(err)
	}
	return data
}

// LogID names the transparency log: the sha256 of its public key.
func (s *Sigstore) LogID() [32]byte { return s.keyID(s.log.key) }

func (s *Sigstore) keyID(key *ecdsa.PrivateKey) [32]byte {
	s.t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		s.t.Fatal(err)
	}
	return sha256.Sum256(der)
}

// SigningConfig is the deployment's signing configuration v0.2 for clients that reach
// it at a base URL.
func (s *Sigstore) SigningConfig(base string) []byte {
	service := func(url string, version int) string {
		return fmt.Sprintf(`[{"url": %q, "majorApiVersion": %d, "validFor": {"start": %q}, "operator": "sigstoretest"}]`,
			url, version, s.start.UTC().Format(time.RFC3339))
	}
	return fmt.Appendf(nil, `{"mediaType": %q, "caUrls": %s, "rekorTlogUrls": %s, "tsaUrls": %s,
		"rekorTlogConfig": {"selector": "ANY"}, "tsaConfig": {"selector": "ANY"}}`,
		root.SigningConfigMediaType02, service(base, 1), service(base, 2), service(base+stampPath, 1))
}
