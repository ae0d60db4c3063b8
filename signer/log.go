package signer

import (
	"cmp"
	"crypto"
	"encoding/hex"
	"slices"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// Log is a transparency log of a trust root.
type Log struct {
	ID  [32]byte // sha256 of its public key
	URL string
	Key crypto.PublicKey
}

// Logs are the transparency logs of the trust root, by URL.
func (r *TrustRoot) Logs() []Log {
	var list []Log
	for name, log := range r.material.RekorLogs() {
		l := Log{URL: log.BaseURL, Key: log.PublicKey}
		// The name is the id in hex; other ids than those are of logs that are not v2.
		if id, err := hex.DecodeString(name); err == nil && len(id) == len(l.ID) {
			copy(l.ID[:], id)
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b Log) int { return cmp.Or(cmp.Compare(a.URL, b.URL), slices.Compare(a.ID[:], b.ID[:])) })
	return list
}

// Checkpoint is what a log signed of its tree. It stands in a bundle unverified.
type Checkpoint struct {
	Log  [32]byte
	Text []byte
}

// Checkpoints are those of a bundle's log entries, for package logwatch. Nothing is
// verified; the bundle need not be one of ours.
func Checkpoints(bundle []byte) ([]Checkpoint, error) {
	if err := checkBundle(bundle, maxLimits.BundleBytes); err != nil {
		return nil, err
	}
	b := new(protobundle.Bundle)
	if err := protojson.Unmarshal(bundle, b); err != nil {
		return nil, fail(KindMalformed, badBundle, "bundle: not a Sigstore bundle in JSON: %s", printable(err))
	}
	var list []Checkpoint
	for _, entry := range b.GetVerificationMaterial().GetTlogEntries() {
		c := Checkpoint{Text: []byte(entry.GetInclusionProof().GetCheckpoint().GetEnvelope())}
		if copy(c.Log[:], entry.GetLogId().GetKeyId()) == len(c.Log) && len(c.Text) > 0 {
			list = append(list, c)
		}
	}
	return list, nil
}
