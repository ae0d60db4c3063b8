//go:build !light

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"steps.example/schema"
	"steps.example/signer"
)

// TestTrustPolicyBothWays holds the schema of trust policies and the parser that
// clients use against each other.
func TestTrustPolicyBothWays(t *testing.T) {
	t.Parallel()
	key, err := signer.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	pem, err := json.Marshal(string(key.PublicPEM()))
	if err != nil {
		t.Fatal(err)
	}
	good := `{"version": 1, "rules": [{"match": {"registry": "https://registry.example", "package": "pkg:generic/acme/*"},
		"anyOf": [{"key": {"id": "` + key.ID() + `", "pem": ` + string(pem) + `}}]}]}`
	edit := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in the policy", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	extra := func(member string) string { return edit(`{"version": 1,`, `{"version": 1, `+member+`,`) }
	root := `"trust": {"mode": "file", "trustedRoot": "/r", "sha256": "` + strings.Repeat("ab", 32) + `"}`
	who := func(identity string) string {
		return strings.Replace(extra(root), `[{"key"`, `[{"keyless": `+identity+`}, {"key"`, 1)
	}
	for _, tc := range []struct {
		name, policy string
		valid        bool
	}{
		{"comment", extra(`"comment": "for people"`), true},
		{"trust root", extra(root), true},
		{"identity", who(`{"issuer": "https://i", "san": "n"}`), true},
		{"identity without trust root", strings.Replace(who(`{"issuer": "https://i", "san": "n"}`), root, `"comment": ""`, 1), false},
		{"unknown member of a match", edit(`"registry"`, `"any": true, "registry"`), false},
		{"unknown member of a signer", edit(`{"key": {`, `{"any": true, "key": {`), false},
		{"unknown member of a key", edit(`"key": {`, `"key": {"any": true,`), false},
		{"unknown member of an identity", who(`{"issuer": "https://i", "san": "n", "any": true}`), false},
		{"unknown member of the trust root", extra(strings.Replace(root, `{`, `{"any": true, `, 1)), false},
		{"unknown member of the limits", extra(`"limits": {"any": 1}`), false},
		{"unknown member of what is revoked", extra(`"revoked": {"any": []}`), false},
		{"unknown member of a log entry", extra(`"revoked": {"logEntries": [{"log": "` + key.ID() + `", "index": 1, "any": 1}]}`), false},
		{"unknown member of a revoked identity", extra(`"revoked": {"identities": [{"issuer": "https://i", "san": "n", "any": 1}]}`), false},
		{"log entry", extra(`"revoked": {"logEntries": [{"log": "` + key.ID() + `", "index": 1}]}`), true},
		{"good", good, true},
		{"limits", edit(`{"version": 1,`, `{"version": 1, "limits": {"steps": 5000},`), true},
		{"revoked", edit(`{"version": 1,`, `{"version": 1, "revoked": {"purls": ["pkg:generic/acme/demo@1.0"]},`), true},
		{"window", edit(`"key": {`, `"key": {"notAfter": "2030-01-01T00:00:00Z",`), true},
		{"unknown member", edit(`{"version": 1,`, `{"version": 1, "allow": "all",`), false},
		{"unknown member of a rule", edit(`"anyOf"`, `"or": [], "anyOf"`), false},
		{"doubled member", edit(`{"version": 1,`, `{"version": 1, "version": 1,`), false},
		{"other case", edit(`"rules"`, `"Rules"`), false},
		{"no rules", `{"version": 1, "rules": []}`, false},
		{"nobody trusted", edit(`[{"key": {"id": "`+key.ID()+`", "pem": `+string(pem)+`}}]`, `[]`), false},
		{"other version", edit(`"version": 1`, `"version": 2`), false},
		{"plain http", edit(`https://`, `http://`), false},
		{"wildcard in the middle of a name", edit(`acme/*`, `a*e/demo`), false},
		{"null", edit(`"version": 1`, `"version": null`), false},
		{"negative limit", edit(`{"version": 1,`, `{"version": 1, "limits": {"steps": -1},`), false},
		{"not a time", edit(`"key": {`, `"key": {"notAfter": "tomorrow",`), false},
		{"trailing data", good + " {}", false},
		{"no object", "[]", false},
		{"nothing", "", false},
	} {
		cueErr := schema.ValidateTrust([]byte(tc.policy))
		_, err := signer.ParsePolicy([]byte(tc.policy))
		if (cueErr == nil) != tc.valid || (err == nil) != tc.valid {
			t.Errorf("%s: the schema says %v, the parser %v, want valid: %v", tc.name, cueErr, err, tc.valid)
		}
	}
}
