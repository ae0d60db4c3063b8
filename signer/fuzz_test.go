package signer

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"google.golang.org/protobuf/encoding/protojson"
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

// The same with certificates, log entries and timestamps, which are parsed before
// anything is authentic.
func FuzzVerifyKeyless(f *testing.F) {
	s := newSigstore(f)
	policy := withRoot(f, keylessMap(s), s)
	good := attempt{}.bundle(f, s)
	f.Add(good)
	f.Add(attempt{noLog: true, stamps: []time.Time{}}.bundle(f, s))
	f.Add(attempt{noCert: true}.bundle(f, s))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Verify(data, policy, testWant())
		if err == nil && string(v.Document) != testDocument {
			t.Errorf("accepted %s", data)
		}
	})
}

// The parts of a bundle that are encoded within it, which FuzzVerifyKeyless can hardly
// get at: one is replaced by the data.
func FuzzEvidence(f *testing.F) {
	s := newSigstore(f)
	policy := withRoot(f, keylessMap(s), s)
	good := attempt{}.bundle(f, s)
	m := entriesOf(f, good)
	entry := m.GetTlogEntries()[0]
	for which, data := range [][]byte{
		m.GetCertificate().GetRawBytes(),
		m.GetTimestampVerificationData().GetRfc3161Timestamps()[0].GetSignedTimestamp(),
		entry.GetCanonicalizedBody(),
		[]byte(entry.GetInclusionProof().GetCheckpoint().GetEnvelope()),
		entry.GetInclusionProof().GetRootHash(),
	} {
		f.Add(uint8(which), data)
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		b := new(protobundle.Bundle)
		if err := protojson.Unmarshal(good, b); err != nil {
			t.Fatal(err)
		}
		m := b.VerificationMaterial
		entry := m.TlogEntries[0]
		switch which % 5 {
		case 0:
			m.GetCertificate().RawBytes = data
		case 1:
			m.TimestampVerificationData.Rfc3161Timestamps[0].SignedTimestamp = data
		case 2:
			entry.CanonicalizedBody = data
		case 3:
			entry.InclusionProof.Checkpoint.Envelope = strings.ToValidUTF8(string(data), "")
		default:
			entry.InclusionProof.RootHash = data
		}
		bent, err := encodeBundle(b)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Verify(bent, policy, testWant())
		if err == nil && string(v.Document) != testDocument {
			t.Errorf("accepted %s", bent)
		}
	})
}

// A trust root is believed, but not able to crash who reads it.
func FuzzParseTrustRoot(f *testing.F) {
	s := newSigstore(f)
	f.Add(s.TrustRoot())
	f.Add([]byte("{}"))
	data := attempt{}.bundle(f, s)
	policy := mustPolicy(f, keylessMap(s))
	f.Fuzz(func(t *testing.T, root []byte) {
		r, err := ParseTrustRoot(root)
		if err != nil {
			return
		}
		with := *policy
		with.root = r
		_, _ = Verify(data, &with, testWant())
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
	s := newSigstore(f)
	rich := allOfMap(s, key)
	rich["index"] = map[string]any{"url": "file:///index", "root": "/r", "sha256": strings.Repeat("ab", 32), "maxAge": "24h", "minVersion": 1}
	rich["homebrewAPI"] = apiPolicyMap(f, apiKeys()[0].Public())["homebrewAPI"]
	rich["revoked"] = map[string]any{
		"logEntries": []any{map[string]any{"log": key.ID(), "index": 7}},
		"identities": []any{map[string]any{"issuer": testIssuer, "san": testIdentity, "after": "2026-01-01T00:00:00Z"}},
	}
	f.Add(mustJSON(f, rich))
	pattern := keylessMap(s)
	rule := signerOf(pattern, "keyless")
	delete(rule, "san")
	rule["sanPattern"], rule["buildSigner"], rule["tlog"] = "^a|b$", "x", 0
	f.Add(mustJSON(f, pattern))
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
				AllOf []struct{ AnyOf []any }
			}
		}
		if err := json.Unmarshal(data, &lenient); err != nil {
			t.Fatal(err)
		}
		if lenient.Version != 1 || len(lenient.Rules) != len(p.rules) || len(p.rules) == 0 {
			t.Fatalf("accepted %s", data)
		}
		for i, r := range p.rules {
			signers := 0
			for _, g := range r.groups {
				signers += len(g.keys) + len(g.identities)
				for _, id := range g.identities {
					if id.need.times < 1 || p.trust.path == "" || id.pattern != nil && !strings.HasPrefix(id.pattern.String(), `\A`) {
						t.Errorf("identity %+v", id)
					}
				}
			}
			for _, g := range lenient.Rules[i].AllOf {
				signers -= len(g.AnyOf)
			}
			if r.registry != lenient.Rules[i].Match.Registry || strings.Join(r.packages, "/") != lenient.Rules[i].Match.Package ||
				signers != len(lenient.Rules[i].AnyOf) || len(r.groups) == 0 {
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
