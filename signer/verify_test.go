package signer

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"google.golang.org/protobuf/encoding/protojson"
)

// Attackers without the key: they have bundles, and may alter or swap them.
func TestVerifyRefusesAlteredBundles(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	policy := mustPolicy(t, policyMap(key))
	good := mustSign(t, key, testRequest())
	otherKeySigned := string(mustSign(t, testKey(t, "other"), testRequest()))
	payload := testPayload(t)
	encoded := func(p string) string { return base64.StdEncoding.EncodeToString([]byte(p)) }
	swapped := func(old, new string) []byte {
		return edit(t, string(good), encoded(payload), encoded(string(edit(t, payload, old, new))))
	}
	bend := func(change func(*protobundle.Bundle)) []byte {
		b := new(protobundle.Bundle)
		if err := protojson.Unmarshal(good, b); err != nil {
			t.Fatal(err)
		}
		change(b)
		out, err := protojson.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, tc := range []struct {
		name   string
		bundle []byte
		kind   Kind
		want   string
	}{
		{"empty", nil, KindMalformed, "not a Sigstore bundle"},
		{"not JSON", []byte("hello"), KindMalformed, "not a Sigstore bundle"},
		{"empty object", []byte("{}"), KindUnsupported, "mediaType"},
		{"another trusted-looking key", []byte(otherKeySigned), KindUntrustedKey, "does not list"},
		{"another key's signature under our hint", edit(t, otherKeySigned, testKey(t, "other").ID(), key.ID()), KindBadSignature, "not by key"},
		{"our signature under another hint", edit(t, string(good), key.ID(), testKey(t, "other").ID()), KindUntrustedKey, "does not list"},
		{"no hint", edit(t, string(good), key.ID(), ""), KindUntrustedKey, "does not list"},
		{"hint with escapes", edit(t, string(good), key.ID(), `\u001b[2J`), KindUntrustedKey, `\x1b`},
		{"altered document", swapped(`"mkdir_p"`, `"mkdir_x"`), KindBadSignature, "not by key"},
		{"altered revision", swapped(`"revision":7`, `"revision":8`), KindBadSignature, "not by key"},
		{"altered digest", swapped(hex.EncodeToString(testArtifact[:]), strings.Repeat("ab", 32)), KindBadSignature, "not by key"},
		{"altered signature", bend(func(b *protobundle.Bundle) { b.GetDsseEnvelope().Signatures[0].Sig[9] ^= 1 }), KindBadSignature, "not by key"},
		{"empty signature", bend(func(b *protobundle.Bundle) { b.GetDsseEnvelope().Signatures[0].Sig = nil }), KindBadSignature, "not by key"},
		{"no signatures", bend(func(b *protobundle.Bundle) { b.GetDsseEnvelope().Signatures = nil }), KindMalformed, "0 signatures"},
		{"two signatures", bend(func(b *protobundle.Bundle) {
			e := b.GetDsseEnvelope()
			e.Signatures = append(e.Signatures, &protodsse.Signature{Sig: []byte("x")})
		}), KindMalformed, "2 signatures"},
		{"empty payload", bend(func(b *protobundle.Bundle) { b.GetDsseEnvelope().Payload = nil }), KindBadSignature, "not by key"},
		{"other payload type", bend(func(b *protobundle.Bundle) { b.GetDsseEnvelope().PayloadType = "text/plain" }), KindMalformed, "payloadType"},
		{"v0.2", bend(func(b *protobundle.Bundle) { b.MediaType = "application/vnd.dev.sigstore.bundle+json;version=0.2" }), KindUnsupported, "mediaType"},
		{"v0.3, older spelling", bend(func(b *protobundle.Bundle) { b.MediaType = "application/vnd.dev.sigstore.bundle+json;version=0.3" }), KindUnsupported, "mediaType"},
		{"v0.4", bend(func(b *protobundle.Bundle) { b.MediaType = "application/vnd.dev.sigstore.bundle.v0.4+json" }), KindUnsupported, "mediaType"},
		{"no content", bend(func(b *protobundle.Bundle) { b.Content = nil }), KindMalformed, "bare message"},
		{"no material", bend(func(b *protobundle.Bundle) { b.VerificationMaterial = nil }), KindMalformed, "names no key and has no certificate"},
		{"huge timestamp", bend(func(b *protobundle.Bundle) {
			b.VerificationMaterial.TimestampVerificationData = &protobundle.TimestampVerificationData{
				Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: bytes.Repeat([]byte{0x30, 0x80}, 40<<10)}}}
		}), KindTooLarge, "timestamp 1"},
		{"chain of certificates", bend(func(b *protobundle.Bundle) {
			b.VerificationMaterial.Content = &protobundle.VerificationMaterial_X509CertificateChain{
				X509CertificateChain: &protocommon.X509CertificateChain{}}
		}), KindUnsupported, "chain of certificates"},
		{"unknown member", edit(t, string(good), `{"mediaType"`, `{"x":1,"mediaType"`), KindMalformed, "not a Sigstore bundle"},
		{"duplicate member", edit(t, string(good), `{"mediaType"`, `{"mediaType":"x","mediaType"`), KindMalformed, "not a Sigstore bundle"},
		{"second content", edit(t, string(good), `{"mediaType"`, `{"messageSignature":{},"mediaType"`), KindMalformed, "not a Sigstore bundle"},
		{"trailing object", append(bytes.Clone(good), "{}"...), KindMalformed, "not a Sigstore bundle"},
		{"trailing bytes", append(bytes.Clone(good), 'x'), KindMalformed, "not a Sigstore bundle"},
		{"truncated", good[:len(good)-1], KindMalformed, "not a Sigstore bundle"},
		{"terminal escapes", []byte("{\"\u009b2J\u202e\":1}"), KindMalformed, "not a Sigstore bundle"},
		{"deep", []byte(`{"x":` + strings.Repeat("[", 1<<20)), KindMalformed, "not a Sigstore bundle"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v, err := Verify(tc.bundle, policy, testWant())
			wantError(t, err, tc.kind, tc.want)
			if v != nil {
				t.Error("a result came with the error")
			}
		})
	}
}

