package signer

import (
	"crypto/x509"
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"

	"steps.example/signer/sigstoretest"
)

func TestVerifyKeyless(t *testing.T) {
	t.Parallel()
	s := newSigstore(t)
	data := attempt{}.bundle(t, s)
	v, err := Verify(data, withRoot(t, keylessMap(s), s), testWant())
	if err != nil {
		t.Fatal(err)
	}
	want := []Signatory{{Identity: testIdentity, Issuer: testIssuer, Times: []time.Time{testTime}, BundleSHA256: v.BundleSHA256}}
	if diff := cmp.Diff(want, v.Signatories); diff != "" {
		t.Error(diff)
	}
	if string(v.Document) != testDocument || v.KeyID != "" || v.Signatories[0].String() != testIdentity+" of "+testIssuer {
		t.Errorf("got %+v", v)
	}
}

// Who controls neither authority, log nor identity: each line is one thing wrong, of a
// bundle that TestVerifyKeyless accepts.
func TestVerifyKeylessRefuses(t *testing.T) {
	t.Parallel()
	s, foreign := newSigstore(t), foreignSigstore(t)
	policy := withRoot(t, keylessMap(s), s)
	other := attempt{payload: string(edit(t, testPayload(t), `"revision":7`, `"revision":8`))}
	named := func(san string) attempt { return attempt{id: sigstoretest.Identity{SAN: san}} }
	bend := func(change func(*protobundle.VerificationMaterial)) attempt {
		return attempt{bend: func(b *protobundle.Bundle) { change(b.VerificationMaterial) }}
	}
	for _, tc := range []struct {
		name string
		data []byte
		kind Kind
		want string
	}{
		{"another identity", named("https://registry.example/signing/steps.yml@refs/heads/dev").bundle(t, s), KindUntrustedKey, "does not list"},
		{"identity with a tail", named(testIdentity+"x").bundle(t, s), KindUntrustedKey, "does not list"},
		{"identity inside another", named("https://evil.example/?"+testIdentity).bundle(t, s), KindUntrustedKey, "does not list"},
		{"the name of another issuer", attempt{id: sigstoretest.Identity{Issuer: "https://evil.example"}}.bundle(t, s), KindUntrustedKey, "does not list"},
		{"issuer with a tail", attempt{id: sigstoretest.Identity{Issuer: testIssuer + ".evil.example"}}.bundle(t, s), KindUntrustedKey, "does not list"},
		{"two names", attempt{id: sigstoretest.Identity{Bend: func(c *x509.Certificate) {
			c.URIs = append(c.URIs, &url.URL{Scheme: "https", Host: "evil.example"})
		}}}.bundle(t, s), KindMalformed, "2 subject names"},
		{"a name and a mail address", attempt{id: sigstoretest.Identity{Bend: func(c *x509.Certificate) {
			c.EmailAddresses = []string{"evil@evil.example"}
		}}}.bundle(t, s), KindMalformed, "2 subject names"},
		{"two issuers", attempt{id: sigstoretest.Identity{Bend: func(c *x509.Certificate) {
			c.ExtraExtensions[0].Value = []byte("https://evil.example")
		}}}.bundle(t, s), KindMalformed, "two issuers"},
		{"another authority", attempt{}.bundle(t, foreign), KindEvidence, "log"},
		{"another authority for all but the certificate", bendCertificate(t, s, foreign), KindEvidence, "transparency log"},
		{"not for signing code", attempt{id: sigstoretest.Identity{Bend: func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}}}.bundle(t, s), KindEvidence, "certificate"},
		{"certificate not logged", attempt{id: sigstoretest.Identity{NoSCT: true}}.bundle(t, s), KindEvidence, "SCT"},
		{"certificate in a foreign log", attempt{id: sigstoretest.Identity{ForeignCT: true}}.bundle(t, s), KindEvidence, "SCT"},
		{"no log entry", attempt{noLog: true}.bundle(t, s), KindEvidence, "transparency log"},
		{"the log entry of another bundle", bend(func(m *protobundle.VerificationMaterial) {
			m.TlogEntries = entriesOf(t, other.bundle(t, s)).TlogEntries
		}).bundle(t, s), KindEvidence, "transparency log"},
		{"the log entry at another place", bend(func(m *protobundle.VerificationMaterial) {
			m.TlogEntries[0].LogIndex++
			m.TlogEntries[0].InclusionProof.LogIndex++
		}).bundle(t, s), KindEvidence, "transparency log"},
		{"one log entry twice", bend(func(m *protobundle.VerificationMaterial) {
			m.TlogEntries = append(m.TlogEntries, m.TlogEntries[0])
		}).bundle(t, s), KindEvidence, "transparency log"},
		{"a time that nobody signed", bend(func(m *protobundle.VerificationMaterial) {
			m.TimestampVerificationData = nil
			m.TlogEntries[0].IntegratedTime = testTime.Unix()
		}).bundle(t, s), KindEvidence, "0 trusted times"},
		{"a time of a foreign authority", bend(func(m *protobundle.VerificationMaterial) {
			m.TimestampVerificationData = entriesOf(t, attempt{}.bundle(t, foreign)).TimestampVerificationData
		}).bundle(t, s), KindEvidence, "0 trusted times"},
		{"the time of another signature", bend(func(m *protobundle.VerificationMaterial) {
			m.TimestampVerificationData = entriesOf(t, other.bundle(t, s)).TimestampVerificationData
		}).bundle(t, s), KindEvidence, "0 trusted times"},
		{"signed after the certificate's life", attempt{stamps: []time.Time{testTime.Add(sigstoretest.Lifetime + time.Second)}}.bundle(t, s), KindEvidence, "leaf certificate"},
		{"signed before it", attempt{stamps: []time.Time{testTime.Add(-time.Second)}}.bundle(t, s), KindEvidence, "leaf certificate"},
		{"another artifact", attempt{payload: string(edit(t, testPayload(t), hexDigest(testArtifact), strings.Repeat("ab", 32)))}.bundle(t, s), KindWrongArtifact, "signed for"},
		{"altered payload", attempt{bend: func(b *protobundle.Bundle) {
			e := b.GetDsseEnvelope()
			e.Payload = edit(t, string(e.Payload), `"revision":7`, `"revision":9`)
		}}.bundle(t, s), KindEvidence, "transparency log"},
		{"duplicate members", attempt{payload: string(edit(t, testPayload(t), `"revision":7`, `"revision":7,"revision":9`))}.bundle(t, s), KindMalformed, "duplicate"},
		{"another kind of statement", attempt{payload: string(edit(t, testPayload(t), PredicateType, "https://slsa.dev/provenance/v1"))}.bundle(t, s), KindMalformed, "predicateType"},
		{"the certificate's key without the certificate", attempt{noCert: true}.bundle(t, s), KindUntrustedKey, "does not list"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v, err := Verify(tc.data, policy, testWant())
			wantError(t, err, tc.kind, tc.want)
			if v != nil {
				t.Error("a result came with the error")
			}
		})
	}
}

