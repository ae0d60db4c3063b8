//go:build !light && !noregistry

package main

import (
	"context"
	"encoding/json"
	"strings"

	"steps.example/schema"
	"steps.example/signer"
	"steps.example/signer/registry/index"
	"steps.example/signer/registry/work"
)

// checkFor is how a registry checks documents: by the code that clients run, and with
// cue by the schema as well, which takes some fifteen times as long as signing.
func checkFor(cue bool) work.Check {
	return func(purl string, data []byte) (*signer.CheckedDocument, error) {
		if err := signer.CheckPURL(purl); err != nil {
			return nil, err
		}
		if cue {
			if err := schema.CrossCheck(data); err != nil {
				return nil, err
			}
		}
		doc, err := signer.CheckDocument(data)
		if err != nil {
			return nil, err
		}
		return doc, agrees(purl, doc.Steps())
	}
}

// verifyBy trusts what a policy file does.
func verifyBy(path string) (index.Verify, error) {
	data, err := readBounded(path, maxTrustFile)
	if err != nil {
		return nil, err
	}
	policy, err := loadPolicy(data)
	if err != nil {
		return nil, inFile(path, err)
	}
	return func(_ context.Context, bundle []byte, want signer.Expectation) (*signer.Verified, error) {
		return signer.Verify(bundle, policy, want)
	}, nil
}

// verifyByKey trusts one key for whatever package it signs: the key is that of the
// process that signs.
func verifyByKey(ctx context.Context, signing *signingFlags) (index.Verify, error) {
	key, err := signing.openKey(ctx)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, bundle []byte, want signer.Expectation) (*signer.Verified, error) {
		name, _, _ := strings.Cut(want.PURL, "@")
		data, err := json.Marshal(map[string]any{
			"version": 1,
			"rules": []any{map[string]any{
				"match": map[string]string{"registry": want.Registry, "package": name},
				"anyOf": []any{map[string]any{"key": map[string]string{"id": key.ID(), "pem": string(key.PublicPEM())}}},
			}},
		})
		if err != nil {
			return nil, err
		}
		policy, err := signer.ParsePolicy(data)
		if err != nil {
			return nil, err
		}
		return signer.Verify(bundle, policy, want)
	}, nil
}