// Attackers with the key, or a careless signer: the signature is good, so the
// statement itself has to be refused.
func TestVerifyRefusesBadStatements(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	policy := mustPolicy(t, policyMap(key))
	payload := testPayload(t)
	hexDigest := hex.EncodeToString(testArtifact[:])
	otherDigest := strings.Repeat("ab", 32)
	subjectOf := func(name, digest string) string {
		return `{"name":"` + name + `","digest":{"sha256":"` + digest + `"}}`
	}
	subjects := `"subject":[` + subjectOf(testPURL, hexDigest) + `]`
	const otherPURL = "pkg:generic/acme/other@1"
	for _, tc := range []struct {
		name     string
		old, new string
		kind     Kind
		want     string
		accepted bool // by sigstore-go alone
	}{
		{"duplicate predicate keys", `"revision":7`, `"revision":7,"revision":8`, KindMalformed, "duplicate", true},
		{"duplicate predicate", `"predicate":{`, `"predicate":{},"predicate":{`, KindMalformed, "duplicate", true},
		{"duplicate predicateType", `"predicateType":`, `"predicateType":"x","predicateType":`, KindMalformed, "duplicate", true},
		{"duplicate document", `"document":`, `"document":{},"document":`, KindMalformed, "duplicate", true},
		{"duplicate key in the document", `"schema": 1`, `"schema": 1,"schema":1`, KindMalformed, "duplicate", true},
		{"case variant of subject", subjects, subjects + `,"Subject":[` + subjectOf(testPURL, hexDigest) + `]`, KindMalformed, "Subject", true},
		{"only a case variant", subjects, `"Subject":[` + subjectOf(testPURL, hexDigest) + `]`, KindMalformed, "Subject", true},
		{"case variant in the predicate", `"document":`, `"Document":{},"document":`, KindMalformed, "Document", true},
		{"unknown member", `"schema":1`, `"schema":1,"run":true`, KindMalformed, "run", true},
		{"two subjects", subjects, `"subject":[` + subjectOf(otherPURL, otherDigest) + `,` + subjectOf(testPURL, hexDigest) + `]`, KindMalformed, "2 subjects", true},
		{"no subject", subjects, `"subject":[]`, KindMalformed, "0 subjects", false},
		{"two digests", `{"sha256":"`, `{"sha512":"ab","sha256":"`, KindMalformed, "sha512", true},
		{"digest in capitals", hexDigest, strings.ToUpper(hexDigest), KindMalformed, "not a sha256", true},
		{"short digest", hexDigest, "abcd", KindMalformed, "not a sha256", false},
		{"zero digest", hexDigest, strings.Repeat("0", 64), KindMalformed, "all zeros", false},
		{"another artifact", hexDigest, otherDigest, KindWrongArtifact, otherDigest, false},
		{"another subject name", `[{"name":"` + testPURL, `[{"name":"` + otherPURL, KindMalformed, "subject is", true},
		{"other predicate type", PredicateType, "https://slsa.dev/provenance/v1", KindMalformed, "predicateType", true},
		{"other statement type", statementType, "https://in-toto.io/Statement/v0.1", KindMalformed, "_type", true},
		{"newer schema", `"schema":1,`, `"schema":2,`, KindUnsupported, "schema 2", true},
		{"schema as text", `"schema":1,`, `"schema":"1",`, KindMalformed, "schema", true},
		{"no schema", `"schema":1,`, ``, KindUnsupported, "schema 0", true},
		{"newer interpreter", `"minInterpreter":"1.0"`, `"minInterpreter":"1.1"`, KindUnsupported, "needs interpreter 1.1", true},
		{"older major interpreter", `"minInterpreter":"1.0"`, `"minInterpreter":"0.9"`, KindUnsupported, "needs interpreter 0.9", true},
		{"odd interpreter", `"minInterpreter":"1.0"`, `"minInterpreter":"1.00"`, KindMalformed, "minInterpreter", true},
		{"revision zero", `"revision":7`, `"revision":0`, KindMalformed, "revision 0", true},
		{"revision fraction", `"revision":7`, `"revision":7.5`, KindMalformed, "revision", true},
		{"revision exponent", `"revision":7`, `"revision":7e0`, KindMalformed, "revision", true},
		{"revision as text", `"revision":7`, `"revision":"7"`, KindMalformed, "revision", true},
		{"revision beyond int64", `"revision":7`, `"revision":18446744073709551623`, KindMalformed, "revision", true},
		{"previous that is no digest", `"revision":7,`, `"revision":7,"previous":{"sha256":"abc"},`, KindMalformed, "previous digest", true},
		{"previous of another kind", `"revision":7,`, `"revision":7,"previous":{"sha512":"abc"},`, KindMalformed, "sha512", true},
		{"previous of the first", `"revision":7,`, `"revision":1,"previous":{"sha256":"` + otherDigest + `"},`, KindMalformed, "revision 1", true},
		{"package id with a control character", `"revision":7,`, `"revision":7,"packageId":"a\u0007",`, KindMalformed, "packageId", true},
		{"package id twice", `"revision":7,`, `"revision":7,"packageId":"a","packageId":"b",`, KindMalformed, "duplicate", true},
		{"document of another kind", `"layout":"homebrew-formula",`, ``, KindMalformed, "layout", true},
		{"no issuedAt", `"issuedAt":"2026-05-01T12:00:00Z",`, ``, KindMalformed, "issuedAt", true},
		{"issuedAt elsewhere", `12:00:00Z`, `12:00:00+02:00`, KindMalformed, "issuedAt", true},
		{"http registry", testRegistry, "http://registry.example", KindMalformed, "registry", true},
		{"another registry", testRegistry, "https://evil.example", KindWrongPackage, "registry", true},
		{"no capabilities", `"capabilities":["network","run"],`, ``, KindMalformed, "capabilities", true},
		{"null capabilities", `["network","run"]`, `null`, KindMalformed, "capabilities", true},
		{"unsorted capabilities", `["network","run"]`, `["run","network"]`, KindMalformed, "out of order", true},
		{"no document", `,"document":` + testDocument, ``, KindMalformed, "not a JSON object", true},
		{"null document", `"document":` + testDocument, `"document":null`, KindMalformed, "not a JSON object", true},
		{"array document", `"document":` + testDocument, `"document":[]`, KindMalformed, "not a JSON object", true},
		{"text document", `"document":` + testDocument, `"document":"{}"`, KindMalformed, "not a JSON object", true},
		{"deep document", testDocument, `{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, KindTooLarge, "deeper", true},
		{"very deep document", testDocument, `{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, KindMalformed, "depth", false},
		{"many steps", `"capabilities":["network","run"],"document":` + testDocument,
			`"capabilities":[],"document":` + string(benchDocument(1001)), KindTooLarge, "1001 steps", true},
		{"null subject", subjects, `"subject":null`, KindMalformed, "0 subjects", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			data := forge(t, key, edit(t, payload, tc.old, tc.new), payloadType)
			if got := sigstoreAccepts(t, data, key); got != tc.accepted {
				t.Errorf("sigstore-go alone accepts it: %v, want %v", got, tc.accepted)
			}
			_, err := Verify(data, policy, testWant())
			wantError(t, err, tc.kind, tc.want)
		})
	}
	for _, tc := range []struct{ name, payload, want string }{
		{"trailing object", payload + "{}", "statement"},
		{"trailing bytes", payload + "x", "statement"},
		{"byte order mark", "\uFEFF" + payload, "statement"},
		{"invalid UTF-8", string(edit(t, payload, `"name":"foo"`, "\"name\":\"\xff\"")), "UTF-8"},
		{"not JSON", "hello", "statement"},
		{"null", "null", "_type"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := Verify(forge(t, key, []byte(tc.payload), payloadType), policy, testWant())
			wantError(t, err, KindMalformed, tc.want)
		})
	}
}

