package signer

import (
	"crypto/sha256"
	"encoding/base64"
)

// revokedFile is what a policy no longer trusts, in JSON.
type revokedFile struct {
	Keys       []string              `json:"keys"`
	Bundles    []string              `json:"bundles"`
	PURLs      []string              `json:"purls"`
	LogEntries []logEntryFile        `json:"logEntries"`
	Identities []revokedIdentityFile `json:"identities"`
}

type logEntryFile struct {
	Log   string `json:"log"`
	Index *int64 `json:"index"`
}

type revokedIdentityFile struct {
	Issuer string  `json:"issuer"`
	SAN    string  `json:"san"`
	After  *string `json:"after"`
}

func (f *revokedFile) build() (revocations, error) {
	r := revocations{
		keys:    make(map[string]bool),
		digests: make(map[[sha256.Size]byte]bool),
		purls:   make(map[string]bool),
		entries: make(map[logEntry]bool),
	}
	for i, id := range f.Keys {
		if _, ok := parseKeyID(id); !ok {
			return r, policyFault("write the id that `steps keygen` printed", "revoked: key %d, %q, is not a key id", i+1, clip(id, 100))
		}
		r.keys[id] = true
	}
	for i, s := range f.Bundles {
		sum, err := parseDigest(s, "bundle")
		if err != nil {
			return r, within(err, "revoked: bundle %d", i+1)
		}
		r.digests[sum] = true
	}
	for i, s := range f.PURLs {
		p, err := parsePURL(s)
		if err != nil {
			return r, within(err, "revoked: purl %d", i+1)
		}
		r.purls[p.whole] = true
	}
	for i, e := range f.LogEntries {
		log, ok := parseKeyID(e.Log)
		if !ok || e.Index == nil || *e.Index < 0 {
			return r, policyFault(`write {"log": the logId of the trust root, "index": a number from 0}`,
				"revoked: log entry %d, %q, is not one", i+1, clip(e.Log, 100))
		}
		r.entries[logEntry{log, *e.Index}] = true
	}
	for i, id := range f.Identities {
		x, err := id.build()
		if err != nil {
			return r, within(err, "revoked: identity %d", i+1)
		}
		r.identities = append(r.identities, x)
	}
	return r, nil
}

func (f *revokedIdentityFile) build() (r revokedIdentity, err error) {
	if r.issuer, err = checkIdentityText(f.Issuer, "issuer"); err != nil {
		return r, err
	}
	if r.san, err = checkIdentityText(f.SAN, "san"); err != nil {
		return r, err
	}
	r.after, err = parseWindow(f.After, "after")
	return r, err
}

// parseKeyID reads the base64 of a sha256 in its only spelling.
func parseKeyID(s string) (sum [32]byte, ok bool) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b) != len(sum) || base64.StdEncoding.EncodeToString(b) != s {
		return sum, false
	}
	copy(sum[:], b)
	return sum, true
}
