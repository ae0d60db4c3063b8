package signer

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"sync"
	"testing"
	"time"
)

const testAPI = `[{"name":"foo","versions":{"stable":"1"},"post_install_steps":[]},` + "\n" + ` {"name":"bar","token":"foo"}]`

// apiKeys are made once: RSA keys take long to find.
var apiKeys = sync.OnceValue(func() (keys [2]*rsa.PrivateKey) {
	for i := range keys {
		key, err := rsa.GenerateKey(rand.Reader, minRSABits)
		if err != nil {
			panic(err)
		}
		keys[i] = key
	}
	return keys
})

func publicPEM(t testing.TB, key any) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: publicPEMType, Bytes: der}))
}

func apiPolicyMap(t testing.TB, key any) map[string]any {
	t.Helper()
	value := policyMap(testKey(t, "signer"))
	value["homebrewAPI"] = map[string]any{"maxAge": "24h", "keys": []any{map[string]any{"kid": "homebrew-1", "pem": publicPEM(t, key)}}}
	return value
}

// signature is one of a JSON web signature, in its parts.
type webSignature struct {
	header, kid string
	payload     string
	key         *rsa.PrivateKey
	salt        int
}

func (s webSignature) encode(t testing.TB) map[string]any {
	t.Helper()
	protected := base64.RawURLEncoding.EncodeToString([]byte(s.header))
	sum := sha512.Sum512([]byte(protected + "." + s.payload))
	sig, err := rsa.SignPSS(rand.Reader, s.key, crypto.SHA512, sum[:], &rsa.PSSOptions{SaltLength: s.salt})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"protected": protected, "header": map[string]any{"kid": s.kid}, "signature": base64.RawURLEncoding.EncodeToString(sig)}
}

func goodSignature(payload string) webSignature {
	return webSignature{
		header: `{"alg":"PS512","b64":false,"crit":["b64"]}`, kid: "homebrew-1",
		payload: payload, key: apiKeys()[0], salt: rsa.PSSSaltLengthEqualsHash,
	}
}

func webSigned(t testing.TB, payload string, list ...webSignature) []byte {
	t.Helper()
	signatures := []any{}
	for _, s := range list {
		signatures = append(signatures, s.encode(t))
	}
	return mustJSON(t, map[string]any{"payload": payload, "signatures": signatures})
}

func TestVerifyAPI(t *testing.T) {
	t.Parallel()
	policy := mustPolicy(t, apiPolicyMap(t, apiKeys()[0].Public()))
	stranger := goodSignature(testAPI)
	stranger.key, stranger.kid = apiKeys()[1], "other"
	for _, data := range [][]byte{
		webSigned(t, testAPI, goodSignature(testAPI)),
		webSigned(t, testAPI, stranger, goodSignature(testAPI)),
	} {
		api, err := VerifyAPI(data, policy, testTime.Add(-24*time.Hour), testTime)
		if err != nil {
			t.Fatal(err)
		}
		if string(api.Payload) != testAPI || api.KeyID != "homebrew-1" {
			t.Errorf("got %s by %s", api.Payload, api.KeyID)
		}
		got, err := api.Formula("foo")
		if err != nil || string(got) != `{"name":"foo","versions":{"stable":"1"},"post_install_steps":[]}` {
			t.Errorf("got %s, %v", got, err)
		}
		if got, err = api.Cask("foo"); err != nil || string(got) != `{"name":"bar","token":"foo"}` {
			t.Errorf("got %s, %v", got, err)
		}
		_, err = api.Formula("baz")
		wantError(t, err, KindWrongPackage, "baz")
	}
}

