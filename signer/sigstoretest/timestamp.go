package sigstoretest

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"time"

	"github.com/digitorus/timestamp"
)

var (
	oidUsage       = asn1.ObjectIdentifier{2, 5, 29, 37}
	oidStampUsage  = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 8}
	oidStampPolicy = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 2}
)

// newStampLeaf is the timestamp authority's certificate. RFC 3161 wants its one usage
// to be critical.
func (s *Sigstore) newStampLeaf() *x509.Certificate {
	s.t.Helper()
	usage, err := asn1.Marshal([]asn1.ObjectIdentifier{oidStampUsage})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.create(&x509.Certificate{
		SerialNumber:    big.NewInt(2),
		Subject:         pkix.Name{CommonName: "stamp"},
		NotBefore:       s.start,
		NotAfter:        s.start.AddDate(10, 0, 0),
		KeyUsage:        x509.KeyUsageDigitalSignature,
		ExtraExtensions: []pkix.Extension{{Id: oidUsage, Critical: true, Value: usage}},
	}, s.stamper, s.stampKey.Public())
}

// Timestamp says that a signature was there at a time.
func (s *Sigstore) Timestamp(signature []byte, at time.Time) []byte {
	s.t.Helper()
	sum := sha256.Sum256(signature)
	return s.stampDigest(sum[:], at)
}

func (s *Sigstore) stampDigest(sum []byte, at time.Time) []byte {
	s.t.Helper()
	response, err := (&timestamp.Timestamp{
		HashAlgorithm: crypto.SHA256,
		HashedMessage: sum,
		Time:          at,
		SerialNumber:  big.NewInt(at.UnixNano()),
		Policy:        oidStampPolicy,
	}).CreateResponseWithOpts(s.stampLeaf, s.stampKey, crypto.SHA256)
	if err != nil {
		s.t.Fatal(err)
	}
	return response
}