// The purls are the same in both places, but not the one that is wanted.
func TestVerifyRefusesAnotherPackage(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	policy := mustPolicy(t, policyMap(key))
	for _, name := range []string{
		"pkg:generic/acme/other@1.2.3",
		"pkg:generic/acme/foo@1.2.4",
		"pkg:generic/acme/foo@1.2.3",
		"pkg:generic/acme/foo@1.2.3?arch=arm64&os=linux",
	} {
		r := testRequest()
		r.PURL = name
		data := mustSign(t, key, r)
		if !sigstoreAccepts(t, data, key) {
			t.Error("sigstore-go alone compares names; the check here may be redundant")
		}
		_, err := Verify(data, policy, testWant())
		wantError(t, err, KindWrongPackage, "not for "+testPURL)
	}
}

func TestVerifyExpectation(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	data := mustSign(t, key, testRequest())
	policy := mustPolicy(t, policyMap(key))
	altered := sha256.Sum256([]byte("an altered artifact"))
	for _, tc := range []struct {
		name string
		bend func(*Expectation)
		kind Kind // "" for success
		want string
	}{
		{"as it is", func(*Expectation) {}, "", ""},
		{"same registry", func(w *Expectation) { w.Registry = testRegistry }, "", ""},
		{"same revision", func(w *Expectation) { w.MinRevision = 7 }, "", ""},
		{"altered artifact", func(w *Expectation) { w.ArtifactSHA256 = altered }, KindWrongArtifact, hex.EncodeToString(altered[:])},
		{"no artifact", func(w *Expectation) { w.ArtifactSHA256 = [32]byte{} }, KindMalformed, "not set"},
		{"no time", func(w *Expectation) { w.Now = time.Time{} }, KindMalformed, "not set"},
		{"older than seen", func(w *Expectation) { w.MinRevision = 8 }, KindStale, "revision 7 is older than 8"},
		{"negative revision", func(w *Expectation) { w.MinRevision = -1 }, KindMalformed, "negative"},
		{"no purl", func(w *Expectation) { w.PURL = "" }, KindMalformed, "purl"},
		{"bad purl", func(w *Expectation) { w.PURL = "pkg:generic/acme/../foo@1" }, KindMalformed, "purl"},
		{"package without a rule", func(w *Expectation) { w.PURL = "pkg:generic/evil/foo@1" }, KindPolicy, "no rule"},
		{"name that contains a trusted one", func(w *Expectation) { w.PURL = "pkg:generic/acmeX/foo@1.2.3" }, KindPolicy, "no rule"},
		{"registry without a rule", func(w *Expectation) { w.Registry = "https://evil.example" }, KindPolicy, "no rule"},
		{"registry that contains a trusted one", func(w *Expectation) { w.Registry = testRegistry + ".evil.example" }, KindPolicy, "no rule"},
		{"bad registry", func(w *Expectation) { w.Registry = testRegistry + "/" }, KindMalformed, "registry"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			want := testWant()
			tc.bend(&want)
			_, err := Verify(data, policy, want)
			if tc.kind == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantError(t, err, tc.kind, tc.want)
		})
	}
}

