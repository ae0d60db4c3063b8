package signer

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/rsa"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxAPIBytes bounds a Homebrew API file. The largest has about 30 MB.
	maxAPIBytes = 128 << 20

	maxAPIKeys       = 8
	maxJWSHeader     = 1 << 10
	maxJWSSignatures = 16
	maxJWSHeaders    = 16 // members of one
	minRSABits       = 2048
	maxRSABits       = 8192
)

// apiTrust is who may sign the Homebrew API, and how old its files may be.
type apiTrust struct {
	keys   map[string]*rsa.PublicKey // by kid
	maxAge time.Duration
}

func (f *homebrewFile) build() (*apiTrust, error) {
	t := &apiTrust{keys: make(map[string]*rsa.PublicKey)}
	var err error
	if t.maxAge, err = parseAge(f.MaxAge); err != nil {
		return nil, err
	}
	if len(f.Keys) == 0 || len(f.Keys) > maxAPIKeys {
		return nil, policyFault("list the key that Homebrew ships", "%d keys, want 1 to %d", len(f.Keys), maxAPIKeys)
	}
	for i, k := range f.Keys {
		if _, err := checkIdentityText(k.KID, "kid"); err != nil {
			return nil, within(err, "key %d", i+1)
		}
		if t.keys[k.KID] != nil {
			return nil, policyFault("list it once", "key %d repeats %q", i+1, k.KID)
		}
		if t.keys[k.KID], err = parseRSA([]byte(k.PEM)); err != nil {
			return nil, within(err, "key %d: pem", i+1)
		}
	}
	return t, nil
}

func parseRSA(text []byte) (*rsa.PublicKey, error) {
	const hint = "paste the RSA public key that Homebrew ships, as -----BEGIN PUBLIC KEY-----"
	der, err := decodePEM(text, publicPEMType)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, fail(KindMalformed, hint, "public key: %s", printable(err))
	}
	key, ok := parsed.(*rsa.PublicKey)
	if !ok {
		return nil, fail(KindUnsupported, hint, "public key: %T, want RSA", parsed)
	}
	if n := key.N.BitLen(); n < minRSABits || n > maxRSABits {
		return nil, fail(KindUnsupported, hint, "public key: %d bits, want %d to %d", n, minRSABits, maxRSABits)
	}
	return key, nil
}

// API is a verified file of the Homebrew JSON API: a list of formulae or casks.
type API struct {
	Payload []byte // what was signed; one JSON array
	KeyID   string // the kid that signed it
}

// jws is a JSON web signature, general form.
type jws struct {
	Payload    string        `json:"payload"`
	Signatures jwsSignatures `json:"signatures"`
}

type jwsSignature struct {
	Protected string   `json:"protected"`
	Header    jwsKeyID `json:"header"`
	Signature string   `json:"signature"`
}

// jwsSignatures is a list that is bounded while it is read: a file of the greatest size
// could hold forty million empty signatures.
type jwsSignatures []jwsSignature

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (l *jwsSignatures) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if token, err := d.ReadToken(); err != nil || token.Kind() != jsontext.KindBeginArray {
		return cmp.Or(err, errors.New("is not a list"))
	}
	for d.PeekKind() != jsontext.KindEndArray {
		if len(*l) == maxJWSSignatures {
			return fmt.Errorf("has more than %d elements", maxJWSSignatures)
		}
		var s jwsSignature
		if err := json.UnmarshalDecode(d, &s); err != nil {
			return err
		}
		*l = append(*l, s)
	}
	_, err := d.ReadToken()
	return err
}

// jwsKeyID is the kid in an unprotected header. The other members are nothing to us, but
// have to be few and texts.
type jwsKeyID string

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (k *jwsKeyID) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if token, err := d.ReadToken(); err != nil || token.Kind() != jsontext.KindBeginObject {
		return cmp.Or(err, errors.New("is not an object"))
	}
	for n := 0; d.PeekKind() != jsontext.KindEndObject; n++ {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		is := name.String() == "kid"
		value, err := d.ReadToken()
		switch {
		case err != nil:
			return err
		case value.Kind() != jsontext.KindString || n == maxJWSHeaders:
			return errors.New("has something other than a few texts")
		case is:
			*k = jwsKeyID(value.String())
		}
	}
	_, err := d.ReadToken()
	return err
}

// jwsHeader is the one protected header that is accepted, in any order of members.
type jwsHeader struct {
	Alg  string   `json:"alg"`
	B64  *bool    `json:"b64"`
	Crit []string `json:"crit"`
}

