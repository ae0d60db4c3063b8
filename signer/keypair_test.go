package signer

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"

	"github.com/sigstore/sigstore-go/pkg/sign"
)

func pae(payloadType, body string) string {
	return fmt.Sprintf("DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(body), body)
}

func TestKeypairSignsStatements(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	data := pae(payloadType, testPayload(t))
	sig, digest, err := keypair{key, []byte(testPayload(t))}.SignData(t.Context(), []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(data))
	if string(digest) != string(sum[:]) || !ecdsa.VerifyASN1(key.public.key, sum[:], sig) {
		t.Error("not a signature over the data")
	}
}

// Any bytes that the key signs are as good as an envelope with these bytes as its
// encoding. So the key must not sign what somebody else chose.
func TestKeypairRefusesForeignData(t *testing.T) {
	t.Parallel()
	key := testKey(t, "signer")
	payload := testPayload(t)
	for _, tc := range []struct {
		name string
		data string
	}{
		{"empty", ""},
		{"a file", "hello"},
		{"a bare statement", payload},
		{"other payload type", pae("text/plain", payload)},
		{"payload type as prefix", pae(payloadType+"x", payload)},
		{"length too small", fmt.Sprintf("DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload)-1, payload)},
		{"length with a zero", fmt.Sprintf("DSSEv1 %d %s 0%d %s", len(payloadType), payloadType, len(payload), payload)},
		{"no body", fmt.Sprintf("DSSEv1 %d %s 0", len(payloadType), payloadType)},
		{"a PAE of something else", pae(payloadType, `{"_type":"https://in-toto.io/Statement/v1"}`)},
		{"a PAE of a blob", pae(payloadType, "hello")},
		{"another statement", pae(payloadType, string(edit(t, payload, `"revision":7`, `"revision":8`)))},
		{"a PAE of duplicate keys", pae(payloadType, string(edit(t, payload, `"schema":1,`, `"schema":1,"schema":1,`)))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := sign.Bundle(&sign.PlainData{Data: []byte(tc.data)}, keypair{key, []byte(testPayload(t))}, sign.BundleOptions{})
			if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindMalformed {
				t.Errorf("got %v, want a refusal", err)
			}
		})
	}
}

func TestKeypairHonoursContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := (keypair{testKey(t, "signer"), []byte(testPayload(t))}).SignData(ctx, []byte(pae(payloadType, testPayload(t)))); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := Sign(ctx, testKey(t, "signer"), testRequest()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