// bendCertificate is the honest bundle of a foreign deployment, but for a certificate
// of ours over the same key.
func bendCertificate(t testing.TB, s, foreign *sigstoretest.Sigstore) []byte {
	t.Helper()
	return attempt{bend: func(b *protobundle.Bundle) {
		b.VerificationMaterial.GetCertificate().RawBytes = s.Certificate(
			testKey(t, "ephemeral").public.key, sigstoretest.Identity{SAN: testIdentity, Issuer: testIssuer})
	}}.bundle(t, foreign)
}

func entriesOf(t testing.TB, data []byte) *protobundle.VerificationMaterial {
	t.Helper()
	env, err := parseBundle(data, maxLimits)
	if err != nil {
		t.Fatal(err)
	}
	return env.bundle.GetVerificationMaterial()
}

// What a policy demands is demanded, and what it does not is not looked at: thresholds
// never follow the bundle.
func TestThresholds(t *testing.T) {
	t.Parallel()
	s, foreign := newSigstore(t), foreignSigstore(t)
	full, bare := attempt{}, attempt{noLog: true, id: sigstoretest.Identity{NoSCT: true}}
	twice := attempt{stamps: []time.Time{testTime, testTime.Add(time.Second)}}
	strangeLog := attempt{bend: func(b *protobundle.Bundle) {
		b.VerificationMaterial.TlogEntries = entriesOf(t, attempt{}.bundle(t, foreign)).TlogEntries
	}}
	for _, tc := range []struct {
		name    string
		attempt attempt
		rule    map[string]any
		want    string // "" for success
	}{
		{"one of each", full, map[string]any{"tlog": 1, "timestamps": 1, "sct": 1}, ""},
		{"two logs wanted", full, map[string]any{"tlog": 2}, "transparency log"},
		{"two times wanted", full, map[string]any{"timestamps": 2}, "1 trusted times, want 2"},
		{"two times of one authority", twice, map[string]any{"timestamps": 2}, "1 trusted times, want 2"},
		{"two certificate logs wanted", full, map[string]any{"sct": 2}, "SCT"},
		{"neither log wanted", bare, map[string]any{"tlog": 0, "sct": 0}, ""},
		{"certificate log wanted", bare, map[string]any{"tlog": 0}, "SCT"},
		{"a strange log, none wanted", strangeLog, map[string]any{"tlog": 0}, ""},
		{"a strange log, one wanted", strangeLog, map[string]any{"tlog": 1}, "transparency log"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			value := keylessMap(s)
			for member, n := range tc.rule {
				signerOf(value, "keyless")[member] = n
			}
			_, err := Verify(tc.attempt.bundle(t, s), withRoot(t, value, s), testWant())
			if tc.want != "" {
				wantError(t, err, KindEvidence, tc.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestIdentityPatterns(t *testing.T) {
	t.Parallel()
	s := newSigstore(t)
	for _, tc := range []struct {
		name, pattern, san, buildSigner string
		accepted                        bool
	}{
		{"whole", `^https://ci[.]example/[a-z]+$`, "https://ci.example/acme", "", true},
		{"head", `^https://ci[.]example/[a-z]+$`, "https://ci.example/acme/x", "", false},
		{"tail", `^https://ci[.]example/[a-z]+$`, "https://evil.example/?https://ci.example/acme", "", false},
		{"alternatives are inside the anchors", `^https://ci[.]example/a|b$`, "https://ci.example/a/evil", "", false},
		{"multiline does not move the anchors", `^(?m:https://ci[.]example/a$)$`, "https://ci.example/a", "", true},
		{"build signer", `^https://ci[.]example/.*$`, "https://ci.example/acme", "https://ci.example/build", true},
		{"other build signer", `^https://ci[.]example/.*$`, "https://ci.example/acme", "https://evil.example/build", false},
		{"no build signer", `^https://ci[.]example/.*$`, "https://ci.example/acme", "-", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			value := keylessMap(s)
			rule := signerOf(value, "keyless")
			delete(rule, "san")
			rule["sanPattern"] = tc.pattern
			id := sigstoretest.Identity{SAN: tc.san}
			if tc.buildSigner != "" {
				rule["buildSigner"] = "https://ci.example/build"
				id.BuildSigner = strings.TrimPrefix(tc.buildSigner, "-")
			}
			_, err := Verify(attempt{id: id}.bundle(t, s), withRoot(t, value, s), testWant())
			if tc.accepted && err != nil {
				t.Error(err)
			}
			if !tc.accepted {
				want := "does not list"
				if tc.buildSigner != "" {
					want = "buildSigner"
				}
				wantError(t, err, KindUntrustedKey, want)
			}
		})
	}
}

func TestNamePatterns(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "a", "^a", "a$", "^$", `^a\$`, "^a)|(b$", "^(a$", "^a b$", "^a\n$", "^" + strings.Repeat("a", 2000) + "$", "^a{1001}$"} {
		if p, reason := parseNamePattern(s); reason == "" || p != nil {
			t.Errorf("%q is accepted", s)
		}
	}
	if p, reason := parseNamePattern("^a|b$"); reason != "" || !p.MatchString("b") || p.MatchString("ab") {
		t.Errorf("^a|b$: %s", reason)
	}
}

func TestTrustRoot(t *testing.T) {
	t.Parallel()
	s := newSigstore(t)
	data := attempt{}.bundle(t, s)
	policy := mustPolicy(t, keylessMap(s))
	if policy.TrustRootFile() != "/etc/steps/trusted_root.json" {
		t.Errorf("trust root is %q", policy.TrustRootFile())
	}
	_, err := Verify(data, policy, testWant())
	wantError(t, err, KindTrustRoot, "not loaded")
	// The right file with one byte more is another file.
	_, err = policy.WithTrustRoot(append(s.TrustRoot(), '\n'))
	wantError(t, err, KindTrustRoot, "pins")
	_, err = policy.WithTrustRoot(foreignSigstore(t).TrustRoot())
	wantError(t, err, KindTrustRoot, "pins")
	_, err = mustPolicy(t, policyMap(testKey(t, "signer"))).WithTrustRoot(s.TrustRoot())
	wantError(t, err, KindPolicy, "names no trust root")
	loaded, err := policy.WithTrustRoot(s.TrustRoot())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(data, loaded, testWant()); err != nil {
		t.Error(err)
	}
	if _, err := Verify(data, policy, testWant()); err == nil {
		t.Error("the policy was changed")
	}
	for _, bad := range []string{"", "{}", "null", `{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1","tlogs":[{}]}`, strings.Repeat(" ", maxTrustRootBytes+1)} {
		if _, err := ParseTrustRoot([]byte(bad)); err == nil {
			t.Errorf("%.20q is accepted", bad)
		}
	}
}

// A key may be judged by a timestamp authority: then neither the clock nor the key's
// holder can say when it signed.
func TestKeyTimes(t *testing.T) {
	t.Parallel()
	s := newSigstore(t)
	key := testKey(t, "signer")
	within := attempt{key: key, noCert: true}
	after := attempt{key: key, noCert: true, stamps: []time.Time{testTime.Add(2 * time.Hour)}}
	untimed := attempt{key: key, noCert: true, stamps: []time.Time{}}
	unlogged := attempt{key: key, noCert: true, noLog: true}
	for _, tc := range []struct {
		name    string
		attempt attempt
		rule    map[string]any
		now     time.Time
		kind    Kind // "" for success
		want    string
	}{
		{"signed in its time, years ago", within, map[string]any{"time": "tsa"}, testTime.AddDate(5, 0, 0), "", ""},
		{"signed too late, by a clock that lies", after, map[string]any{"time": "tsa"}, testTime, KindExpired, "when key"},
		{"nobody says when", untimed, map[string]any{"time": "tsa"}, testTime, KindEvidence, "0 trusted times"},
		{"by the clock", within, map[string]any{"time": "current"}, testTime, "", ""},
		{"by the clock, years later", within, map[string]any{"time": "current"}, testTime.AddDate(5, 0, 0), KindExpired, "valid from"},
		{"in the log", within, map[string]any{"tlog": 1}, testTime, "", ""},
		{"not in the log", unlogged, map[string]any{"tlog": 1}, testTime, KindEvidence, "transparency log"},
		{"in the log and timed", within, map[string]any{"tlog": 1, "time": "tsa"}, testTime, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			value := policyMap(key)
			value["trust"] = trustMap(s)
			rule := signerOf(value, "key")
			rule["notBefore"], rule["notAfter"] = "2026-05-01T11:00:00Z", "2026-05-01T13:00:00Z"
			for member, n := range tc.rule {
				rule[member] = n
			}
			want := testWant()
			want.Now = tc.now
			v, err := Verify(tc.attempt.bundle(t, s), withRoot(t, value, s), want)
			if tc.kind != "" {
				wantError(t, err, tc.kind, tc.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if timed := len(v.Signatories[0].Times) > 0; timed != (tc.rule["time"] == "tsa") {
				t.Errorf("times %v", v.Signatories[0].Times)
			}
		})
	}
}

func TestKeylessRevocations(t *testing.T) {
	t.Parallel()
	s := newSigstore(t)
	attempt{}.bundle(t, s) // so that the next entry's index is not zero
	data := attempt{}.bundle(t, s)
	log := s.LogID()
	entry := func(index int) map[string]any {
		return map[string]any{"logEntries": []any{map[string]any{"log": base64.StdEncoding.EncodeToString(log[:]), "index": index}}}
	}
	identity := func(san, issuer, after string) map[string]any {
		x := map[string]any{"issuer": issuer, "san": san}
		if after != "" {
			x["after"] = after
		}
		return map[string]any{"identities": []any{x}}
	}
	for _, tc := range []struct {
		name    string
		revoked map[string]any
		refused bool
	}{
		{"nothing", map[string]any{}, false},
		{"log entry", entry(1), true},
		{"another log entry", entry(0), false},
		{"identity", identity(testIdentity, testIssuer, ""), true},
		{"another issuer's", identity(testIdentity, "https://other.example", ""), false},
		{"another of the issuer", identity(testIdentity+"x", testIssuer, ""), false},
		{"since before", identity(testIdentity, testIssuer, "2026-05-01T11:59:59Z"), true},
		{"since then", identity(testIdentity, testIssuer, "2026-05-01T12:00:00Z"), true},
		{"since later", identity(testIdentity, testIssuer, "2026-05-01T12:00:01Z"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			value := keylessMap(s)
			value["revoked"] = tc.revoked
			_, err := Verify(data, withRoot(t, value, s), testWant())
			if tc.refused {
				wantError(t, err, KindRevoked, "revokes")
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}
