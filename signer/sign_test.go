package signer

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSignAndVerify(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	data := mustSign(t, key, testRequest())
	got, err := Verify(data, mustPolicy(t, policyMap(key)), testWant())
	if err != nil {
		t.Fatal(err)
	}
	want := &Verified{
		Document:       []byte(testDocument),
		PURL:           testPURL,
		Registry:       testRegistry,
		Revision:       7,
		IssuedAt:       testTime,
		Capabilities:   []string{"network", "run"},
		MinInterpreter: "1.0",
		KeyID:          key.ID(),
		Signatories:    []Signatory{{KeyID: key.ID(), BundleSHA256: got.BundleSHA256}},
		ArtifactSHA256: testArtifact,
		PolicySHA256:   got.PolicySHA256,
		PayloadSHA256:  got.PayloadSHA256,
		BundleSHA256:   got.BundleSHA256,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !sigstoreAccepts(t, data, key) {
		t.Error("sigstore-go does not accept the bundle")
	}
}

// The wire form is a promise to other implementations.
func TestStatementForm(t *testing.T) {
	t.Parallel()
	want := `{"_type":"https://in-toto.io/Statement/v1",` +
		`"subject":[{"name":"` + testPURL + `","digest":{"sha256":"` + hex.EncodeToString(testArtifact[:]) + `"}}],` +
		`"predicateType":"https://steps.example/install-steps/v1",` +
		`"predicate":{"schema":1,"registry":"https://registry.example","purl":"` + testPURL + `","revision":7,` +
		`"issuedAt":"2026-05-01T12:00:00Z","minInterpreter":"1.0","capabilities":["network","run"],` +
		`"document":` + testDocument + `}}`
	if got := testPayload(t); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var envelope struct {
		MediaType            string
		VerificationMaterial struct{ PublicKey struct{ Hint string } }
		DSSEEnvelope         struct {
			PayloadType string
			Payload     []byte
			Signatures  []struct{ Sig []byte }
		}
	}
	key := testKey(t, "signer")
	if err := json.Unmarshal(mustSign(t, key, testRequest()), &envelope); err != nil {
		t.Fatal(err)
	}
	if envelope.MediaType != bundleType || envelope.VerificationMaterial.PublicKey.Hint != key.ID() ||
		envelope.DSSEEnvelope.PayloadType != payloadType || string(envelope.DSSEEnvelope.Payload) != want ||
		len(envelope.DSSEEnvelope.Signatures) != 1 {
		t.Errorf("bundle is %+v", envelope)
	}
}

// Nothing in a document is changed on its way: not its white space, escapes, key
// order nor the spelling of its numbers.
func TestDocumentIsKeptToTheByte(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	policy := mustPolicy(t, policyMap(key))
	for _, doc := range []string{
		`{"name":"foo"}`,
		"{\n  \"z\" : 1.00e+2 ,\t\"a\":\r\n[ ] ,\"name\":\"foo\"}",
		`{"\u0061":"\/\u00e9é<>&\u2028","n":[-0,1E400,123456789012345678901234567890],"name":"foo"}`,
		`{"name":"foo","document":{"document":{}}}`,
	} {
		r := testRequest()
		r.Document, r.Capabilities = []byte(doc), nil
		v, err := Verify(mustSign(t, key, r), policy, testWant())
		if err != nil {
			t.Fatal(err)
		}
		if string(v.Document) != doc {
			t.Errorf("got %q, want %q", v.Document, doc)
		}
	}
}

func TestVerifiedOwnsItsBytes(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	data := mustSign(t, key, testRequest())
	v, err := Verify(data, mustPolicy(t, policyMap(key)), testWant())
	if err != nil {
		t.Fatal(err)
	}
	clear(data)
	if string(v.Document) != testDocument {
		t.Error("the document changed with the caller's buffer")
	}
}

func TestSignNormalises(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	r := testRequest()
	r.IssuedAt = testTime.Add(500 * time.Millisecond).In(time.FixedZone("x", -7200))
	r.Capabilities = []string{"run", "network", "run"}
	v, err := Verify(mustSign(t, key, r), mustPolicy(t, policyMap(key)), testWant())
	if err != nil {
		t.Fatal(err)
	}
	if !v.IssuedAt.Equal(testTime) || cmp.Diff([]string{"network", "run"}, v.Capabilities) != "" {
		t.Errorf("got %v, %v", v.IssuedAt, v.Capabilities)
	}
	if r.Capabilities[0] != "run" {
		t.Error("the request was changed")
	}
	r.Document, r.Capabilities = []byte(`{"schema":1,"layout":"generic","name":"foo"}`), nil
	v, err = Verify(mustSign(t, key, r), mustPolicy(t, policyMap(key)), testWant())
	if err != nil || len(v.Capabilities) != 0 {
		t.Errorf("got %v, %v", v, err)
	}
}

func TestSignRefuses(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	for _, tc := range []struct {
		name string
		bend func(*Request)
		kind Kind
		want string
	}{
		{"no registry", func(r *Request) { r.Registry = "" }, KindMalformed, "registry"},
		{"no purl", func(r *Request) { r.PURL = "" }, KindMalformed, "purl"},
		{"purl without version", func(r *Request) { r.PURL = "pkg:generic/acme/foo" }, KindMalformed, "no version"},
		{"purl that hides its direction", func(r *Request) { r.PURL = "pkg:generic/acme/%E2%80%AEoof@1" }, KindMalformed, "U+202E"},
		{"no revision", func(r *Request) { r.Revision = 0 }, KindMalformed, "revision 0"},
		{"negative revision", func(r *Request) { r.Revision = -1 }, KindMalformed, "revision -1"},
		{"fast-forward", func(r *Request) { r.Revision = maxRevision + 1 }, KindMalformed, "revision 2147483648"},
		{"no time", func(r *Request) { r.IssuedAt = time.Time{} }, KindMalformed, "issuedAt"},
		{"year 10000", func(r *Request) { r.IssuedAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, KindMalformed, "issuedAt"},
		{"no artifact", func(r *Request) { r.ArtifactSHA256 = [32]byte{} }, KindMalformed, "all zeros"},
		{"empty capability", func(r *Request) { r.Capabilities = []string{""} }, KindMalformed, "capability 0"},
		{"control in capability", func(r *Request) { r.Capabilities = []string{"a\x1b[2J"} }, KindMalformed, "U+001B"},
		{"invalid capability", func(r *Request) { r.Capabilities = []string{"\xff"} }, KindMalformed, "UTF-8"},
		{"too many capabilities", func(r *Request) {
			for i := range maxCapabilities + 1 {
				r.Capabilities = append(r.Capabilities, fmt.Sprint(i))
			}
		}, KindMalformed, "at most"},
		{"no document", func(r *Request) { r.Document = nil }, KindMalformed, "not a JSON object"},
		{"array", func(r *Request) { r.Document = []byte("[]") }, KindMalformed, "not a JSON object"},
		{"two documents", func(r *Request) { r.Document = []byte("{}{}") }, KindMalformed, "follow"},
		{"document that closes the predicate", func(r *Request) { r.Document = []byte(`{}},"x":{"y":{}`) }, KindMalformed, "follow"},
		{"duplicate keys", func(r *Request) { r.Document = []byte(`{"a":1,"a":1}`) }, KindMalformed, "duplicate"},
		{"too many steps", func(r *Request) {
			r.Document = []byte(`{"x_steps":[` + strings.Repeat("1,", maxLimits.Steps) + `1]}`)
		}, KindTooLarge, "100001 steps"},
		{"too large", func(r *Request) {
			r.Document, r.Capabilities = []byte(`{"name":"foo","x":"`+strings.Repeat("x", int(maxLimits.PayloadBytes))+`"}`), nil
		}, KindTooLarge, "payload has"},
		{"no document of ours", func(r *Request) { r.Document = []byte(`{"schema":1}`) }, KindMalformed, "layout"},
		{"capabilities understated", func(r *Request) { r.Capabilities = []string{"run"} }, KindCapabilities, `asks for ["network" "run"]`},
		{"capabilities overstated", func(r *Request) { r.Capabilities = []string{"run", "network", "sudo"} }, KindCapabilities, "statement says"},
		{"newer interpreter", func(r *Request) { r.MinInterpreter = "1.1" }, KindUnsupported, "needs interpreter 1.1"},
		{"previous of the first", func(r *Request) { r.Revision, r.Previous = 1, testArtifact }, KindMalformed, "revision 1"},
		{"invisible package id", func(r *Request) { r.PackageID = "a\u202eb" }, KindMalformed, "packageId"},
		{"long package id", func(r *Request) { r.PackageID = strings.Repeat("a", 2000) }, KindMalformed, "packageId"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := testRequest()
			tc.bend(&r)
			out, err := Sign(t.Context(), key, r)
			wantError(t, err, tc.kind, tc.want)
			if out != nil {
				t.Error("a bundle was handed out")
			}
		})
	}
}

// A key whose halves do not fit makes signatures that nobody can verify. They must not
// leave the signer.
func TestSignVerifiesItsOwnSignature(t *testing.T) {
	t.Parallel()
	broken := testKey(t, "signer")
	broken.public = testKey(t, "other").public
	out, err := Sign(t.Context(), broken, testRequest())
	wantError(t, err, KindBadSignature, "signature")
	if out != nil {
		t.Error("a bundle was handed out")
	}
}

func TestSignedBundleIsCompact(t *testing.T) {
	t.Parallel()
	if out := mustSign(t, testKey(t, "signer"), testRequest()); bytes.ContainsAny(out, " \n") {
		t.Errorf("white space in %s", out)
	}
}