// The same package in two registries, both in the policy: neither can speak for the
// other.
func TestVerifyRegistryMismatch(t *testing.T) {
	t.Parallel()
	const other = "https://other.example"
	key := testKey(t, "signer")
	value := policyMap(key)
	second := policyMap(key)["rules"].([]any)[0].(map[string]any)
	second["match"].(map[string]any)["registry"] = other
	value["rules"] = append(value["rules"].([]any), second)
	policy := mustPolicy(t, value)
	r := testRequest()
	r.Registry = other
	data := mustSign(t, key, r)

	want := testWant()
	want.Registry = testRegistry
	_, err := Verify(data, policy, want)
	wantError(t, err, KindWrongPackage, "signed for registry https://other.example")
	want.Registry = ""
	_, err = Verify(data, policy, want)
	wantError(t, err, KindWrongPackage, "signed for registry https://other.example")
	want.Registry = other
	if _, err := Verify(data, policy, want); err != nil {
		t.Error(err)
	}
}

func TestVerifyEmptyPolicy(t *testing.T) {
	t.Parallel()
	data := mustSign(t, testKey(t, "signer"), testRequest())
	for _, policy := range []*Policy{nil, {}} {
		_, err := Verify(data, policy, testWant())
		wantError(t, err, KindPolicy, "no rule")
	}
}

