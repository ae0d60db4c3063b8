package signer

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// trustFile names the trust root in JSON.
type trustFile struct {
	Comment     string         `json:"comment"`
	Mode        string         `json:"mode"`
	TrustedRoot string         `json:"trustedRoot"`
	SHA256      string         `json:"sha256"`
	Witnesses   *witnessesFile `json:"witnesses"`
}

type indexFile struct {
	Comment    string `json:"comment"`
	Required   *bool  `json:"required"`
	URL        string `json:"url"`
	Root       string `json:"root"`
	SHA256     string `json:"sha256"`
	MaxAge     string `json:"maxAge"`
	MinVersion *int64 `json:"minVersion"`
}

type homebrewFile struct {
	Comment string       `json:"comment"`
	Keys    []apiKeyFile `json:"keys"`
	MaxAge  string       `json:"maxAge"`
}

type apiKeyFile struct {
	KID string `json:"kid"`
	PEM string `json:"pem"`
}

// Index is what a policy says about the signed index of a registry, for the code that
// reads it. This package does not.
type Index struct {
	Required   bool     // what the index does not list is refused
	URL        string   // of the repository
	Root       string   // path of its first root metadata
	RootSHA256 [32]byte // of that file
	MaxAge     time.Duration
	MinVersion int64 // of the snapshot; 0 for any
}

// Index returns what the policy says about the index; ok is false where it says
// nothing.
func (p *Policy) Index() (index Index, ok bool) {
	if p.index == nil {
		return Index{}, false
	}
	return *p.index, true
}

func (f *trustFile) build() (t trustPin, err error) {
	if f.Mode != "file" {
		return t, policyFault(`write "file"`, "mode is %q", clip(f.Mode, 100))
	}
	if t.path, err = checkPath(f.TrustedRoot, "trustedRoot"); err != nil {
		return t, err
	}
	if t.sha256, err = parseDigest(f.SHA256, "sha256"); err != nil {
		return t, err
	}
	if f.Witnesses != nil {
		if t.witnesses, err = f.Witnesses.build(); err != nil {
			return t, within(err, "witnesses")
		}
	}
	return t, nil
}

func (f *indexFile) build() (*Index, error) {
	x := &Index{Required: f.Required == nil || *f.Required, URL: f.URL}
	if len(f.URL) > maxNameBytes || !indexURL.MatchString(f.URL) {
		return nil, policyFault("write an https, http or file URL without query", "url %q is not one", clip(f.URL, 200))
	}
	var err error
	if x.Root, err = checkPath(f.Root, "root"); err != nil {
		return nil, err
	}
	if x.RootSHA256, err = parseDigest(f.SHA256, "sha256"); err != nil {
		return nil, err
	}
	if x.MaxAge, err = parseAge(f.MaxAge); err != nil {
		return nil, err
	}
	if f.MinVersion != nil {
		if x.MinVersion = *f.MinVersion; x.MinVersion < 1 || x.MinVersion > maxRevision {
			return nil, policyFault("choose one in that range", "minVersion %d is not in 1..%d", x.MinVersion, maxRevision)
		}
	}
	return x, nil
}

var (
	indexURL = regexp.MustCompile(`^(https?://[a-zA-Z0-9.:_\[\]-]+|file://)(/[!-"$->@-~]*)?$`)
	timeSpan = regexp.MustCompile(`^([1-9][0-9]{0,4})([hm])$`)
)

const maxPathBytes = 1000

// checkPath wants an absolute path: a policy must not mean another file in another
// directory.
func checkPath(s, member string) (string, error) {
	if len(s) < 2 || len(s) > maxPathBytes || s[0] != '/' || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", policyFault("write an absolute path", "%s %q is not one", member, clip(s, 200))
	}
	return s, nil
}

// parseAge reads a time span like 24h or 90m.
func parseAge(s string) (time.Duration, error) {
	m := timeSpan.FindStringSubmatch(s)
	if m == nil {
		return 0, policyFault("write it like 24h or 90m", "maxAge %q is not a time span", clip(s, 100))
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0, policyFault("write it like 24h or 90m", "maxAge %q is not a time span", clip(s, 100))
	}
	if m[2] == "m" {
		return time.Duration(n) * time.Minute, nil
	}
	return time.Duration(n) * time.Hour, nil
}
