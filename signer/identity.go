package signer

import (
	"crypto/x509"
	"encoding/asn1"
	"regexp"
	"strings"
	"time"

	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/verify"
)

// identity is a signer known by the name that a certificate authority certified.
type identity struct {
	issuer      string         // who vouches for the name: the OpenID Connect issuer
	san         string         // the name, or
	pattern     *regexp.Regexp // what the whole name has to match
	buildSigner string         // the build's definition, "" for any
	need        evidence
}

// String names the identity as the policy spells it.
func (id *identity) String() string {
	if id.pattern != nil {
		return id.pattern.String() + " of " + id.issuer
	}
	return id.san + " of " + id.issuer
}

// same tells whether two identities are spelled the same.
func (id *identity) same(other *identity) bool { return id.String() == other.String() }

func (id *identity) matches(c certificate.Summary) bool {
	switch {
	case c.Issuer != id.issuer,
		id.pattern == nil && c.SubjectAlternativeName != id.san,
		id.pattern != nil && !id.pattern.MatchString(c.SubjectAlternativeName),
		id.buildSigner != "" && c.BuildSignerURI != id.buildSigner:
		return false
	}
	return true
}

// option has sigstore-go compare the identity once more, after the certificate's
// chain.
func (id *identity) option() (verify.PolicyOption, error) {
	pattern := ""
	if id.pattern != nil {
		pattern = id.pattern.String()
	}
	san, err := verify.NewSANMatcher(id.san, pattern)
	if err != nil {
		return nil, err
	}
	want, err := verify.NewCertificateIdentity(san, verify.IssuerMatcher{Issuer: id.issuer},
		certificate.Extensions{BuildSignerURI: id.buildSigner})
	if err != nil {
		return nil, err
	}
	return verify.WithCertificateIdentity(want), nil
}

var (
	oidIssuer    = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}
	oidIssuerDER = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 8}
)

// certified reads who a certificate speaks for. Nothing vouches for the certificate
// yet.
func certified(leaf *x509.Certificate) (certificate.Summary, error) {
	const hint = "have it signed with a certificate of a Sigstore certificate authority"
	who, err := certificate.SummarizeCertificate(leaf)
	if err != nil {
		return who, fail(KindMalformed, hint, "bundle: certificate: %s", printable(err))
	}
	// The issuer stands there in two forms, and the later one would win.
	for _, x := range leaf.Extensions {
		var text string
		switch {
		case x.Id.Equal(oidIssuer):
			text = string(x.Value)
		case x.Id.Equal(oidIssuerDER):
			if _, err := asn1.Unmarshal(x.Value, &text); err != nil {
				return who, fail(KindMalformed, hint, "bundle: certificate: issuer: %s", printable(err))
			}
		default:
			continue
		}
		if text != who.Issuer {
			return who, fail(KindMalformed, hint, "bundle: the certificate names two issuers, %q and %q", clip(text, 100), clip(who.Issuer, 100))
		}
	}
	if who.Issuer == "" {
		return who, fail(KindMalformed, hint, "bundle: the certificate names no issuer")
	}
	return who, nil
}

// parseNamePattern compiles a regular expression for a whole name. It has to say so
// itself, by ^ and $, and is then anchored whatever stands between them.
func parseNamePattern(s string) (p *regexp.Regexp, reason string) {
	inner, begins := strings.CutPrefix(s, "^")
	inner, ends := strings.CutSuffix(inner, "$")
	switch {
	case !isIdentityText(s):
		return nil, "is not 1 to 1000 visible ASCII characters"
	case !begins || !ends:
		return nil, "does not begin with ^ and end with $"
	case inner == "" || strings.HasSuffix(inner, `\`):
		return nil, "is not whole between ^ and $"
	}
	// Alone first: "a)|(b" would be fine inside the group and leave its anchors.
	if _, err := regexp.Compile(inner); err != nil {
		return nil, "is not a regular expression: " + printable(err)
	}
	p, err := regexp.Compile(`\A(?:` + inner + `)\z`)
	if err != nil {
		return nil, "is not a regular expression: " + printable(err)
	}
	return p, ""
}

// revokedIdentity is not trusted for signatures made at after or later.
type revokedIdentity struct {
	issuer, san string
	after       time.Time // zero: never trusted
}

func (r *revokedIdentity) covers(s *Signatory) bool {
	if s.Issuer != r.issuer || s.Identity != r.san {
		return false
	}
	for _, t := range s.Times {
		if !t.Before(r.after) {
			return true
		}
	}
	return len(s.Times) == 0 || r.after.IsZero()
}
