//go:build !light

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"steps.example/schema"
	"steps.example/signer"
)

// policyText is a trust policy as it is written. The schema and package signer say what
// is in it; this is for writing one and for telling people what one says.
type policyText struct {
	Comment  string        `json:"comment,omitempty"`
	Version  int           `json:"version"`
	Rules    []ruleText    `json:"rules"`
	Trust    *trustText    `json:"trust,omitempty"`
	Index    *indexText    `json:"index,omitempty"`
	Homebrew *homebrewText `json:"homebrewAPI,omitempty"`
	Revoked  *revokedText  `json:"revoked,omitempty"`
}

type ruleText struct {
	Comment string      `json:"comment,omitempty"`
	Match   matchText   `json:"match"`
	AnyOf   []whoText   `json:"anyOf,omitempty"`
	AllOf   []groupText `json:"allOf,omitempty"`
}

type matchText struct {
	Registry string `json:"registry"`
	Package  string `json:"package"`
}

type groupText struct {
	AnyOf []whoText `json:"anyOf"`
}

type whoText struct {
	Key     *keyText     `json:"key,omitempty"`
	Keyless *keylessText `json:"keyless,omitempty"`
}

type keyText struct {
	Comment   string `json:"comment,omitempty"`
	ID        string `json:"id"`
	PEM       string `json:"pem"`
	NotBefore string `json:"notBefore,omitempty"`
	NotAfter  string `json:"notAfter,omitempty"`
	Time      string `json:"time,omitempty"`
	TLog      int    `json:"tlog,omitempty"`
}

type keylessText struct {
	Comment     string `json:"comment,omitempty"`
	Issuer      string `json:"issuer"`
	SAN         string `json:"san,omitempty"`
	SANPattern  string `json:"sanPattern,omitempty"`
	BuildSigner string `json:"buildSigner,omitempty"`
	TLog        *int   `json:"tlog,omitempty"`
	Timestamps  *int   `json:"timestamps,omitempty"`
	SCT         *int   `json:"sct,omitempty"`
}

type trustText struct {
	Comment     string `json:"comment,omitempty"`
	Mode        string `json:"mode"`
	TrustedRoot string `json:"trustedRoot"`
	SHA256      string `json:"sha256"`

	Witnesses *witnessesText `json:"witnesses,omitempty"`
}

type witnessesText struct {
	Threshold int      `json:"threshold"`
	Keys      []string `json:"keys"`
}

type indexText struct {
	Comment    string `json:"comment,omitempty"`
	Required   *bool  `json:"required,omitempty"`
	URL        string `json:"url"`
	Root       string `json:"root"`
	SHA256     string `json:"sha256"`
	MaxAge     string `json:"maxAge"`
	MinVersion int64  `json:"minVersion,omitempty"`
}

type homebrewText struct {
	Comment string   `json:"comment,omitempty"`
	Keys    []apiKey `json:"keys"`
	MaxAge  string   `json:"maxAge"`
}

type apiKey struct {
	KID string `json:"kid"`
	PEM string `json:"pem"`
}

type revokedText struct {
	Keys       []string          `json:"keys"`
	Bundles    []string          `json:"bundles,omitempty"`
	PURLs      []string          `json:"purls,omitempty"`
	LogEntries []json.RawMessage `json:"logEntries,omitempty"`
	Identities []json.RawMessage `json:"identities,omitempty"`
}

// checkPolicy holds the schema and the parser that clients use against each other.
func checkPolicy(data []byte) (*signer.Policy, error) {
	cueErr := schema.ValidateTrust(data)
	policy, err := signer.ParsePolicy(data)
	switch {
	case cueErr == nil && err == nil:
		return policy, nil
	case cueErr != nil && err != nil:
		// The schema says where.
		return nil, &trustError{Kind: string(signer.KindPolicy), Msg: cueErr.Error() + "\n" + err.Error()}
	case err != nil:
		// The parser also looks into keys and across rules, which the schema cannot.
		return nil, trustErrorOf("", err)
	}
	return nil, fmt.Errorf("BUG(steps): clients take this policy, but its schema does not: %w", cueErr)
}

// writePolicy writes a policy where no file is yet.
func writePolicy(path string, p *policyText) error {
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(p); err != nil {
		return err
	}
	if _, err := checkPolicy(data.Bytes()); err != nil {
		return err
	}
	err := writeNew(path, data.Bytes(), 0o644)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already, and a trust policy is never overwritten; edit it, or choose another name", path)
	}
	return err
}
