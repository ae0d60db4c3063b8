package online

import (
	"context"
	"fmt"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/sign"

	"steps.example/signer"
)

const statementType = "application/vnd.in-toto+json"

// SignArtifact signs any file as the Sigstore client specification asks, with a
// certificate for an identity token and a key that is made for it and forgotten. With
// statement, the file is an in-toto statement, and is put into an envelope. It is for
// the public conformance suite: no key of package signer's signs, and no trust policy
// of install steps accepts, what is not one of our statements. The bundle has been
// verified against the deployment's trusted_root.json before it is returned.
func (s *Services) SignArtifact(ctx context.Context, token string, file []byte, statement bool, trustRoot []byte) ([]byte, error) {
	if s.authority == nil {
		return nil, configFault(fmt.Errorf("no certificate authority"))
	}
	material, err := root.NewTrustedRootFromJSON(trustRoot)
	if err != nil {
		return nil, configFault(fmt.Errorf("trust root: %w", err))
	}
	key, err := sign.NewEphemeralKeypair(nil)
	if err != nil {
		return nil, artifactFault(err)
	}
	var content sign.Content = &sign.PlainData{Data: file}
	if statement {
		content = &sign.DSSEData{Data: file, PayloadType: statementType}
	}
	signed, err := sign.Bundle(content, key, sign.BundleOptions{
		Context:                    ctx,
		CertificateProvider:        s.authority,
		CertificateProviderOptions: &sign.CertificateProviderOptions{IDToken: token},
		TimestampAuthorities:       s.timestamps,
		TransparencyLogs:           s.logs,
		TrustedRoot:                material,
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, artifactFault(err)
	}
	data, err := (&bundle.Bundle{Bundle: signed}).MarshalJSON()
	if err != nil {
		return nil, artifactFault(err)
	}
	return data, nil
}

func artifactFault(err error) error {
	return &signer.Error{Kind: signer.KindService, Hint: "try again, and check the signing services and the identity token",
		Msg: fmt.Sprintf("sign: %q", err.Error())}
}
