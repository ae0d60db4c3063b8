package signer

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"
)

// Whatever is done to a bundle, what is accepted is what was signed.
func FuzzVerify(f *testing.F) {
	key := testKey(f, "signer")
	policy := mustPolicy(f, policyMap(key))
	payload := testPayload(f)
	good := mustSign(f, key, testRequest())
	f.Add(good)
	f.Add(mustSign(f, testKey(f, "other"), testRequest()))
	f.Add(forge(f, key, []byte(payload), "text/plain"))
	f.Add(bytes.ReplaceAll(good, []byte("publicKey"), []byte("certificate")))
	f.Add([]byte("{}"))
	want := sha256.Sum256([]byte(payload))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Verify(data, policy, testWant())
		if err != nil {
			if err.Error() == "" || v != nil {
				t.Errorf("result %v with error %q", v, err)
			}
			return
		}
		if v.PayloadSHA256 != want || string(v.Document) != testDocument {
			t.Errorf("accepted %s", data)
		}
	})
}

// Whatever statement the key is made to sign, what is accepted says one thing only: a
// lenient parser reads the same as the strict one.
func FuzzSignedStatement(f *testing.F) {
	key := testKey(f, "signer")
	policy := mustPolicy(f, policyMap(key))
	payload := testPayload(f)
	f.Add([]byte(payload))
	f.Add(edit(f, payload, `"revision":7`, `"revision":7,"revision":8`))
	f.Add(edit(f, payload, `"subject":`, `"Subject":[],"subject":`))
	f.Add(edit(f, payload, `,"document":`, ` , "document" : `))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Verify(forge(t, key, data, payloadType), policy, testWant())
		if err != nil {
			return
		}
		var lenient struct {
			Subject   []struct{ Name string }
			Predicate struct {
				PURL, Registry string
				Revision       int
				Capabilities   []string
				Document       json.RawMessage
			}
		}
		if err := json.Unmarshal(data, &lenient); err != nil {
			t.Fatal(err)
		}
		p := lenient.Predicate
		if p.PURL != testPURL || len(lenient.Subject) != 1 || lenient.Subject[0].Name != testPURL ||
			p.Registry != v.Registry || p.Revision != v.Revision || len(p.Capabilities) != len(v.Capabilities) ||
			!bytes.Equal(p.Document, v.Document) || !bytes.Contains(data, v.Document) {
			t.Errorf("read %+v, a lenient parser %+v", v, lenient)
		}
	})
}

// A policy that is accepted trusts somebody, within bounds, and says so in any parser.
func FuzzParsePolicy(f *testing.F) {
	key := testKey(f, "signer")
	value := policyMap(key, testKey(f, "other"))
	value["limits"] = map[string]any{"bundleBytes": 5000, "payloadBytes": 5000, "steps": 5}
	value["revoked"] = map[string]any{"keys": []string{key.ID()}, "bundles": []string{strings.Repeat("ab", 32)}, "purls": []string{testPURL}}
	f.Add(mustJSON(f, policyMap(key)))
	f.Add(mustJSON(f, value))
	f.Add([]byte(`{"version":1,"rules":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePolicy(data)
		if err != nil {
			if p != nil {
				t.Error("a policy came with the error")
			}
			return
		}
		var lenient struct {
			Version int
			Rules   []struct {
				Match struct{ Registry, Package string }
				AnyOf []any
			}
		}
		if err := json.Unmarshal(data, &lenient); err != nil {
			t.Fatal(err)
		}
		if lenient.Version != 1 || len(lenient.Rules) != len(p.rules) || len(p.rules) == 0 {
			t.Fatalf("accepted %s", data)
		}
		for i, r := range p.rules {
			if r.registry != lenient.Rules[i].Match.Registry || strings.Join(r.packages, "/") != lenient.Rules[i].Match.Package ||
				len(r.keys) != len(lenient.Rules[i].AnyOf) || len(r.keys) == 0 {
				t.Errorf("rule %d of %s", i, data)
			}
		}
		l := p.Limits()
		if l.BundleBytes < 1 || l.PayloadBytes < 1 || l.Steps < 1 ||
			l.BundleBytes > maxLimits.BundleBytes || l.PayloadBytes > maxLimits.PayloadBytes || l.Steps > maxLimits.Steps {
			t.Errorf("limits %+v", l)
		}
	})
}

// An accepted purl is plain ASCII, and a pattern made of its coordinates matches it
// and not its neighbour.
func FuzzParsePURL(f *testing.F) {
	for _, s := range []string{testPURL, "pkg:npm/%40a/b@1", "pkg:generic/caf%C3%A9@1?x=%2F", "pkg:generic/%2E@1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parsePURL(s)
		if err != nil {
			return
		}
		if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Errorf("accepted %q", s)
		}
		pattern, err := parsePattern(p.coordinates)
		if err != nil || !pattern.matches(p) {
			t.Errorf("pattern of %q: %v", s, err)
		}
		p.coordinates += "x"
		if pattern.matches(p) {
			t.Errorf("pattern of %q is not anchored", s)
		}
	})
}

func FuzzScanDocument(f *testing.F) {
	f.Add([]byte(testDocument))
	f.Add([]byte(`{"x_steps":[[{}],1]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		if _, err := scanDocument(doc); err != nil {
			return
		}
		var value map[string]any
		if err := json.Unmarshal(doc, &value); err != nil {
			t.Errorf("accepted %q: %v", doc, err)
		}
	})
}
