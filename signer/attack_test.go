package signer

import (
	"bytes"
	"crypto/sha256"
	"runtime"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
)

// Absence of steps is not the same as absence of a statement.
func TestNoSteps(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	policy := mustPolicy(t, policyMap(key))
	r := testRequest()
	r.Document, r.Capabilities = []byte(`{"schema":1,"layout":"generic","name":"foo"}`), nil
	v, err := Verify(mustSign(t, key, r), policy, testWant())
	if err != nil || string(v.Document) != string(r.Document) {
		t.Errorf("got %+v, %v", v, err)
	}
	_, err = Verify(nil, policy, testWant())
	wantError(t, err, KindMalformed, "not a Sigstore bundle")
}

// A statement that understates gets past approvals that were given for less.
func TestUnderstatedCapabilities(t *testing.T) {
	t.Parallel()
	s := newSigstore(t)
	key := testKey(t, "signer")
	payload := testPayload(t)
	for _, stated := range []string{`[]`, `["run"]`, `["network"]`, `["network","run","sudo"]`} {
		bent := edit(t, payload, `["network","run"]`, stated)
		byKey := forge(t, key, bent, payloadType)
		if !sigstoreAccepts(t, byKey, key) {
			t.Error("sigstore-go alone compares capabilities; the check here may be redundant")
		}
		_, err := Verify(byKey, mustPolicy(t, policyMap(key)), testWant())
		wantError(t, err, KindCapabilities, `asks for ["network" "run"]`)
		_, err = Verify(attempt{payload: string(bent)}.bundle(t, s), withRoot(t, keylessMap(s), s), testWant())
		wantError(t, err, KindCapabilities, `asks for ["network" "run"]`)
	}
	if _, err := Verify(forge(t, key, []byte(payload), payloadType), mustPolicy(t, policyMap(key)), testWant()); err != nil {
		t.Error(err)
	}
}

// Old and new key overlap, so that clients and bundles need not change at once.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	older, newer := testKey(t, "2025"), testKey(t, "2026")
	value := policyMap(older, newer)
	list := value["rules"].([]any)[0].(map[string]any)["anyOf"].([]any)
	list[0].(map[string]any)["key"].(map[string]any)["notAfter"] = "2026-06-30T00:00:00Z"
	list[1].(map[string]any)["key"].(map[string]any)["notBefore"] = "2026-04-01T00:00:00Z"
	policy := mustPolicy(t, value)
	for _, tc := range []struct {
		name     string
		key      *Key
		now      string
		accepted bool
	}{
		{"old key before", older, "2026-03-01T00:00:00Z", true},
		{"new key before", newer, "2026-03-01T00:00:00Z", false},
		{"old key in the overlap", older, "2026-05-01T00:00:00Z", true},
		{"new key in the overlap", newer, "2026-05-01T00:00:00Z", true},
		{"old key after", older, "2026-07-01T00:00:00Z", false},
		{"new key after", newer, "2026-07-01T00:00:00Z", true},
	} {
		now, err := time.Parse(time.RFC3339, tc.now)
		if err != nil {
			t.Fatal(err)
		}
		want := testWant()
		want.Now = now
		_, err = Verify(mustSign(t, tc.key, testRequest()), policy, want)
		if tc.accepted && err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if !tc.accepted {
			wantError(t, err, KindExpired, "valid from")
		}
	}
}

// Revisions are bounded, and the index says which one it is: a single bundle cannot
// use them up.
func TestFastForward(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	policy := mustPolicy(t, policyMap(key))
	_, err := Verify(forge(t, key, edit(t, testPayload(t), `"revision":7`, `"revision":2147483648`), payloadType), policy, testWant())
	wantError(t, err, KindMalformed, "revision 2147483648")

	r, want := testRequest(), testWant()
	r.Revision = maxRevision
	last := mustSign(t, key, r)
	want.Listed = Mark{Revision: 8, PayloadSHA256: sha256.Sum256([]byte(testPayload(t)))}
	_, err = Verify(last, policy, want)
	wantError(t, err, KindEquivocation, "the index lists revision 8")
	if _, err = Verify(last, policy, testWant()); err != nil {
		t.Error(err)
	}
}

