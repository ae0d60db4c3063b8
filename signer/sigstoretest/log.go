package sigstoretest

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/bits"
	"sync"

	"github.com/cyberphone/json-canonicalization/go/src/webpki.org/jsoncanonicalizer"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	rekor "github.com/sigstore/rekor-tiles/v2/pkg/generated/protobuf"
	rekornote "github.com/sigstore/rekor-tiles/v2/pkg/note"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/sigstore/sigstore/pkg/signature"
	checkpoint "github.com/transparency-dev/formats/log"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
	"google.golang.org/protobuf/encoding/protojson"
)

// transparencyLog is an append-only log whose tree is computed anew for each proof.
type transparencyLog struct {
	key *ecdsa.PrivateKey

	mu        sync.Mutex
	leaves    [][]byte // hashes
	witnesses []note.Signer
}

// Log is the transparency log, for a client in the same process.
func (s *Sigstore) Log() sign.Transparency { return logClient{s.log} }

type logClient struct{ log *transparencyLog }

// GetTransparencyLogEntry adds the bundle's signature to the log, and the entry to the
// bundle.
func (c logClient) GetTransparencyLogEntry(_ context.Context, keyOrCert []byte, b *protobundle.Bundle) error {
	block, _ := pem.Decode(keyOrCert)
	verifier := &rekor.Verifier{KeyDetails: protocommon.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256}
	if block.Type == "CERTIFICATE" {
		verifier.Verifier = &rekor.Verifier_X509Certificate{X509Certificate: &protocommon.X509Certificate{RawBytes: block.Bytes}}
	} else {
		verifier.Verifier = &rekor.Verifier_PublicKey{PublicKey: &rekor.PublicKey{RawBytes: block.Bytes}}
	}
	e := b.GetDsseEnvelope()
	pae := fmt.Sprintf("DSSEv1 %d %s %d %s", len(e.GetPayloadType()), e.GetPayloadType(), len(e.GetPayload()), e.GetPayload())
	sum := sha256.Sum256([]byte(pae))
	entry, err := c.log.add(&rekor.HashedRekordRequestV002{
		Digest:    sum[:],
		Signature: &rekor.Signature{Content: e.GetSignatures()[0].GetSig(), Verifier: verifier},
	})
	if err != nil {
		return err
	}
	b.VerificationMaterial.TlogEntries = append(b.VerificationMaterial.TlogEntries, entry)
	return nil
}

// add appends an entry. As the real log does, it refuses signatures that do not
// verify.
func (l *transparencyLog) add(r *rekor.HashedRekordRequestV002) (*protorekor.TransparencyLogEntry, error) {
	if err := checkEntry(r); err != nil {
		return nil, err
	}
	entry := &rekor.Entry{
		ApiVersion: "0.0.2",
		Kind:       "hashedrekord",
		Spec: &rekor.Spec{Spec: &rekor.Spec_HashedRekordV002{HashedRekordV002: &rekor.HashedRekordLogEntryV002{
			Data:      &protocommon.HashOutput{Algorithm: protocommon.HashAlgorithm_SHA2_256, Digest: r.GetDigest()},
			Signature: r.GetSignature(),
		}}},
	}
	encoded, err := protojson.Marshal(entry)
	if err != nil {
		return nil, err
	}
	body, err := jsoncanonicalizer.Transform(encoded)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	index := len(l.leaves)
	l.leaves = append(l.leaves, rfc6962.DefaultHasher.HashLeaf(body))
	signed, id, err := l.checkpoint()
	if err != nil {
		return nil, err
	}
	return &protorekor.TransparencyLogEntry{
		LogIndex:    int64(index),
		LogId:       &protocommon.LogId{KeyId: id},
		KindVersion: &protorekor.KindVersion{Kind: "hashedrekord", Version: "0.0.2"},
		InclusionProof: &protorekor.InclusionProof{
			LogIndex:   int64(index),
			TreeSize:   int64(len(l.leaves)),
			RootHash:   treeHash(l.leaves),
			Hashes:     inclusion(index, l.leaves),
			Checkpoint: &protorekor.Checkpoint{Envelope: string(signed)},
		},
		CanonicalizedBody: body,
	}, nil
}

func checkEntry(r *rekor.HashedRekordRequestV002) error {
	var public crypto.PublicKey
	var err error
	if raw := r.GetSignature().GetVerifier().GetX509Certificate().GetRawBytes(); raw != nil {
		cert, certErr := x509.ParseCertificate(raw)
		if certErr != nil {
			return certErr
		}
		public = cert.PublicKey
	} else if public, err = x509.ParsePKIXPublicKey(r.GetSignature().GetVerifier().GetPublicKey().GetRawBytes()); err != nil {
		return err
	}
	key, ok := public.(*ecdsa.PublicKey)
	if !ok || !ecdsa.VerifyASN1(key, r.GetDigest(), r.GetSignature().GetContent()) {
		return fmt.Errorf("the signature does not verify")
	}
	return nil
}

// checkpoint signs the tree as it is.
func (l *transparencyLog) checkpoint() (signed, id []byte, err error) {
	signer, err := signature.LoadECDSASignerVerifier(l.key, crypto.SHA256)
	if err != nil {
		return nil, nil, err
	}
	noteSigner, err := rekornote.NewNoteSigner(context.Background(), LogHost, signer)
	if err != nil {
		return nil, nil, err
	}
	_, id, err = rekornote.KeyHash(LogHost, l.key.Public())
	if err != nil {
		return nil, nil, err
	}
	text := checkpoint.Checkpoint{Origin: LogHost, Size: uint64(len(l.leaves)), Hash: treeHash(l.leaves)}.Marshal()
	signed, err = note.Sign(&note.Note{Text: string(text)}, append([]note.Signer{noteSigner}, l.witnesses...)...)
	return signed, id, err
}

// treeHash is RFC 6962's, section 2.1.
func treeHash(leaves [][]byte) []byte {
	if len(leaves) == 1 {
		return leaves[0]
	}
	k := split(len(leaves))
	return rfc6962.DefaultHasher.HashChildren(treeHash(leaves[:k]), treeHash(leaves[k:]))
}

// inclusion is the audit path of RFC 6962, section 2.1.1.
func inclusion(m int, leaves [][]byte) [][]byte {
	if len(leaves) == 1 {
		return nil
	}
	k := split(len(leaves))
	if m < k {
		return append(inclusion(m, leaves[:k]), treeHash(leaves[k:]))
	}
	return append(inclusion(m-k, leaves[k:]), treeHash(leaves[:k]))
}

// split is the largest power of two below n.
func split(n int) int { return 1 << (bits.Len(uint(n-1)) - 1) }
