package schema

import (
	"strings"
	"testing"
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
