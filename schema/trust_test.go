package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"steps.example/signer"
)

const trustPolicy = `{
"version": 1,
"rules": [
  {"match": {"registry": "https://registry.example/path", "package": "pkg:generic/acme/*"},
   "anyOf": [{"key": {"id": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
     "pem": "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----\n",
     "notBefore": "2026-01-31T12:00:00Z", "notAfter": "2027-01-31T12:00:00.5+01:00"}}]}],
"limits": {"bundleBytes": 1048576, "payloadBytes": 1, "steps": 100},
"revoked": {"keys": ["47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="], "bundles": ["e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
  "purls": ["pkg:generic/acme/demo@1.2.3?arch=amd64"]}
}`

func TestValidateTrust(t *testing.T) {
	t.Parallel()
	if err := ValidateTrust([]byte(trustPolicy)); err != nil {
		t.Fatalf("a good policy is refused: %v", err)
	}
	for _, tc := range []struct {
		name, old, new, want string
	}{
		{"version", `"version": 1`, `"version": 2`, `2:12: field "version": conflicting values 2 and 1`},
		{"unknown field", `"version": 1`, `"version": 1, "mode": "warn"`, `2:15: field "mode": field not allowed`},
		{"unknown field in depth", `"notBefore"`, `"notbefore"`, `7:6: field "rules[0].anyOf[0].key.notbefore": field not allowed`},
		{"no rules", trustPolicy[strings.Index(trustPolicy, `  {"match"`):strings.Index(trustPolicy, `],
"limits"`)], "", `field "rules"`},
		{"registry", "https:", "http:", `field "rules[0].match.registry"`},
		{"package", "pkg:generic/acme/*", "generic/acme/*", `field "rules[0].match.package"`},
		{"key", "MFkw", "!", `field "rules[0].anyOf[0].key.pem"`},
		{"key id", `"id": "47DE`, `"id": "47`, `field "rules[0].anyOf[0].key.id"`},
		{"private key", "PUBLIC", "PRIVATE", `field "rules[0].anyOf[0].key.pem"`},
		{"date", "2026-01-31T12:00:00Z", "2026-01-31", `field "rules[0].anyOf[0].key.notBefore"`},
		{"limit", "1048576", "99999999", `field "limits.bundleBytes"`},
		{"no limit", "1048576", "0", `field "limits.bundleBytes"`},
		{"digest", "e3b0", "E3B0", `field "revoked.bundles[0]"`},
		{"purl without version", "demo@1.2.3", "demo", `field "revoked.purls[0]"`},
		{"duplicate", `"version": 1`, `"version": 1, "version": 1`, `2:15: field "version": is there twice`},
		{"null", `"version": 1`, `"version": null`, `field "version"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := strings.ReplaceAll(trustPolicy, tc.old, tc.new)
			if in == trustPolicy {
				t.Fatalf("nothing to change: %q", tc.old)
			}
			err := ValidateTrust([]byte(in))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %s", err, tc.want)
			}
		})
	}
}

// The schema and the parser that clients use agree about what a policy may say. The
// parser also computes: ids from keys, dates, and what is listed twice.
func TestTrustBothWays(t *testing.T) {
	t.Parallel()
	key, err := signer.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	pem, err := json.Marshal(string(key.PublicPEM()))
	if err != nil {
		t.Fatal(err)
	}
	const (
		trust    = `"trust": {"mode": "file", "trustedRoot": "/etc/steps/root.json", "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}`
		keyless  = `{"keyless": {"issuer": "https://oidc.example", "san": "https://ci.example/a@refs/heads/main"}}`
		match    = `"match": {"registry": "https://registry.example", "package": "pkg:generic/acme/*"}`
		index    = `"index": {"url": "https://registry.example/index", "root": "/etc/steps/tuf.json", "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "maxAge": "24h"}`
		homebrew = `"homebrewAPI": {"maxAge": "24h", "keys": [{"kid": "homebrew-1", "pem": "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAuyXXd6IpxepDt97TJjlB\nI49EsycMRM7k/Msa8nVmPz4VSISsNeyEF9d9Mgpqx6aOv2ALC+gdN17lKev4BiBc\n79LpowemqRLOe6A1ve4GgLrKt8uGzsocPjzIcnKLnitEzG+g14zdLsR/qydR31Um\n4hG2U77/6iFoJxNqZ5qidAQ+9p4X8N4yBv/2pAmcP7ISxJDJkiq2x+PqNiTP17+k\nISREs8dYllGskO8KJq/5qVEnVcqTXD9w51RT3DiuivB2FiM9hBumyouYhOIvffbi\n+AC3GheJNtXgFR8lv7emRSVqjP2iDnMsbLUXmE2p0KgF5vNoX27eZik0Wr5PGDyy\nlwIDAQAB\n-----END PUBLIC KEY-----\n"}]}`
	)
	signedBy := `{"key": {"id": "` + key.ID() + `", "pem": ` + string(pem) + `}}`
	keyWith := func(member string) string { return strings.Replace(signedBy, `"id"`, member+`, "id"`, 1) }
	namedWith := func(member string) string {
		return strings.Replace(keyless, `"san": "https://ci.example/a@refs/heads/main"`, member, 1)
	}
	policy := func(rule string, members ...string) string {
		return `{"version": 1, "rules": [{` + match + `, ` + rule + `}]` + strings.Join(append([]string{""}, members...), ", ") + `}`
	}
	anyOf := func(list ...string) string { return `"anyOf": [` + strings.Join(list, ", ") + `]` }
	group := func(list ...string) string { return `{` + anyOf(list...) + `}` }
	revoked := func(member string) string { return policy(anyOf(signedBy), `"revoked": {`+member+`}`) }
	const witness = "witness.example+3fa9b27b+AafIY1eI7JDn6wtYsRCBFSPOLlFnU+nqvhFLddcrXyE6"
	witnessed := func(value string) string {
		return policy(anyOf(keyless), strings.Replace(trust, `"mode"`, `"witnesses": `+value+`, "mode"`, 1))
	}
	for _, tc := range []struct {
		name, policy string
		valid        bool
	}{
		{"key", policy(anyOf(signedBy)), true},
		{"comments", strings.Replace(policy(`"comment": "a", `+anyOf(keyWith(`"comment": "a"`), namedWith(`"san": "a", "comment": "a"`)),
			strings.Replace(trust, `{`, `{"comment": "a", `, 1), strings.Replace(index, `{`, `{"comment": "a", `, 1),
			strings.Replace(homebrew, `{`, `{"comment": "a", `, 1)), `{`, `{"comment": "a", `, 1), true},
		{"a comment that is no text", `{"comment": 1, ` + policy(anyOf(signedBy))[1:], false},
		{"a comment elsewhere", revoked(`"comment": "a"`), false},
		{"key by the clock", policy(anyOf(keyWith(`"time": "current", "tlog": 0`))), true},
		{"key with a log", policy(anyOf(keyWith(`"tlog": 1`)), trust), true},
		{"key with a log, no trust root", policy(anyOf(keyWith(`"tlog": 1`))), false},
		{"key with time", policy(anyOf(keyWith(`"time": "tsa"`)), trust), true},
		{"key with time, no trust root", policy(anyOf(keyWith(`"time": "tsa"`))), false},
		{"key with another time", policy(anyOf(keyWith(`"time": "never"`)), trust), false},
		{"negative logs", policy(anyOf(keyWith(`"tlog": -1`)), trust), false},
		{"too many logs", policy(anyOf(keyWith(`"tlog": 9`)), trust), false},
		{"half a log", policy(anyOf(keyWith(`"tlog": 0.5`)), trust), false},
		{"trust root for nothing", policy(anyOf(signedBy), trust), true},
		{"identity", policy(anyOf(keyless), trust), true},
		{"identity, no trust root", policy(anyOf(keyless)), false},
		{"identity or key", policy(anyOf(signedBy, keyless), trust), true},
		{"both in one", policy(anyOf(`{"key": {}, "keyless": {}}`), trust), false},
		{"neither", policy(anyOf(`{}`)), false},
		{"thresholds", policy(anyOf(namedWith(`"san": "a", "tlog": 2, "timestamps": 2, "sct": 0`)), trust), true},
		{"no time at all", policy(anyOf(namedWith(`"san": "a", "timestamps": 0`)), trust), false},
		{"no name", policy(anyOf(namedWith(`"tlog": 1`)), trust), false},
		{"empty name", policy(anyOf(namedWith(`"san": ""`)), trust), false},
		{"name with a space", policy(anyOf(namedWith(`"san": "a b"`)), trust), false},
		{"no issuer", policy(anyOf(`{"keyless": {"san": "a"}}`), trust), false},
		{"issuer pattern", policy(anyOf(`{"keyless": {"issuerPattern": "^a$", "san": "a"}}`), trust), false},
		{"pattern", policy(anyOf(namedWith(`"sanPattern": "^https://ci[.]example/[a-z]+$"`)), trust), true},
		{"pattern and name", policy(anyOf(namedWith(`"san": "a", "sanPattern": "^a$"`)), trust), false},
		{"pattern without ^", policy(anyOf(namedWith(`"sanPattern": "a$"`)), trust), false},
		{"pattern without $", policy(anyOf(namedWith(`"sanPattern": "^a"`)), trust), false},
		{"pattern with an escaped $", policy(anyOf(namedWith(`"sanPattern": "^a\\$"`)), trust), false},
		{"empty pattern", policy(anyOf(namedWith(`"sanPattern": "^$"`)), trust), false},
		{"pattern that is none", policy(anyOf(namedWith(`"sanPattern": "^(a$"`)), trust), false},
		{"pattern that breaks out", policy(anyOf(namedWith(`"sanPattern": "^a)|(b$"`)), trust), false},
		{"build signer", policy(anyOf(namedWith(`"san": "a", "buildSigner": "https://ci.example/build"`)), trust), true},
		{"all of", policy(`"allOf": [`+group(signedBy)+`, `+group(keyless)+`]`, trust), true},
		{"all of, no trust root", policy(`"allOf": [` + group(signedBy) + `, ` + group(keyless) + `]`), false},
		{"all of one", policy(`"allOf": [` + group(signedBy) + `]`), false},
		{"all of none", policy(`"allOf": []`), false},
		{"all of, one empty", policy(`"allOf": [`+group(signedBy)+`, `+group()+`]`, trust), false},
		{"all of and any of", policy(anyOf(signedBy)+`, "allOf": [`+group(signedBy)+`, `+group(keyless)+`]`, trust), false},
		{"nobody", `{"version": 1, "rules": [{` + match + `}]}`, false},
		{"predicate type", policy(anyOf(signedBy) + `, "predicateType": "` + signer.PredicateType + `"`), true},
		{"another predicate type", policy(anyOf(signedBy) + `, "predicateType": "https://slsa.dev/provenance/v1"`), false},
		{"trust mode", policy(anyOf(keyless), strings.Replace(trust, `"file"`, `"tuf"`, 1)), false},
		{"trust root without digest", policy(anyOf(keyless), `"trust": {"mode": "file", "trustedRoot": "/a"}`), false},
		{"trust root digest of zeros", policy(anyOf(keyless), strings.Replace(trust, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", strings.Repeat("0", 64), 1)), false},
		{"relative trust root", policy(anyOf(keyless), strings.Replace(trust, "/etc", "etc", 1)), false},
		{"witnesses", witnessed(`{"threshold": 1, "keys": ["` + witness + `"]}`), true},
		{"more witnesses than keys", witnessed(`{"threshold": 2, "keys": ["` + witness + `"]}`), false},
		{"no witness is wanted", witnessed(`{"threshold": 0, "keys": ["` + witness + `"]}`), false},
		{"witnesses without a threshold", witnessed(`{"keys": ["` + witness + `"]}`), false},
		{"no witnesses", witnessed(`{"threshold": 1, "keys": []}`), false},
		{"a witness without a key", witnessed(`{"threshold": 1, "keys": ["witness.example"]}`), false},
		{"a witness's address", witnessed(`{"threshold": 1, "keys": ["` + witness + `"], "url": "https://witness.example"}`), false},
		{"index", policy(anyOf(signedBy), index), true},
		{"optional index", policy(anyOf(signedBy), strings.Replace(index, `"url"`, `"required": false, "minVersion": 7, "url"`, 1)), true},
		{"local index", policy(anyOf(signedBy), strings.Replace(index, "https://registry.example", "file://", 1)), true},
		{"index by another scheme", policy(anyOf(signedBy), strings.Replace(index, "https", "ftp", 1)), false},
		{"index with a query", policy(anyOf(signedBy), strings.Replace(index, "/index", "/index?a", 1)), false},
		{"index without age", policy(anyOf(signedBy), strings.Replace(index, `, "maxAge": "24h"`, "", 1)), false},
		{"index of no age", policy(anyOf(signedBy), strings.Replace(index, "24h", "0h", 1)), false},
		{"index age in days", policy(anyOf(signedBy), strings.Replace(index, "24h", "1d", 1)), false},
		{"index from version 0", policy(anyOf(signedBy), strings.Replace(index, `"url"`, `"minVersion": 0, "url"`, 1)), false},
		{"Homebrew API", policy(anyOf(signedBy), homebrew), true},
		{"Homebrew API without keys", policy(anyOf(signedBy), `"homebrewAPI": {"maxAge": "24h", "keys": []}`), false},
		{"Homebrew API without age", policy(anyOf(signedBy), strings.Replace(homebrew, `"maxAge": "24h", `, "", 1)), false},
		{"Homebrew API without kid", policy(anyOf(signedBy), strings.Replace(homebrew, `"kid": "homebrew-1", `, "", 1)), false},
		{"nothing revoked", revoked(""), true},
		{"revoked key", revoked(`"keys": ["` + key.ID() + `"]`), true},
		{"revoked digest of zeros", revoked(`"bundles": ["` + strings.Repeat("0", 64) + `"]`), false},
		{"revoked entry", revoked(`"logEntries": [{"log": "` + key.ID() + `", "index": 0}]`), true},
		{"revoked entry without index", revoked(`"logEntries": [{"log": "` + key.ID() + `"}]`), false},
		{"revoked entry below zero", revoked(`"logEntries": [{"log": "` + key.ID() + `", "index": -1}]`), false},
		{"revoked entry without log", revoked(`"logEntries": [{"index": 1}]`), false},
		{"revoked identity", revoked(`"identities": [{"issuer": "https://oidc.example", "san": "a"}]`), true},
		{"revoked identity since", revoked(`"identities": [{"issuer": "https://oidc.example", "san": "a", "after": "2026-01-31T12:00:00Z"}]`), true},
		{"revoked identity since a day", revoked(`"identities": [{"issuer": "https://oidc.example", "san": "a", "after": "2026-01-31"}]`), false},
		{"revoked identity without issuer", revoked(`"identities": [{"san": "a"}]`), false},
		{"null", policy(anyOf(signedBy), `"trust": null`), false},
	} {
		schemaErr := ValidateTrust([]byte(tc.policy))
		_, parserErr := signer.ParsePolicy([]byte(tc.policy))
		if (schemaErr == nil) != tc.valid || (parserErr == nil) != tc.valid {
			t.Errorf("%s: the schema says %v, the parser %v, want valid: %v", tc.name, schemaErr, parserErr, tc.valid)
		}
	}
}
