package signer

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParsePolicy(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	value := policyMap(key)
	data := mustJSON(t, value)
	p, err := ParsePolicy(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(DefaultLimits(), p.Limits()); diff != "" {
		t.Error(diff)
	}
	if p.Digest() != sha256.Sum256(data) {
		t.Error("the digest is not of the policy's bytes")
	}
	value["limits"] = map[string]any{"bundleBytes": 5000, "steps": 3}
	if diff := cmp.Diff(Limits{BundleBytes: 5000, PayloadBytes: 1 << 20, Steps: 3}, mustPolicy(t, value).Limits()); diff != "" {
		t.Error(diff)
	}
	// White space around the whole is JSON too.
	if _, err := ParsePolicy([]byte("\n" + string(data) + "\n")); err != nil {
		t.Error(err)
	}
}

func TestParsePolicyRefuses(t *testing.T) {
	t.Parallel()
	key, other := testKey(t, "signer"), testKey(t, "other")
	good := string(mustJSON(t, policyMap(key)))
	private, err := key.MarshalPEM()
	if err != nil {
		t.Fatal(err)
	}
	with := func(member string) string { return good[:len(good)-1] + "," + member + "}" }
	replace := func(old, new string) string { return string(edit(t, good, old, new)) }
	inKey := func(member string) string { return replace(`"id":`, member+`,"id":`) }
	quoted := func(s []byte) string { return string(mustJSON(t, string(s))) }
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", "", "EOF"},
		{"empty object", "{}", "version"},
		{"not an object", "[]", "policy"},
		{"null", "null", "null"},
		{"no rules", `{"version":1}`, "trusts nobody"},
		{"empty rules", `{"version":1,"rules":[]}`, "trusts nobody"},
		{"version 2", replace(`"version":1`, `"version":2`), "version is 2"},
		{"version as text", replace(`"version":1`, `"version":"1"`), "version"},
		{"fraction", replace(`"version":1`, `"version":1.5`), "version"},
		{"trailing value", good + "{}", "policy"},
		{"trailing brace", good + "}", "policy"},
		{"byte order mark", "\uFEFF" + good, "policy"},
		{"comment", "// x\n" + good, "policy"},
		{"invalid UTF-8", replace("acme", "\xff"), "UTF-8"},
		{"unknown member", with(`"mode":"off"`), "mode"},
		{"duplicate member", with(`"version":1`), "version"},
		{"duplicate, escaped", with(`"versio\u006e":1`), "version"},
		{"case variant", with(`"Rules":[]`), "Rules"},
		{"unknown member of a key", inKey(`"usage":"all"`), "usage"},
		{"case variant in a key", inKey(`"notafter":"2030-01-01T00:00:00Z"`), "notafter"},
		{"duplicate in a key", inKey(`"id":"x"`), "duplicate"},
		{"null window", inKey(`"notAfter":null`), "null"},
		{"null limits", with(`"limits":null`), "null"},
		{"keyless", replace(`"anyOf":[`, `"anyOf":[{"keyless":{}},`), "issuer"},
		{"no key", replace(`"anyOf":[`, `"anyOf":[{},`), "anyOf 1 has no key"},
		{"empty anyOf", `{"version":1,"rules":[{"match":{"registry":"https://r.example","package":"pkg:a/b"},"anyOf":[]}]}`, "anyOf is empty"},
		{"no match", `{"version":1,"rules":[{"anyOf":[]}]}`, "rule 1: match: registry"},
		{"http registry", replace(testRegistry, "http://registry.example"), "https"},
		{"registry glob", replace(testRegistry, "https://*"), "registry"},
		{"unanchored package", replace("pkg:generic/acme/*", "acme*"), "pkg:"},
		{"wildcard type", replace("pkg:generic/acme/*", "pkg:*/acme"), "type"},
		{"id of another key", replace(key.ID(), other.ID()), "the pem's is"},
		{"private key", replace(quoted(key.PublicPEM()), quoted(private)), "anyOf 1: pem"},
		{"no pem", replace(quoted(key.PublicPEM()), `""`), "anyOf 1: pem"},
		{"bad window", inKey(`"notAfter":"2030-01-01"`), "notAfter"},
		{"empty window bound", inKey(`"notBefore":""`), "notBefore"},
		{"window of year one", inKey(`"notBefore":"0001-01-01T00:00:00Z"`), "notBefore"},
		{"window upside down", inKey(`"notBefore":"2030-01-01T00:00:00Z","notAfter":"2029-01-01T00:00:00Z"`), "not before"},
		{"bundle limit zero", with(`"limits":{"bundleBytes":0}`), "bundleBytes"},
		{"bundle limit negative", with(`"limits":{"bundleBytes":-1}`), "bundleBytes"},
		{"bundle limit too high", with(`"limits":{"bundleBytes":16777217}`), "bundleBytes"},
		{"bundle limit beyond int64", with(`"limits":{"bundleBytes":18446744073709551617}`), "bundleBytes"},
		{"payload limit too high", with(`"limits":{"payloadBytes":8388609}`), "payloadBytes"},
		{"steps limit too high", with(`"limits":{"steps":100001}`), "steps"},
		{"unknown limit", with(`"limits":{"depth":9}`), "depth"},
		{"revoked key not an id", with(`"revoked":{"keys":["x"]}`), "key 1"},
		{"revoked bundle not a digest", with(`"revoked":{"bundles":["abc"]}`), "bundle 1"},
		{"revoked bundle in capitals", with(fmt.Sprintf(`"revoked":{"bundles":["%064X"]}`, 0xABC)), "bundle 1"},
		{"revoked purl without version", with(`"revoked":{"purls":["pkg:a/b"]}`), "purl 1"},
		{"deep", strings.Repeat("[", 20000), "depth"},
		{"huge", strings.Repeat(" ", maxPolicyBytes) + good, "more than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParsePolicy([]byte(tc.text))
			wantError(t, err, KindPolicy, tc.want)
		})
	}
	t.Run("repeated rule", func(t *testing.T) {
		t.Parallel()
		value := policyMap(key)
		rules := value["rules"].([]any)
		value["rules"] = append(rules, rules[0])
		_, err := ParsePolicy(mustJSON(t, value))
		wantError(t, err, KindPolicy, "rule 2 matches the same as rule 1")
	})
	s := newSigstore(t)
	for _, tc := range []struct {
		name string
		bend func(first, second map[string]any)
		want string
	}{
		{"a key in two groups", func(first, second map[string]any) { second["anyOf"] = first["anyOf"] }, "allOf 2: anyOf 1 repeats"},
		{"an identity in two groups", func(first, second map[string]any) {
			id := map[string]any{"keyless": map[string]any{"issuer": testIssuer, "san": testIdentity}}
			first["anyOf"] = append(first["anyOf"].([]any), id)
			second["anyOf"] = []any{id}
		}, "allOf 2: anyOf 1 repeats"},
		{"an empty group", func(_, second map[string]any) { second["anyOf"] = []any{} }, "allOf 2: anyOf is empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			value := policyMap(key)
			value["trust"] = trustMap(s)
			rule := value["rules"].([]any)[0].(map[string]any)
			first, second := map[string]any{"anyOf": rule["anyOf"]}, map[string]any{}
			delete(rule, "anyOf")
			rule["allOf"] = []any{first, second}
			tc.bend(first, second)
			_, err := ParsePolicy(mustJSON(t, value))
			wantError(t, err, KindPolicy, tc.want)
		})
	}
	t.Run("repeated identity", func(t *testing.T) {
		t.Parallel()
		value := keylessMap(s)
		rule := value["rules"].([]any)[0].(map[string]any)
		rule["anyOf"] = append(rule["anyOf"].([]any), rule["anyOf"].([]any)[0])
		_, err := ParsePolicy(mustJSON(t, value))
		wantError(t, err, KindPolicy, "repeats identity")
	})
	t.Run("repeated key", func(t *testing.T) {
		t.Parallel()
		_, err := ParsePolicy(mustJSON(t, policyMap(key, other, key)))
		wantError(t, err, KindPolicy, "repeats key")
	})
}

