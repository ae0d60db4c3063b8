//go:build !light

package main

import (
	"crypto/sha256"
	"encoding/json"
	"strings"

	"steps.example/signer"
)

// emptyDocument is the document of a package that has no steps.
func emptyDocument(purl, layout string) ([]byte, error) {
	name, version, err := cutName(purl)
	if err != nil || name == "" || version == "" {
		return nil, usagef("--purl %q: write it like pkg:generic/acme/demo@1.0", purl)
	}
	return json.Marshal(struct {
		Schema  int    `json:"schema"`
		Layout  string `json:"layout"`
		Name    string `json:"name"`
		Version string `json:"version"`
	}{1, layout, name, version})
}

// priorBundle is what a revision has to know of the one before. The bundle is the
// signer's own: nothing in it is believed by anybody else.
type priorBundle struct {
	DSSEEnvelope struct {
		Payload []byte `json:"payload"`
	} `json:"dsseEnvelope"`
}

type priorStatement struct {
	Predicate struct {
		PURL     string `json:"purl"`
		Registry string `json:"registry"`
		Revision int    `json:"revision"`
	} `json:"predicate"`
}

// follow returns the digest of the payload that the new statement comes after. If that
// is known as a bundle, the revision follows from it unless it is given.
func (o *signOptions) follow(given bool, revision *int) (digest [sha256.Size]byte, err error) {
	if o.previous == "" {
		return digest, nil
	}
	if sum, ok := strings.CutPrefix(o.previous, "sha256:"); ok {
		if !given {
			return digest, usagef("--previous sha256:…: say which revision this is with --revision NUMBER")
		}
		return parseSum(sum)
	}
	data, err := readBounded(o.previous, maxSource)
	if err != nil {
		return digest, err
	}
	var bundle priorBundle
	var statement priorStatement
	if err = json.Unmarshal(data, &bundle); err == nil {
		err = json.Unmarshal(bundle.DSSEEnvelope.Payload, &statement)
	}
	prior := statement.Predicate
	switch {
	case err != nil || prior.Revision < 1:
		return digest, &trustError{Kind: string(signer.KindMalformed), Msg: o.previous + ": is not a bundle that steps sign wrote"}
	case prior.PURL != o.purl || prior.Registry != o.registry:
		return digest, &trustError{Kind: string(signer.KindWrongPackage), Msg: o.previous + ": is for " + prior.PURL + " of " + prior.Registry}
	case !given:
		*revision = prior.Revision + 1
	case *revision <= prior.Revision:
		return digest, usagef("--revision %d: %s is revision %d already", *revision, o.previous, prior.Revision)
	}
	return sha256.Sum256(bundle.DSSEEnvelope.Payload), nil
}
