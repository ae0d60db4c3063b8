package sigstoretest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net/url"
	"time"

	ct "github.com/google/certificate-transparency-go"
	"github.com/google/certificate-transparency-go/tls"
	"github.com/google/certificate-transparency-go/x509util"
)

// Lifetime is how long certificates are valid.
const Lifetime = 10 * time.Minute

// Identity is what a certificate says about its owner.
type Identity struct {
	SAN, Issuer string
	BuildSigner string // "" to leave it out

	NotBefore time.Time // zero for now
	NoSCT     bool      // do not put it into the certificate log
	ForeignCT bool      // put it into another's
	// Bend changes the certificate before it is signed.
	Bend func(*x509.Certificate)
}

var (
	oidIssuer      = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}
	oidIssuerDER   = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 8}
	oidBuildSigner = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 9}
	oidSCTs        = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}
)

// Certificate certifies a key, and returns the certificate as DER.
func (s *Sigstore) Certificate(public crypto.PublicKey, id Identity) []byte {
	s.t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		s.t.Fatal(err)
	}
	from := id.NotBefore
	if from.IsZero() {
		from = s.now()
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		NotBefore:    from.Truncate(time.Second),
		NotAfter:     from.Truncate(time.Second).Add(Lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		ExtraExtensions: []pkix.Extension{
			{Id: oidIssuer, Value: []byte(id.Issuer)},
			{Id: oidIssuerDER, Value: s.text(id.Issuer)},
		},
	}
	if name, err := url.Parse(id.SAN); err == nil && name.Scheme != "" {
		template.URIs = []*url.URL{name}
	} else {
		template.EmailAddresses = []string{id.SAN}
	}
	if id.BuildSigner != "" {
		template.ExtraExtensions = append(template.ExtraExtensions, pkix.Extension{Id: oidBuildSigner, Value: s.text(id.BuildSigner)})
	}
	if id.Bend != nil {
		id.Bend(template)
	}
	if !id.NoSCT {
		key := s.ctKey
		if id.ForeignCT {
			key = s.newKey("foreign certificate log")
		}
		// The promise is over the certificate without it.
		bare := s.create(template, s.authority, public)
		template.ExtraExtensions = append(template.ExtraExtensions, s.promise(bare, key, from))
	}
	return s.create(template, s.authority, public).Raw
}

func (s *Sigstore) text(v string) []byte {
	s.t.Helper()
	der, err := asn1.MarshalWithParams(v, "utf8")
	if err != nil {
		s.t.Fatal(err)
	}
	return der
}

// promise is a certificate log's signed certificate timestamp.
func (s *Sigstore) promise(bare *x509.Certificate, key *ecdsa.PrivateKey, at time.Time) pkix.Extension {
	s.t.Helper()
	sct := ct.SignedCertificateTimestamp{
		SCTVersion: ct.V1,
		LogID:      ct.LogID{KeyID: s.keyID(key)},
		Timestamp:  uint64(at.UnixMilli()),
	}
	entry := &ct.TimestampedEntry{
		Timestamp: sct.Timestamp,
		EntryType: ct.PrecertLogEntryType,
		PrecertEntry: &ct.PreCert{
			IssuerKeyHash:  sha256.Sum256(s.authority.cert.RawSubjectPublicKeyInfo),
			TBSCertificate: bare.RawTBSCertificate,
		},
	}
	input, err := ct.SerializeSCTSignatureInput(sct, ct.LogEntry{Leaf: ct.MerkleTreeLeaf{TimestampedEntry: entry}})
	if err != nil {
		s.t.Fatal(err)
	}
	sum := sha256.Sum256(input)
	sig, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	if err != nil {
		s.t.Fatal(err)
	}
	sct.Signature = ct.DigitallySigned{
		Algorithm: tls.SignatureAndHashAlgorithm{Hash: tls.SHA256, Signature: tls.ECDSA},
		Signature: sig,
	}
	list, err := x509util.MarshalSCTsIntoSCTList([]*ct.SignedCertificateTimestamp{&sct})
	if err != nil {
		s.t.Fatal(err)
	}
	encoded, err := tls.Marshal(*list)
	if err != nil {
		s.t.Fatal(err)
	}
	der, err := asn1.Marshal(encoded)
	if err != nil {
		s.t.Fatal(err)
	}
	return pkix.Extension{Id: oidSCTs, Value: der}
}
