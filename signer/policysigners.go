package signer

import (
	"strings"
	"time"
)

// signerFile is one signer of a rule in JSON: a key or an identity.
type signerFile struct {
	Key     *keyFile     `json:"key"`
	Keyless *keylessFile `json:"keyless"`
}

type keyFile struct {
	Comment   string  `json:"comment"`
	ID        string  `json:"id"`
	PEM       string  `json:"pem"`
	NotBefore *string `json:"notBefore"`
	NotAfter  *string `json:"notAfter"`
	Time      *string `json:"time"`
	TLog      *int    `json:"tlog"`
}

type keylessFile struct {
	Comment     string  `json:"comment"`
	Issuer      string  `json:"issuer"`
	SAN         *string `json:"san"`
	SANPattern  *string `json:"sanPattern"`
	BuildSigner *string `json:"buildSigner"`
	TLog        *int    `json:"tlog"`
	Timestamps  *int    `json:"timestamps"`
	SCT         *int    `json:"sct"`
}

// maxThreshold is more logs or authorities than any deployment has.
const maxThreshold = 8

func (f *keyFile) build() (k trustedKey, err error) {
	if k.publicKey, err = parsePublicKey([]byte(f.PEM)); err != nil {
		return k, within(err, "pem")
	}
	if f.ID != k.id {
		return k, policyFault("make sure it is the key you mean, then write its id",
			"id is %q but the pem's is %q", clip(f.ID, 100), k.id)
	}
	if k.notBefore, err = parseWindow(f.NotBefore, "notBefore"); err != nil {
		return k, err
	}
	if k.notAfter, err = parseWindow(f.NotAfter, "notAfter"); err != nil {
		return k, err
	}
	if f.NotBefore != nil && f.NotAfter != nil && !k.notBefore.Before(k.notAfter) {
		return k, policyFault("correct the dates", "notBefore is not before notAfter")
	}
	switch {
	case f.Time == nil || *f.Time == "current":
		k.need.current = true
	case *f.Time == "tsa":
		k.need.stamps = 1
	default:
		return k, policyFault(`write "current" or "tsa"`, "time is %q", clip(*f.Time, 100))
	}
	k.need.logs, err = threshold(f.TLog, "tlog", 0, 0)
	return k, err
}

func (f *keylessFile) build() (id identity, err error) {
	if id.issuer, err = checkIdentityText(f.Issuer, "issuer"); err != nil {
		return id, err
	}
	switch {
	case (f.SAN == nil) == (f.SANPattern == nil):
		return id, policyFault("write the one name, exactly, or a pattern", "needs either san or sanPattern")
	case f.SAN != nil:
		if id.san, err = checkIdentityText(*f.SAN, "san"); err != nil {
			return id, err
		}
	default:
		pattern, reason := parseNamePattern(*f.SANPattern)
		if reason != "" {
			return id, policyFault("write it like ^https://ci[.]example/acme/[a-z]+$", "sanPattern %q %s", clip(*f.SANPattern, 200), reason)
		}
		id.pattern = pattern
	}
	if f.BuildSigner != nil {
		if id.buildSigner, err = checkIdentityText(*f.BuildSigner, "buildSigner"); err != nil {
			return id, err
		}
	}
	if id.need.logs, err = threshold(f.TLog, "tlog", 1, 0); err != nil {
		return id, err
	}
	// A certificate lives for minutes: without a trusted time nobody knows whether
	// that was when it signed.
	if id.need.times, err = threshold(f.Timestamps, "timestamps", 1, 1); err != nil {
		return id, err
	}
	id.need.scts, err = threshold(f.SCT, "sct", 1, 0)
	return id, err
}

const maxIdentityBytes = 1000

// isIdentityText tells 1 to 1000 visible ASCII characters. As a regular expression it
// would take longer to compile, in every process, than all else that has to be set up.
func isIdentityText(s string) bool {
	return s != "" && len(s) <= maxIdentityBytes && !strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' })
}

func checkIdentityText(s, member string) (string, error) {
	if !isIdentityText(s) {
		return "", policyFault("write it as it stands in certificates",
			"%s %q is not 1 to 1000 visible ASCII characters", member, clip(s, 200))
	}
	return s, nil
}

func threshold(given *int, member string, absent, least int) (int, error) {
	switch {
	case given == nil:
		return absent, nil
	case *given < least || *given > maxThreshold:
		return 0, policyFault("choose one in that range", "%s %d is not in %d..%d", member, *given, least, maxThreshold)
	}
	return *given, nil
}

func parseWindow(s *string, member string) (time.Time, error) {
	if s == nil {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, *s)
	if err != nil || t.IsZero() {
		return t, policyFault("write it like 2026-01-31T12:00:00Z", "%s %q is not an RFC 3339 time", member, clip(*s, 100))
	}
	return t, nil
}