func TestVerifyAPIRefuses(t *testing.T) {
	t.Parallel()
	policy := mustPolicy(t, apiPolicyMap(t, apiKeys()[0].Public()))
	bend := func(change func(*webSignature)) []byte {
		s := goodSignature(testAPI)
		change(&s)
		return webSigned(t, testAPI, s)
	}
	header := func(h string) []byte { return bend(func(s *webSignature) { s.header = h }) }
	good := string(webSigned(t, testAPI, goodSignature(testAPI)))
	for _, tc := range []struct {
		name string
		data []byte
		kind Kind
		want string
	}{
		{"nothing", nil, KindMalformed, "web signature"},
		{"no signature", webSigned(t, testAPI), KindMalformed, "0 signatures"},
		{"altered payload", edit(t, good, `stable`, `evil`), KindBadSignature, "pinned key"},
		{"another valid key under the pinned name", bend(func(s *webSignature) { s.key = apiKeys()[1] }), KindBadSignature, "pinned key"},
		{"a key by another name", bend(func(s *webSignature) { s.kid = "homebrew-2" }), KindUntrustedKey, "no signature"},
		{"a good one after a bad one", func() []byte {
			bad := goodSignature(testAPI)
			bad.key = apiKeys()[1]
			return webSigned(t, testAPI, bad, goodSignature(testAPI))
		}(), KindBadSignature, "pinned key"},
		{"signed with the payload encoded", bend(func(s *webSignature) {
			s.payload = base64.RawURLEncoding.EncodeToString([]byte(testAPI))
		}), KindBadSignature, "pinned key"},
		{"a short salt", bend(func(s *webSignature) { s.salt = 8 }), KindBadSignature, "pinned key"},
		{"alg none", header(`{"alg":"none","b64":false,"crit":["b64"]}`), KindUnsupported, "protected header"},
		{"alg HS512", header(`{"alg":"HS512","b64":false,"crit":["b64"]}`), KindUnsupported, "protected header"},
		{"alg PS256", header(`{"alg":"PS256","b64":false,"crit":["b64"]}`), KindUnsupported, "protected header"},
		{"encoded payload", header(`{"alg":"PS512","b64":true,"crit":["b64"]}`), KindUnsupported, "protected header"},
		{"encoded payload by default", header(`{"alg":"PS512"}`), KindUnsupported, "protected header"},
		{"b64 not critical", header(`{"alg":"PS512","b64":false}`), KindUnsupported, "protected header"},
		{"more is critical", header(`{"alg":"PS512","b64":false,"crit":["b64","exp"]}`), KindUnsupported, "protected header"},
		{"unknown header", header(`{"alg":"PS512","b64":false,"crit":["b64"],"jku":"https://evil.example"}`), KindMalformed, "jku"},
		{"duplicate header", header(`{"alg":"none","alg":"PS512","b64":false,"crit":["b64"]}`), KindMalformed, "duplicate"},
		{"header that is none", header(`[]`), KindMalformed, "protected header"},
		{"padded header", edit(t, good, `"protected":"`, `"protected":"=`), KindMalformed, "protected header"},
		{"long header", header(`{"alg":"` + strings.Repeat("a", 2000) + `"}`), KindTooLarge, "too long"},
		{"duplicate payload", edit(t, good, `{"payload":`, `{"payload":"","payload":`), KindMalformed, "duplicate"},
		{"unknown member", edit(t, good, `{"payload":`, `{"x":"","payload":`), KindMalformed, "x"},
		{"trailing data", []byte(good + "{}"), KindMalformed, "web signature"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			api, err := VerifyAPI(tc.data, policy, testTime, testTime)
			wantError(t, err, tc.kind, tc.want)
			if api != nil {
				t.Error("a result came with the error")
			}
		})
	}
}

