package signer

import (
	"crypto/rand"
	"strings"
	"testing"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	cosignature "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"

	"steps.example/signer/sigstoretest"
)

// A log that has shown its witnesses one history cannot show a victim another, whatever
// the log itself signs.
func TestWitnesses(t *testing.T) {
	t.Parallel()
	s := newSigstore(t)
	bare := attempt{}.bundle(t, s)
	split := s.SplitView()
	one, other := s.Witness("one.example"), s.Witness("other.example")
	stranger := sigstoretest.New(t, "stranger", s.Now).Witness("one.example") // same name, another key
	seen := attempt{}.bundle(t, s)
	key := testKey(t, "signer")
	keyed := attempt{key: key, noCert: true}.bundle(t, s)
	graft := attempt{bend: func(b *protobundle.Bundle) {
		// The cosigned checkpoint of the public history, on the entry of the hidden one.
		b.VerificationMaterial.TlogEntries[0].InclusionProof.Checkpoint = entriesOf(t, seen).TlogEntries[0].InclusionProof.Checkpoint
	}}.bundle(t, s.SplitView())
	paste := attempt{bend: func(b *protobundle.Bundle) {
		cp := b.VerificationMaterial.TlogEntries[0].InclusionProof.Checkpoint
		lines := strings.SplitAfter(entriesOf(t, seen).TlogEntries[0].InclusionProof.Checkpoint.Envelope, "\n")
		cp.Envelope += strings.Join(lines[len(lines)-3:], "")
	}}.bundle(t, split)

	policy := func(need int, keys ...string) *Policy {
		value := keylessMap(s)
		value["trust"].(map[string]any)["witnesses"] = map[string]any{"threshold": need, "keys": keys}
		rule := value["rules"].([]any)[0].(map[string]any)
		rule["anyOf"] = append(rule["anyOf"].([]any), map[string]any{"key": map[string]any{
			"id": key.ID(), "pem": string(key.PublicPEM()), "tlog": 1}})
		return withRoot(t, value, s)
	}
	for _, tc := range []struct {
		name   string
		policy *Policy
		bundle []byte
		want   string // "" for success
	}{
		{"one of one", policy(1, one), seen, ""},
		{"both", policy(2, one, other), seen, ""},
		{"one of two is enough", policy(1, stranger, other), seen, ""},
		{"by a key", policy(2, one, other), keyed, ""},
		{"hidden history", policy(1, one), attempt{}.bundle(t, split), "cosigned by 0"},
		{"before there were witnesses", policy(1, one), bare, "cosigned by 0"},
		{"another witness of that name", policy(1, stranger), seen, "cosigned by 0"},
		{"one of two is not enough", policy(2, stranger, other), seen, "cosigned by 1"},
		{"the checkpoint of another history", policy(1, one), graft, "transparency log"},
		{"the cosignatures of another checkpoint", policy(1, one), paste, "cosigned by 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := Verify(tc.bundle, tc.policy, testWant())
			if tc.want != "" {
				wantError(t, err, KindEvidence, tc.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	// Without the demand nobody looks.
	if _, err := Verify(attempt{}.bundle(t, split), withRoot(t, keylessMap(s), s), testWant()); err != nil {
		t.Error("control:", err)
	}
}

func TestWitnessPolicy(t *testing.T) {
	t.Parallel()
	s := newSigstore(t)
	plain, other := s.Witness("witness.example"), s.Witness("other.example")
	cosign, err := cosignature.VKeyToCosignatureV1(plain)
	if err != nil {
		t.Fatal(err)
	}
	_, wrongSum, err := note.GenerateKey(rand.Reader, "witness.example")
	if err != nil {
		t.Fatal(err)
	}
	wrongSum = "witness.example+" + strings.Repeat("0", 8) + wrongSum[strings.LastIndex(wrongSum, "+"):]
	for _, tc := range []struct {
		name      string
		threshold int
		keys      []any
		want      string // "" for success
	}{
		{"plain key", 1, []any{plain}, ""},
		{"cosignature key", 1, []any{cosign}, ""},
		{"two", 2, []any{plain, other}, ""},
		{"nobody", 1, []any{}, "0 keys"},
		{"no threshold", 0, []any{plain}, "threshold 0"},
		{"too high", 2, []any{plain}, "threshold 2"},
		{"twice", 2, []any{plain, cosign}, "another of"},
		{"no key", 1, []any{"witness.example"}, "not the key of a witness"},
		{"wrong checksum", 1, []any{wrongSum}, "not the key of a witness"},
		{"private", 1, []any{"PRIVATE+KEY+" + plain}, "not the key of a witness"},
	} {
		value := keylessMap(s)
		value["trust"].(map[string]any)["witnesses"] = map[string]any{"threshold": tc.threshold, "keys": tc.keys}
		_, err := ParsePolicy(mustJSON(t, value))
		if tc.want != "" {
			wantError(t, err, KindPolicy, tc.want)
		} else if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// A proof that leads elsewhere is told with roots that can be compared with a log's.
func TestRootsAreHex(t *testing.T) {
	t.Parallel()
	s := newSigstore(t)
	attempt{}.bundle(t, s)
	data := attempt{bend: func(b *protobundle.Bundle) {
		entry := b.VerificationMaterial.TlogEntries[0]
		entry.LogIndex, entry.InclusionProof.LogIndex = 0, 0
	}}.bundle(t, s)
	_, err := Verify(data, withRoot(t, keylessMap(s), s), testWant())
	wantError(t, err, KindEvidence, "the entry is not in the tree that the log signed: its proof leads to root ")
	if strings.Contains(err.Error(), "[") {
		t.Errorf("bytes as numbers in %v", err)
	}
}

// Who is listed but for the build is told so.
func TestOtherBuild(t *testing.T) {
	t.Parallel()
	s := newSigstore(t)
	value := keylessMap(s)
	signerOf(value, "keyless")["buildSigner"] = "https://ci.example/build"
	policy := withRoot(t, value, s)
	built := func(by string) []byte {
		return attempt{id: sigstoretest.Identity{BuildSigner: by}}.bundle(t, s)
	}
	_, err := Verify(built("https://ci.example/other"), policy, testWant())
	wantError(t, err, KindUntrustedKey, `lists, but its certificate says buildSigner "https://ci.example/other", not "https://ci.example/build"`)
	if _, err := Verify(built("https://ci.example/build"), policy, testWant()); err != nil {
		t.Error(err)
	}
}