// A record of what was applied can name the policy that allowed it.
func TestPolicyIsNamed(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	strict, lax := policyMap(key), policyMap(key)
	lax["limits"] = map[string]any{"steps": 100_000}
	data := mustSign(t, key, testRequest())
	for _, value := range []map[string]any{strict, lax} {
		v, err := Verify(data, mustPolicy(t, value), testWant())
		if err != nil {
			t.Fatal(err)
		}
		if v.PolicySHA256 != sha256.Sum256(mustJSON(t, value)) {
			t.Error("not the digest of the policy that was used")
		}
	}
}

// Evidence comes before the signature, so anybody can make it large or deep. Not
// parallel: it counts allocations.
func TestEvidenceBombs(t *testing.T) {
	s := newSigstore(t)
	policy := withRoot(t, keylessMap(s), s)
	stampsOf := func(list ...[]byte) func(*protobundle.Bundle) {
		return func(b *protobundle.Bundle) {
			stamps := new(protobundle.TimestampVerificationData)
			for _, stamp := range list {
				stamps.Rfc3161Timestamps = append(stamps.Rfc3161Timestamps, &protocommon.RFC3161SignedTimestamp{SignedTimestamp: stamp})
			}
			b.VerificationMaterial.TimestampVerificationData = stamps
		}
	}
	deep := func(n int) []byte { return bytes.Repeat([]byte{0x30, 0x80}, n/2) }
	for _, tc := range []struct {
		name string
		bend func(*protobundle.Bundle)
		kind Kind
		want string
	}{
		{"many timestamps", stampsOf(slicesOf(40, []byte("x"))...), KindEvidence, "0 trusted times"},
		{"many deep timestamps", stampsOf(slicesOf(20, deep(maxEvidenceBytes))...), KindEvidence, "0 trusted times"},
		{"a large timestamp", stampsOf(deep(maxEvidenceBytes + 2)), KindTooLarge, "timestamp 1"},
		{"many log entries", func(b *protobundle.Bundle) {
			list := b.VerificationMaterial.TlogEntries
			for range 40 {
				list = append(list, list[0])
			}
			b.VerificationMaterial.TlogEntries = list
		}, KindMalformed, "too many"},
		{"empty log entries", func(b *protobundle.Bundle) {
			b.VerificationMaterial.TlogEntries = []*protorekor.TransparencyLogEntry{{}, {}}
		}, KindMalformed, "bundle"},
		{"a deep log entry", func(b *protobundle.Bundle) {
			b.VerificationMaterial.TlogEntries[0].CanonicalizedBody = []byte(strings.Repeat(`{"a":`, 200_000))
		}, KindMalformed, "bundle"},
		{"a large certificate", func(b *protobundle.Bundle) {
			b.VerificationMaterial.GetCertificate().RawBytes = deep(maxEvidenceBytes + 2)
		}, KindTooLarge, "certificate"},
		{"a deep certificate", func(b *protobundle.Bundle) {
			b.VerificationMaterial.GetCertificate().RawBytes = deep(maxEvidenceBytes)
		}, KindMalformed, "certificate"},
		{"a long proof", func(b *protobundle.Bundle) {
			proof := b.VerificationMaterial.TlogEntries[0].InclusionProof
			proof.Hashes = slicesOf(5_000, make([]byte, 32))
		}, KindEvidence, "transparency log"},
	} {
		data := attempt{bend: tc.bend}.bundle(t, s)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Verify(data, policy, testWant())
		runtime.ReadMemStats(&after)
		wantError(t, err, tc.kind, tc.want)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
			t.Errorf("%s: refusing allocated %d bytes", tc.name, used)
		}
	}
}

func slicesOf(n int, b []byte) [][]byte {
	list := make([][]byte, n)
	for i := range list {
		list[i] = b
	}
	return list
}