func TestVerifyRevocations(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	data := mustSign(t, key, testRequest())
	v, err := Verify(data, mustPolicy(t, policyMap(key)), testWant())
	if err != nil {
		t.Fatal(err)
	}
	const bare = "pkg:generic/acme/foo@1.2.3"
	for _, tc := range []struct {
		name, member, value string
		refused             bool
	}{
		{"key", "keys", key.ID(), true},
		{"another key", "keys", testKey(t, "other").ID(), false},
		{"bundle", "bundles", hex.EncodeToString(v.BundleSHA256[:]), true},
		{"payload", "bundles", hex.EncodeToString(v.PayloadSHA256[:]), true},
		{"another bundle", "bundles", strings.Repeat("ab", 32), false},
		{"purl", "purls", testPURL, true},
		{"purl of all builds", "purls", bare, true},
		{"purl of another build", "purls", bare + "?arch=arm64&os=linux", false},
		{"purl of another version", "purls", "pkg:generic/acme/foo@1.2", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			value := policyMap(key)
			value["revoked"] = map[string]any{tc.member: []string{tc.value}}
			_, err := Verify(data, mustPolicy(t, value), testWant())
			if !tc.refused {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantError(t, err, KindRevoked, "revokes")
		})
	}
	// A copy with other white space has another digest; the payload's still holds.
	t.Run("respelled bundle", func(t *testing.T) {
		t.Parallel()
		copied := append(bytes.Clone(data), '\n')
		value := policyMap(key)
		value["revoked"] = map[string]any{"bundles": []string{hex.EncodeToString(v.BundleSHA256[:])}}
		if _, err := Verify(copied, mustPolicy(t, value), testWant()); err != nil {
			t.Error(err)
		}
		value["revoked"] = map[string]any{"bundles": []string{hex.EncodeToString(v.PayloadSHA256[:])}}
		_, err := Verify(copied, mustPolicy(t, value), testWant())
		wantError(t, err, KindRevoked, "revokes")
	})
}

