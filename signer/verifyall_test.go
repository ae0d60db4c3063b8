package signer

import (
	"testing"

	"steps.example/signer/sigstoretest"
)

// allOfMap is a policy that wants the registry's identity and the producer's key.
func allOfMap(s *sigstoretest.Sigstore, producers ...*Key) map[string]any {
	var keys []any
	for _, key := range producers {
		keys = append(keys, map[string]any{"key": map[string]any{"id": key.ID(), "pem": string(key.PublicPEM())}})
	}
	value := keylessMap(s)
	rule := value["rules"].([]any)[0].(map[string]any)
	rule["allOf"] = []any{
		map[string]any{"anyOf": rule["anyOf"]},
		map[string]any{"anyOf": keys},
	}
	delete(rule, "anyOf")
	return value
}

// Someone who took over the registry, or the producer, has one signature of two.
func TestVerifyAll(t *testing.T) {
	t.Parallel()
	s := newSigstore(t)
	producer, successor, other := testKey(t, "producer"), testKey(t, "successor"), testKey(t, "other")
	policy := withRoot(t, allOfMap(s, producer, successor), s)
	byRegistry := attempt{}.bundle(t, s)
	r := testRequest()
	r.IssuedAt = r.IssuedAt.AddDate(0, 0, -1)
	byProducer := mustSign(t, producer, r)
	bent := func(bend func(*Request)) []byte {
		r := testRequest()
		bend(&r)
		return mustSign(t, producer, r)
	}
	for _, tc := range []struct {
		name    string
		bundles [][]byte
		kind    Kind // "" for success
		want    string
	}{
		{"both", [][]byte{byRegistry, byProducer}, "", ""},
		{"in the other order", [][]byte{byProducer, byRegistry}, "", ""},
		{"the producer's next key", [][]byte{byRegistry, mustSign(t, successor, testRequest())}, "", ""},
		{"none", nil, KindIncomplete, "wants 2 signatures, got 0"},
		{"the registry alone", [][]byte{byRegistry}, KindIncomplete, "got 1"},
		{"the producer alone", [][]byte{byProducer}, KindIncomplete, "got 1"},
		{"the registry twice", [][]byte{byRegistry, attempt{}.bundle(t, s)}, KindIncomplete, "one group"},
		{"two keys of the producer", [][]byte{byProducer, mustSign(t, successor, testRequest())}, KindIncomplete, "one group"},
		{"the registry and a stranger", [][]byte{byRegistry, mustSign(t, other, testRequest())}, KindUntrustedKey, "does not list"},
		{"three", [][]byte{byRegistry, byProducer, byProducer}, KindIncomplete, "got 3"},
		{"another document", [][]byte{byRegistry, bent(func(r *Request) { r.Document = edit(t, testDocument, "caf", "evil") })}, KindEquivocation, "different statements"},
		{"another revision", [][]byte{byRegistry, bent(func(r *Request) { r.Revision = 8 })}, KindEquivocation, "different statements"},
		{"another package", [][]byte{byRegistry, bent(func(r *Request) { r.PURL = "pkg:generic/acme/bar@1" })}, KindEquivocation, "different statements"},
		{"another registry", [][]byte{byRegistry, bent(func(r *Request) { r.Registry = "https://other.example" })}, KindEquivocation, "different statements"},
		{"another package id", [][]byte{byRegistry, bent(func(r *Request) { r.PackageID = "7" })}, KindEquivocation, "different statements"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v, err := VerifyAll(tc.bundles, policy, testWant())
			if tc.kind != "" {
				wantError(t, err, tc.kind, tc.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(v.Signatories) != 2 || v.Signatories[0].Identity != testIdentity || v.Signatories[1].KeyID == "" {
				t.Errorf("signed by %+v", v.Signatories)
			}
		})
	}
	_, err := Verify(byRegistry, policy, testWant())
	wantError(t, err, KindIncomplete, "got 1")
}

func TestPackageID(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	policy := mustPolicy(t, policyMap(key))
	r, want := testRequest(), testWant()
	r.PackageID, want.PackageID = "acme/4711", "acme/4711"
	if v, err := Verify(mustSign(t, key, r), policy, want); err != nil || v.PackageID != "acme/4711" {
		t.Errorf("got %+v, %v", v, err)
	}
	want.PackageID = "acme/4712"
	_, err := Verify(mustSign(t, key, r), policy, want)
	wantError(t, err, KindWrongPackage, "acme/4711")
	_, err = Verify(mustSign(t, key, testRequest()), policy, want)
	wantError(t, err, KindWrongPackage, `package id ""`)
}
