package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"steps.example/steps"
)

// verifyRequest is a document's bundles to be verified, with everything that the
// verdict depends on. It is plain data since another process may do the work.
type verifyRequest struct {
	Bundles        [][]byte     `json:"bundles"`
	Policy         []byte       `json:"policy"`
	PURL           string       `json:"purl"`
	Registry       string       `json:"registry,omitempty"`
	PackageID      string       `json:"package_id,omitempty"`
	ArtifactSHA256 string       `json:"artifact_sha256"`
	Seen           []seenMark   `json:"seen,omitempty"`
	Index          indexRequest `json:"index"`
}

// indexRequest is how the index that a policy names is to be read.
type indexRequest struct {
	Dir        string `json:"dir,omitempty"` // what is remembered of indexes; "" for nowhere
	Offline    bool   `json:"offline,omitempty"`
	AllowStale bool   `json:"allow_stale,omitempty"`
}

// apiRequest is a document to be found in a file of the Homebrew JSON API.
type apiRequest struct {
	File     []byte    `json:"file"`
	Policy   []byte    `json:"policy"`
	Formula  string    `json:"formula,omitempty"` // one of the two
	Cask     string    `json:"cask,omitempty"`
	Obtained time.Time `json:"obtained"`
}

// verifiedDocument is what is known of a document that somebody vouches for. Of one
// from the Homebrew API it has neither package URL nor revision.
type verifiedDocument struct {
	Document      []byte      `json:"document"`
	PURL          string      `json:"purl,omitempty"`
	Registry      string      `json:"registry,omitempty"`
	PackageID     string      `json:"package_id,omitempty"`
	Revision      int         `json:"revision,omitempty"`
	IssuedAt      string      `json:"issued_at,omitempty"`
	Signers       []signatory `json:"signers"`
	BundleSHA256  string      `json:"bundle_sha256"`
	PayloadSHA256 string      `json:"payload_sha256,omitempty"`
	PolicySHA256  string      `json:"policy_sha256"`
	// Stale says why the index would have been refused without --allow-stale.
	Stale string `json:"stale,omitempty"`
}

// signatory is who signed: a key, or an identity of an issuer.
type signatory struct {
	KeyID        string      `json:"key_id,omitempty"`
	Identity     string      `json:"identity,omitempty"`
	Issuer       string      `json:"issuer,omitempty"`
	Times        []time.Time `json:"times,omitempty"`
	BundleSHA256 string      `json:"bundle_sha256"`
}

func (s signatory) String() string {
	if s.KeyID != "" {
		return "key " + s.KeyID
	}
	return s.Identity + " of " + s.Issuer
}

// signedBy names all who signed, for people and receipts.
func signedBy(list []signatory) string {
	names := make([]string, 0, len(list))
	for _, s := range list {
		names = append(names, s.String())
	}
	return strings.Join(names, " and ")
}

// trustError is a bundle, policy or state that is not good.
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
	name, version, err := cutName(purl)
	if err != nil || name != doc.Name || doc.Version != "" && version != doc.Version {
		return &trustError{Kind: "wrong-package", Msg: fmt.Sprintf(
			"the package URL %s and the document for %s %s are not of one package", purl, doc.Name, doc.Version)}
	}
	return nil
}

// cutName takes the package's name and version from a package URL.
func cutName(purl string) (name, version string, err error) {
	bare, _, _ := strings.Cut(purl, "#")
	bare, _, _ = strings.Cut(bare, "?")
	name, version, _ = strings.Cut(bare[strings.LastIndexByte(bare, '/')+1:], "@")
	if name, err = url.PathUnescape(name); err != nil {
		return "", "", err
	}
	version, err = url.PathUnescape(version)
	return name, version, err
}
