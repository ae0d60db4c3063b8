//go:build !light

package main

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"steps.example/signer"
)

// verifyBundle verifies here.
func verifyBundle(_ context.Context, r verifyRequest) (*verifiedBundle, error) {
	policy, err := signer.ParsePolicy(r.Policy)
	if err != nil {
		return nil, trustErrorOf("trust policy: ", err)
	}
	want := signer.Expectation{PURL: r.PURL, Registry: r.Registry, Now: time.Now()}
	if n, err := hex.Decode(want.ArtifactSHA256[:], []byte(r.ArtifactSHA256)); err != nil || n != len(want.ArtifactSHA256) {
		return nil, usagef("%q is no SHA-256 in hex", r.ArtifactSHA256)
	}
	v, err := signer.Verify(r.Bundle, policy, want)
	if err != nil {
		return nil, trustErrorOf("", err)
	}
	return &verifiedBundle{
		Document: v.Document, PURL: v.PURL, Registry: v.Registry, Revision: v.Revision,
		IssuedAt: v.IssuedAt.UTC().Format(time.RFC3339), KeyID: v.KeyID,
		BundleSHA256: hex.EncodeToString(v.BundleSHA256[:]),
	}, nil
}

func trustErrorOf(prefix string, err error) error {
	e, ok := errors.AsType[*signer.Error](err)
	if !ok {
		return err
	}
	return &trustError{Kind: string(e.Kind), Msg: prefix + e.Error()}
}