// The signature itself says nothing of its time, so the file's age is all there is.
func TestVerifyAPIAge(t *testing.T) {
	t.Parallel()
	policy := mustPolicy(t, apiPolicyMap(t, apiKeys()[0].Public()))
	data := webSigned(t, testAPI, goodSignature(testAPI))
	for _, tc := range []struct {
		name          string
		obtained, now time.Time
		kind          Kind
	}{
		{"fresh", testTime, testTime, ""},
		{"as old as may be", testTime, testTime.Add(24 * time.Hour), ""},
		{"older", testTime, testTime.Add(24*time.Hour + 1), KindStale},
		{"from the future", testTime.Add(1), testTime, KindStale},
		{"of unknown age", time.Time{}, testTime, KindMalformed},
		{"without a clock", testTime, time.Time{}, KindMalformed},
	} {
		_, err := VerifyAPI(data, policy, tc.obtained, tc.now)
		if tc.kind != "" {
			wantError(t, err, tc.kind, "Homebrew API")
		} else if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	for _, p := range []*Policy{nil, {}, mustPolicy(t, policyMap(testKey(t, "signer")))} {
		_, err := VerifyAPI(data, p, testTime, testTime)
		wantError(t, err, KindPolicy, "trusts no Homebrew API")
	}
}

func TestAPIPayloads(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, payload, want string }{
		{"not a list", `{"name":"foo"}`, "not a list"},
		{"not JSON", `[{"name":"foo"},`, "payload"},
		{"trailing", `[{"name":"foo"}] []`, "follow"},
		{"twice", `[{"name":"foo"},{"name":"foo"}]`, "two elements"},
		{"duplicate member", `[{"name":"foo"},{"name":"bar","name":"foo"}]`, "duplicate"},
		{"broken after it", `[{"name":"foo"},{"a":1,"a":2}]`, "duplicate"},
	} {
		_, err := (&API{Payload: []byte(tc.payload)}).Formula("foo")
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v", tc.name, err)
		}
	}
	for _, payload := range []string{`[]`, `[["foo"]]`, `[{"name":["foo"]}]`, `[{"token":"foo"}]`, `["foo"]`, `[{"a":{"name":"foo"}}]`} {
		_, err := (&API{Payload: []byte(payload)}).Formula("foo")
		wantError(t, err, KindWrongPackage, "no element")
	}
}

func TestAPIPolicy(t *testing.T) {
	t.Parallel()
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		key  any
		want string
	}{
		{"small", small.Public(), "1024 bits"},
		{"P-256", testKey(t, "signer").public.key, "want RSA"},
	} {
		_, err := ParsePolicy(mustJSON(t, apiPolicyMap(t, tc.key)))
		wantError(t, err, KindPolicy, tc.want)
	}
	value := apiPolicyMap(t, apiKeys()[0].Public())
	api := value["homebrewAPI"].(map[string]any)
	api["keys"] = append(api["keys"].([]any), api["keys"].([]any)[0])
	_, err = ParsePolicy(mustJSON(t, value))
	wantError(t, err, KindPolicy, "repeats")
}

// Whatever is done to the file, what is accepted is what was signed.
func FuzzVerifyAPI(f *testing.F) {
	policy := mustPolicy(f, apiPolicyMap(f, apiKeys()[0].Public()))
	good := webSigned(f, testAPI, goodSignature(testAPI))
	f.Add(good)
	f.Add([]byte(`{"payload":"[]","signatures":[{"protected":"e30","header":{"kid":"homebrew-1"},"signature":"AA"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		api, err := VerifyAPI(data, policy, testTime, testTime)
		if err == nil && string(api.Payload) != testAPI {
			t.Errorf("accepted %s", data)
		}
	})
}

func FuzzFindFormula(f *testing.F) {
	f.Add([]byte(testAPI))
	f.Add([]byte(`[{"name":"foo","name":"foo"}]`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		got, err := (&API{Payload: payload}).Formula("foo")
		if err != nil {
			return
		}
		var list []any
		var one map[string]any // a struct's members would match in any case
		if json.Unmarshal(payload, &list) != nil || json.Unmarshal(got, &one) != nil || one["name"] != "foo" {
			t.Errorf("found %s in %s", got, payload)
		}
	})
}