// The first rule that matches decides, even if a later one would accept.
func TestFirstRuleDecides(t *testing.T) {
	t.Parallel()
	narrow, broad := testKey(t, "narrow"), testKey(t, "broad")
	value := policyMap(narrow)
	first := value["rules"].([]any)[0].(map[string]any)
	first["match"].(map[string]any)["package"] = "pkg:generic/acme/foo"
	value["rules"] = append(value["rules"].([]any), policyMap(broad)["rules"].([]any)...)
	policy := mustPolicy(t, value)

	_, err := Verify(mustSign(t, broad, testRequest()), policy, testWant())
	wantError(t, err, KindUntrustedKey, "does not list")
	if _, err := Verify(mustSign(t, narrow, testRequest()), policy, testWant()); err != nil {
		t.Error(err)
	}
	r, want := testRequest(), testWant()
	r.PURL, want.PURL = "pkg:generic/acme/bar@1", "pkg:generic/acme/bar@1"
	if _, err := Verify(mustSign(t, broad, r), policy, want); err != nil {
		t.Error(err)
	}
}

// Key windows include their bounds.
func TestKeyWindow(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	data := mustSign(t, key, testRequest())
	if !sigstoreAccepts(t, data, key) {
		t.Error("sigstore-go alone looks at key windows; the checks here may be redundant")
	}
	value := policyMap(key)
	window := value["rules"].([]any)[0].(map[string]any)["anyOf"].([]any)[0].(map[string]any)["key"].(map[string]any)
	window["notBefore"] = "2026-01-01T00:00:00Z"
	window["notAfter"] = "2026-12-31T23:59:59+00:00"
	policy := mustPolicy(t, value)
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	end := time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC)
	for _, tc := range []struct {
		name string
		now  time.Time
		ok   bool
	}{
		{"before", begin.Add(-1), false},
		{"first moment", begin, true},
		{"within", testTime, true},
		{"last moment, elsewhere", end.In(time.FixedZone("x", 3600)), true},
		{"after", end.Add(1), false},
	} {
		want := testWant()
		want.Now = tc.now
		_, err := Verify(data, policy, want)
		if tc.ok && err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if !tc.ok {
			wantError(t, err, KindExpired, "valid from 2026-01-01T00:00:00Z to 2026-12-31T23:59:59Z")
		}
	}
}

