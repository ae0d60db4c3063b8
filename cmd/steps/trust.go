package main

import (
	"errors"
	"fmt"
	"strings"

	"steps.example/steps"
)

// verifyRequest is one bundle to be verified, with everything that it depends
// on. It is plain data since another process may do the work.
type verifyRequest struct {
	Bundle         []byte `json:"bundle"`
	Policy         []byte `json:"policy"`
	PURL           string `json:"purl"`
	Registry       string `json:"registry,omitempty"`
	ArtifactSHA256 string `json:"artifact_sha256"`
}

// verifiedBundle is what a good bundle says.
type verifiedBundle struct {
	Document     []byte `json:"document"`
	PURL         string `json:"purl"`
	Registry     string `json:"registry"`
	Revision     int    `json:"revision"`
	IssuedAt     string `json:"issued_at"`
	KeyID        string `json:"key_id"`
	BundleSHA256 string `json:"bundle_sha256"`
}

// trustError is a bundle or policy that is not good.
type trustError struct {
	Kind string `json:"kind"`
	Msg  string `json:"message"`
}

func (e *trustError) Error() string { return e.Msg }

func trustCode(err error) (int, bool) {
	e, ok := errors.AsType[*trustError](err)
	switch {
	case !ok:
		return 0, false
	case e.Kind == "bug":
		return exitBug, true
	}
	return exitTrust, true
}

// agrees insists that the package URL and the document inside speak of one
// package.
func agrees(purl string, doc *steps.Document) error {
	bare, _, _ := strings.Cut(purl, "?")
	bare, _, _ = strings.Cut(bare, "#")
	name, version, _ := strings.Cut(bare[strings.LastIndexByte(bare, '/')+1:], "@")
	if name != doc.Name || doc.Version != "" && version != doc.Version {
		return &trustError{Kind: "wrong-package", Msg: fmt.Sprintf(
			"the package URL %s and the document for %s %s are not of one package", purl, doc.Name, doc.Version)}
	}
	return nil
}
