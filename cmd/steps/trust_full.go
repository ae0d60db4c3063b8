//go:build !light

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"steps.example/signer"
)

// maxTrustFile bounds, in bytes, policies, trust roots and the like.
const maxTrustFile = 4 << 20

// verifyBundle verifies here.
func verifyBundle(ctx context.Context, r verifyRequest) (*verifiedDocument, error) {
	// What is asked for is judged before what the bundle or the index says of it.
	if err := signer.CheckPURL(r.PURL); err != nil {
		return nil, trustErrorOf("--purl: ", err)
	}
	policy, err := loadPolicy(r.Policy)
	if err != nil {
		return nil, err
	}
	want := signer.Expectation{
		PURL: r.PURL, Registry: r.Registry, PackageID: r.PackageID, Now: time.Now(), State: seenMarks(r.Seen),
	}
	if want.ArtifactSHA256, err = parseSum(r.ArtifactSHA256); err != nil {
		return nil, err
	}
	listed, stale, err := consult(ctx, policy, r.PURL, r.Index)
	if err != nil {
		return nil, trustErrorOf("", err)
	}
	want.Listed = listed
	v, err := signer.VerifyAll(r.Bundles, policy, want)
	if err != nil {
		return nil, trustErrorOf("", err)
	}
	d := &verifiedDocument{
		Document: v.Document, PURL: v.PURL, Registry: v.Registry, PackageID: v.PackageID, Revision: v.Revision,
		IssuedAt:     v.IssuedAt.UTC().Format(time.RFC3339),
		BundleSHA256: hex.EncodeToString(v.BundleSHA256[:]), PayloadSHA256: hex.EncodeToString(v.PayloadSHA256[:]),
		PolicySHA256: hex.EncodeToString(v.PolicySHA256[:]), Stale: stale,
	}
	for _, s := range v.Signatories {
		d.Signers = append(d.Signers, signatory{
			KeyID: s.KeyID, Identity: s.Identity, Issuer: s.Issuer, Times: s.Times,
			BundleSHA256: hex.EncodeToString(s.BundleSHA256[:]),
		})
	}
	return d, nil
}

// verifyAPI verifies a file of the Homebrew API here, and finds a document in it.
func verifyAPI(_ context.Context, r apiRequest) (*verifiedDocument, error) {
	policy, err := signer.ParsePolicy(r.Policy)
	if err != nil {
		return nil, trustErrorOf("trust policy: ", err)
	}
	api, err := signer.VerifyAPI(r.File, policy, r.Obtained, time.Now())
	if err != nil {
		return nil, trustErrorOf("", err)
	}
	find, name := api.Formula, r.Formula
	if r.Cask != "" {
		find, name = api.Cask, r.Cask
	}
	document, err := find(name)
	if err != nil {
		return nil, trustErrorOf("", err)
	}
	file, digest := sha256.Sum256(r.File), policy.Digest()
	sum := hex.EncodeToString(file[:])
	return &verifiedDocument{
		Document: document, BundleSHA256: sum, PolicySHA256: hex.EncodeToString(digest[:]),
		Signers: []signatory{{KeyID: api.KeyID, BundleSHA256: sum}},
	}, nil
}

// loadPolicy parses a trust policy and reads the trust root that it names. The policy
// pins that file's digest, so it is of no matter who reads it when.
func loadPolicy(text []byte) (*signer.Policy, error) {
	policy, err := signer.ParsePolicy(text)
	if err != nil {
		return nil, trustErrorOf("trust policy: ", err)
	}
	path := policy.TrustRootFile()
	if path == "" {
		return policy, nil
	}
	root, err := readBounded(path, maxTrustFile)
	if err != nil {
		return nil, &trustError{Kind: string(signer.KindTrustRoot), Msg: fmt.Sprintf("the trust root that the policy names: %s", err)}
	}
	policy, err = policy.WithTrustRoot(root)
	return policy, trustErrorOf("", err)
}

// seenMarks is what was seen of one package, as the state that package signer asks.
type seenMarks []seenMark

func (list seenMarks) Seen(registry, _ string) (m signer.Mark, err error) {
	for _, s := range list {
		if s.Registry == registry {
			m.Revision = s.Revision
			m.PayloadSHA256, err = parseSum(s.PayloadSHA256)
			return m, err
		}
	}
	return m, nil
}

func parseSum(s string) (sum [sha256.Size]byte, err error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(sum) {
		return sum, usagef("%q is no SHA-256 in hex", s)
	}
	return [sha256.Size]byte(b), nil
}

func trustErrorOf(prefix string, err error) error {
	e, ok := errors.AsType[*signer.Error](err)
	if !ok {
		return err
	}
	return &trustError{Kind: string(e.Kind), Msg: prefix + e.Error()}
}

// readBounded reads a file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", path, err)
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return data, nil
}