// The window is enforced once more where sigstore-go asks for it, whatever its clock.
func TestPinnedKeyWindow(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	env, err := parseBundle(mustSign(t, key, testRequest()), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	trusted := trustedKey{publicKey: key.public, notAfter: testTime, need: evidence{current: true}}
	policy := new(Policy)
	if _, _, err := policy.authenticateKey(env, trusted, testArtifact, testTime); err != nil {
		t.Error(err)
	}
	_, _, err = policy.authenticateKey(env, trusted, testArtifact, testTime.Add(time.Second))
	wantError(t, err, KindExpired, "was not valid")
}

func TestReadBundle(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 9, 10} {
		if got, err := ReadBundle(strings.NewReader(strings.Repeat("x", size)), 10); err != nil || len(got) != size {
			t.Errorf("size %d: %d bytes, %v", size, len(got), err)
		}
	}
	endless := &countingReader{}
	got, err := ReadBundle(endless, 10)
	wantError(t, err, KindTooLarge, "more than 10 bytes")
	if got != nil || endless.read > 600 {
		t.Errorf("returned %d bytes after reading %d", len(got), endless.read)
	}
}

type countingReader struct{ read int }

func (r *countingReader) Read(p []byte) (int, error) {
	r.read += len(p)
	return copy(p, bytes.Repeat([]byte("x"), len(p))), nil
}

// What the policy says of the index is for others to follow.
func TestPolicyIndex(t *testing.T) {
	t.Parallel()
	value := policyMap(testKey(t, "signer"))
	if _, ok := mustPolicy(t, value).Index(); ok {
		t.Error("an index that nobody named")
	}
	index := map[string]any{
		"url": "https://registry.example/index", "root": "/etc/steps/tuf.json", "sha256": hexDigest(testArtifact), "maxAge": "90m",
	}
	value["index"] = index
	want := Index{Required: true, URL: "https://registry.example/index", Root: "/etc/steps/tuf.json", RootSHA256: testArtifact, MaxAge: 90 * time.Minute}
	got, ok := mustPolicy(t, value).Index()
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Error(diff)
	}
	index["required"], index["minVersion"], index["maxAge"] = false, 12, "48h"
	want.Required, want.MinVersion, want.MaxAge = false, 12, 48*time.Hour
	got, _ = mustPolicy(t, value).Index()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
