//go:build !light

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"steps.example/signer"
)

// TestWorker asks as a light build does: the request and the answer are all there is.
func TestWorker(t *testing.T) {
	t.Parallel()
	key, err := signer.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	artifact := sha256.Sum256([]byte("the package"))
	bundle, err := signer.Sign(t.Context(), key, signer.Request{
		Registry: "https://registry.example", PURL: statePURL, Revision: 2, IssuedAt: time.Now(),
		Document: []byte(`{"schema":1,"layout":"generic","name":"demo","version":"1.0"}`), ArtifactSHA256: artifact,
	})
	if err != nil {
		t.Fatal(err)
	}
	policy, err := json.Marshal(firstPolicy("https://registry.example", "pkg:generic/acme/*",
		[]whoText{{Key: firstKey(key.ID(), string(key.PublicPEM()))}}))
	if err != nil {
		t.Fatal(err)
	}
	request := verifyRequest{Bundles: [][]byte{bundle}, Policy: policy, PURL: statePURL, ArtifactSHA256: hex.EncodeToString(artifact[:])}
	good := askWorker(t, workerRequest{Bundle: &request})
	if good.Error != nil || good.Verified == nil {
		t.Fatalf("a good bundle is refused: %v", good.Error)
	}
	v := good.Verified
	if signedBy(v.Signers) != "key "+key.ID() || v.Revision != 2 || v.PURL != statePURL || !strings.HasPrefix(string(v.Document), `{"schema":1`) {
		t.Errorf("got %+v", v)
	}
	mark := seenMark{v.Registry, v.Revision, v.PayloadSHA256}
	for _, tc := range []struct {
		name string
		seen seenMark
		kind string // "" for success
	}{
		{"the same", mark, ""},
		{"older", seenMark{mark.Registry, 1, strings.Repeat("a", 64)}, ""},
		{"of another registry", seenMark{"https://other.example", 3, mark.PayloadSHA256}, ""},
		{"newer", seenMark{mark.Registry, 3, mark.PayloadSHA256}, "stale"},
		{"another payload", seenMark{mark.Registry, 2, strings.Repeat("a", 64)}, "equivocation"},
	} {
		r := request
		r.Seen = []seenMark{tc.seen}
		got := askWorker(t, workerRequest{Bundle: &r})
		if got.Error != nil && got.Error.Kind != tc.kind || (got.Error == nil) != (tc.kind == "") {
			t.Errorf("%s was seen: got %v, want %q", tc.name, got.Error, tc.kind)
		}
	}
	for _, r := range []workerRequest{{}, {Bundle: &verifyRequest{}}, {API: &apiRequest{}}} {
		if got := askWorker(t, r); got.Error == nil || got.Verified != nil {
			t.Errorf("%+v was answered by %+v", r, got)
		}
	}
}

func askWorker(t *testing.T, r workerRequest) (answer workerAnswer) {
	t.Helper()
	in, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var out, messages bytes.Buffer
	if code := run([]string{verifyWorker}, &terminal{in: bytes.NewReader(in), out: &out, err: &messages}); code != exitOK {
		t.Fatalf("exit status %d: %s", code, messages.String())
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}