// VerifyAPI checks a file of the Homebrew JSON API, a JSON web signature (PS512, with
// the payload as it is: RFC 7797), against the keys that the policy pins. obtained is
// when the file was fetched; older than the policy's maxAge before now, or later than
// now, it is refused.
//
// That is all the freshness there is: the signature covers neither a time nor a
// version nor the name of the file. An old file that somebody serves today verifies,
// and so does the list of casks under the name of the list of formulae; look packages
// up by [API.Formula] or [API.Cask].
func VerifyAPI(data []byte, policy *Policy, obtained, now time.Time) (*API, error) {
	const hint = "fetch the file again; if it stays so, do not use it"
	if policy == nil || policy.api == nil {
		return nil, fail(KindPolicy, `add "homebrewAPI" to the trust policy, if you trust it`, "the trust policy trusts no Homebrew API")
	}
	trust := policy.api
	switch {
	case now.IsZero() || obtained.IsZero():
		return nil, fail(KindMalformed, "pass the clock, and when the file was fetched", "the age of the Homebrew API file is not known")
	case obtained.After(now):
		return nil, fail(KindStale, "check this machine's clock, and fetch the file again", "Homebrew API: fetched at %s, which is yet to come",
			obtained.UTC().Format(time.RFC3339))
	case now.Sub(obtained) > trust.maxAge:
		return nil, fail(KindStale, "fetch it again", "Homebrew API: fetched at %s, more than %s ago",
			obtained.UTC().Format(time.RFC3339), trust.maxAge)
	case len(data) > maxAPIBytes:
		return nil, fail(KindTooLarge, hint, "Homebrew API: %d bytes, more than %d", len(data), maxAPIBytes)
	}
	var file jws
	if err := json.Unmarshal(data, &file, json.RejectUnknownMembers(true)); err != nil {
		return nil, fail(KindMalformed, hint, "Homebrew API: not a JSON web signature: %s", jsonFault(err))
	}
	if len(file.Signatures) == 0 {
		return nil, fail(KindMalformed, hint, "Homebrew API: 0 signatures, want 1 to %d", maxJWSSignatures)
	}
	for _, s := range file.Signatures {
		kid := string(s.Header)
		key := trust.keys[kid]
		if key == nil {
			continue
		}
		payload := []byte(file.Payload)
		if err := s.verify(key, payload); err != nil {
			return nil, err
		}
		return &API{Payload: payload, KeyID: kid}, nil
	}
	return nil, fail(KindUntrustedKey, "check where the file comes from; Homebrew may have a new key", "Homebrew API: no signature by a key that the trust policy lists")
}

func (s *jwsSignature) verify(key *rsa.PublicKey, payload []byte) error {
	const hint = "fetch the file again; if it stays so, someone altered it: do not use it"
	encoding := base64.RawURLEncoding.Strict()
	if len(s.Protected) > maxJWSHeader || len(s.Signature) > maxJWSHeader*2 {
		return fail(KindTooLarge, hint, "Homebrew API: header or signature is too long")
	}
	header, err := encoding.DecodeString(s.Protected)
	if err != nil {
		return fail(KindMalformed, hint, "Homebrew API: protected header: %s", printable(err))
	}
	var h jwsHeader
	if err := json.Unmarshal(header, &h, json.RejectUnknownMembers(true)); err != nil {
		return fail(KindMalformed, hint, "Homebrew API: protected header: %s", jsonFault(err))
	}
	if h.Alg != "PS512" || h.B64 == nil || *h.B64 || len(h.Crit) != 1 || h.Crit[0] != "b64" {
		return fail(KindUnsupported, hint, `Homebrew API: protected header is not {"alg":"PS512","b64":false,"crit":["b64"]}`)
	}
	signature, err := encoding.DecodeString(s.Signature)
	if err != nil {
		return fail(KindMalformed, hint, "Homebrew API: signature: %s", printable(err))
	}
	hash := sha512.New()
	hash.Write([]byte(s.Protected + "."))
	hash.Write(payload)
	options := &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}
	if err := rsa.VerifyPSS(key, crypto.SHA512, hash.Sum(nil), signature, options); err != nil {
		return fail(KindBadSignature, hint, "Homebrew API: the signature is not by the pinned key over this payload")
	}
	return nil
}

// Formula returns the element of a list of formulae with the name, as it was signed.
func (a *API) Formula(name string) ([]byte, error) { return a.find("name", name) }

// Cask returns the element of a list of casks with the token, as it was signed.
func (a *API) Cask(token string) ([]byte, error) { return a.find("token", token) }

// find reads the whole list, so that a faulty or ambiguous one is refused wherever the
// element stands.
func (a *API) find(member, name string) (found []byte, err error) {
	const hint = "fetch the file again, and check that it is the right one"
	d := jsontext.NewDecoder(bytes.NewBuffer(a.Payload))
	if token, err := d.ReadToken(); err != nil || token.Kind() != jsontext.KindBeginArray {
		return nil, fail(KindMalformed, hint, "Homebrew API: the payload is not a list")
	}
	for d.PeekKind() != jsontext.KindEndArray {
		element, err := d.ReadValue()
		if err != nil {
			return nil, fail(KindMalformed, hint, "Homebrew API: payload: %s", printable(err))
		}
		is, err := hasText(element, member, name)
		switch {
		case err != nil:
			return nil, fail(KindMalformed, hint, "Homebrew API: payload: %s", printable(err))
		case is && found != nil:
			return nil, fail(KindMalformed, hint, "Homebrew API: two elements with %s %q", member, clip(name, 100))
		case is:
			found = bytes.Clone(element)
		}
	}
	if _, err := d.ReadToken(); err != nil || len(bytes.TrimSpace(a.Payload[d.InputOffset():])) > 0 {
		return nil, fail(KindMalformed, hint, "Homebrew API: bytes follow the payload's list")
	}
	if found == nil {
		return nil, fail(KindWrongPackage, hint, "Homebrew API: no element with %s %q", member, clip(name, 100))
	}
	return found, nil
}

// hasText tells whether an object has the member with that text.
func hasText(object jsontext.Value, member, text string) (bool, error) {
	if object.Kind() != jsontext.KindBeginObject {
		return false, nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(object))
	if _, err := d.ReadToken(); err != nil {
		return false, err
	}
	for d.PeekKind() != jsontext.KindEndObject {
		key, err := d.ReadToken()
		if err != nil {
			return false, err
		}
		if key.String() != member {
			if err := d.SkipValue(); err != nil {
				return false, err
			}
			continue
		}
		value, err := d.ReadToken()
		return err == nil && value.Kind() == jsontext.KindString && value.String() == text, err
	}
	return false, nil
}
