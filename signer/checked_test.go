package signer

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"steps.example/steps"
)

func TestCheckDocument(t *testing.T) {
	t.Parallel()
	text := []byte(testDocument)
	doc, err := CheckDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := doc.Capabilities(); !slices.Equal(got, []string{"network", "run"}) || len(doc.Steps().Blocks) != 1 {
		t.Errorf("asks for %q, %d blocks", got, len(doc.Steps().Blocks))
	}
	// Checked before or not, the statement is the same.
	r := testRequest()
	plain, err := newStatement(r)
	if err != nil {
		t.Fatal(err)
	}
	r.Checked = doc
	checked, err := newStatement(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain.Predicate.steps, checked.Predicate.steps); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{
		"", "[]", `{"schema":1}`, testDocument + "{}", strings.Replace(testDocument, "mkdir_p", "mkdir_q", 1),
		strings.Replace(testDocument, `"name":"foo"`, `"name":"foo","name":"foo"`, 1),
	} {
		_, err := CheckDocument([]byte(text))
		var faults steps.Errors
		if !errors.As(err, &faults) {
			t.Errorf("%.60s: got %v, want an error with positions", text, err)
		}
	}
}

// What was checked of one document does not count for another.
func TestCheckedIsOfTheDocument(t *testing.T) {
	t.Parallel()
	other, err := CheckDocument([]byte(`{"schema":1,"layout":"generic","name":"foo"}`))
	if err != nil {
		t.Fatal(err)
	}
	r := testRequest()
	r.Checked, r.Capabilities = other, other.Capabilities()
	if _, err := Sign(t.Context(), testKey(t, "signer"), r); kindOf(err) != KindCapabilities {
		t.Errorf("got %v, want that the document asks for more", err)
	}
	r.Document = []byte(`{"schema":1,"layout":"generic","name":"x","post_install_steps":[{"type":"mkdir_q"}]}`)
	if _, err := Sign(t.Context(), testKey(t, "signer"), r); kindOf(err) != KindMalformed {
		t.Errorf("got %v, want that the document is not one", err)
	}
}

func kindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// The short encoder writes what the library's writes.
func TestEncodeBare(t *testing.T) {
	t.Parallel()
	data := mustSign(t, testKey(t, "signer"), testRequest())
	b := new(protobundle.Bundle)
	if err := protojson.Unmarshal(data, b); err != nil {
		t.Fatal(err)
	}
	want, err := encodeBundle(b)
	if err != nil {
		t.Fatal(err)
	}
	if got := encodeBare(b); !bytes.Equal(got, want) || !bytes.Equal(got, data) {
		t.Errorf("got  %s\nwant %s\nsent %s", got, want, data)
	}
}

// TestWrongSignatureIsKept: a signature that is not of the key and the statement is
// never handed out, wherever it comes from.
func TestWrongSignatureIsKept(t *testing.T) {
	t.Parallel()
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := testKey(t, "signer")
	payload := []byte(testPayload(t))
	sound := mustSign(t, good, testRequest())
	if err := checkOwn(sound, payload, good); err != nil {
		t.Fatal(err)
	}
	forged := forge(t, testKey(t, "other"), payload, payloadType)
	for name, tc := range map[string]struct{ data, payload []byte }{
		"another key":       {forged, payload},
		"another hint":      {bytes.Replace(forged, []byte(testKey(t, "other").ID()), []byte(good.ID()), 1), payload},
		"another statement": {sound, append(bytes.Clone(payload), ' ')},
		"another type":      {forge(t, good, payload, "text/plain"), payload},
		"a flipped bit":     {flipSignature(t, sound), payload},
		"cut off":           {sound[:len(sound)-1], payload},
	} {
		if err := checkOwn(tc.data, tc.payload, good); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	remote, err := RemoteKey(good.public.key, func(_ context.Context, message []byte) ([]byte, error) {
		sum := sha256.Sum256(message)
		return ecdsa.SignASN1(rand.Reader, other, sum[:])
	})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := Sign(t.Context(), remote, testRequest()); kindOf(err) != KindBadSignature || out != nil {
		t.Errorf("another remote key signed: %v", err)
	}
}

func flipSignature(t *testing.T, data []byte) []byte {
	t.Helper()
	b := new(protobundle.Bundle)
	if err := protojson.Unmarshal(data, b); err != nil {
		t.Fatal(err)
	}
	b.GetDsseEnvelope().Signatures[0].Sig[20] ^= 1
	return encodeBare(b)
}

// FuzzSign: whatever is signed without the whole of Verify would have passed it.
func FuzzSign(f *testing.F) {
	key := testKey(f, "signer")
	f.Add(testPURL, testRegistry, "", testDocument, 1)
	f.Add("pkg:generic/acme/x@1", "https://a.example/b", "id", `{"schema":1,"layout":"generic","name":"x"}`, 7)
	f.Fuzz(func(t *testing.T, purl, registry, id, document string, revision int) {
		r := Request{
			PURL: purl, Registry: registry, PackageID: id, Document: []byte(document), Revision: revision,
			IssuedAt: testTime, ArtifactSHA256: testArtifact,
		}
		if doc, err := CheckDocument(r.Document); err == nil {
			r.Checked, r.Capabilities = doc, doc.Capabilities()
		}
		out, err := Sign(t.Context(), key, r)
		if err != nil {
			return
		}
		st, err := newStatement(r)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewSigner(key, Evidence{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := Verify(out, s.policyFor(key, st), Expectation{
			PURL: purl, Registry: registry, PackageID: id, ArtifactSHA256: testArtifact, Now: testTime, MinRevision: revision,
		})
		if err != nil || string(v.Document) != document {
			t.Errorf("signed what does not verify: %v\n%s", err, out)
		}
	})
}