func TestVerifyRefusesMessageSignatures(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	policy := mustPolicy(t, policyMap(key))
	data := forgeContent(t, key, &sign.PlainData{Data: []byte("the artifact")})
	if !sigstoreAccepts(t, data, key) {
		t.Error("sigstore-go alone refuses message signatures; the check here may be redundant")
	}
	_, err := Verify(data, policy, testWant())
	wantError(t, err, KindMalformed, "bare message")
}

// A signature over attacker-chosen bytes that are an envelope's encoding is as good as
// the envelope's. Verify cannot tell; that is why keypair refuses to make one.
func TestPlainDataBecomesAnEnvelope(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	payload := testPayload(t)
	evil := string(edit(t, payload, `"caf\u00e9"`, `"evil"`))
	plain := &sign.PlainData{Data: []byte(pae(payloadType, evil))}
	var message struct {
		MessageSignature struct{ Signature string }
	}
	if err := json.Unmarshal(forgeContent(t, key, plain), &message); err != nil {
		t.Fatal(err)
	}
	moved := fmt.Sprintf(`{"mediaType":%q,"verificationMaterial":{"publicKey":{"hint":%q}},
		"dsseEnvelope":{"payload":%q,"payloadType":%q,"signatures":[{"sig":%q}]}}`,
		bundleType, key.ID(), base64.StdEncoding.EncodeToString([]byte(evil)), payloadType, message.MessageSignature.Signature)
	if _, err := Verify([]byte(moved), mustPolicy(t, policyMap(key)), testWant()); err != nil {
		t.Errorf("the attack does not work even with a careless key: %v", err)
	}
	// What the key does refuse: any bytes but the statement that was checked.
	_, err := sign.Bundle(plain, keypair{key, []byte(payload)}, sign.BundleOptions{})
	wantError(t, err, KindMalformed, "refusing to sign")
}

func TestVerifyRefusesOtherPayloadTypes(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	for _, kind := range []string{"", "text/plain", "application/vnd.in-toto+JSON", "application/vnd.in-toto+json ", "application/vnd.in-toto"} {
		_, err := Verify(forge(t, key, []byte(testPayload(t)), kind), mustPolicy(t, policyMap(key)), testWant())
		wantError(t, err, KindMalformed, "payloadType")
	}
}

// Sizes are refused before anything is parsed, so that a bomb costs nothing.
// Not parallel: it counts allocations.
func TestVerifySizes(t *testing.T) {
	key := testKey(t, "signer")
	value := policyMap(key)
	r := testRequest()
	r.Document, r.Capabilities = []byte(`{"name":"foo","x":"`+strings.Repeat("x", 2<<20)+`"}`), nil
	big := mustSign(t, key, r)
	if len(big) < 2<<20 {
		t.Fatal("the bundle is not large")
	}
	policy := mustPolicy(t, value)
	bomb := bytes.Repeat([]byte("["), 3<<20)
	for _, data := range [][]byte{big, bomb} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Verify(data, policy, testWant())
		runtime.ReadMemStats(&after)
		wantError(t, err, KindTooLarge, "more than 2097152 bytes")
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<10 {
			t.Errorf("refusing allocated %d bytes; the bundle was parsed", used)
		}
	}
	value["limits"] = map[string]any{"bundleBytes": 8 << 20}
	_, err := Verify(big, mustPolicy(t, value), testWant())
	wantError(t, err, KindTooLarge, "payload has")
	value["limits"] = map[string]any{"bundleBytes": 8 << 20, "payloadBytes": 4 << 20}
	if _, err := Verify(big, mustPolicy(t, value), testWant()); err != nil {
		t.Error(err)
	}
}
