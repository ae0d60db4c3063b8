package signer

import (
	"runtime"
	"strings"
	"testing"
)

// allocated is how many bytes f allocates, an upper bound of what it has at once.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// repeated is head, as many items as fit, and tail.
func repeated(size int, head, item, tail string) []byte {
	n := (size - len(head) - len(tail) - len(item)) / (len(item) + 1)
	return []byte(head + strings.Repeat(item+",", n) + item + tail)
}

// What is parsed before anything is verified can be made by anybody, up to the greatest
// size that a policy can allow, and in the form that costs the most. Not parallel: it
// counts allocations.
func TestLargestInputs(t *testing.T) {
	key := testKey(t, "signer")
	value := policyMap(key)
	value["limits"] = map[string]any{"bundleBytes": maxLimits.BundleBytes, "payloadBytes": maxLimits.PayloadBytes}
	policy := mustPolicy(t, value)
	if _, err := Verify(mustSign(t, key, testRequest()), policy, testWant()); err != nil {
		t.Fatal("control:", err)
	}
	const begin = `{"mediaType":"` + bundleType + `",`
	size := int(maxLimits.BundleBytes)
	for name, data := range map[string][]byte{
		"log entries":   repeated(size, begin+`"verificationMaterial":{"tlogEntries":[`, `{}`, `]}}`),
		"proofs":        repeated(size, begin+`"verificationMaterial":{"tlogEntries":[`, `{"inclusionProof":{"checkpoint":{}}}`, `]}}`),
		"hashes":        repeated(size, begin+`"verificationMaterial":{"tlogEntries":[{"inclusionProof":{"hashes":[`, `""`, `]}}]}}`),
		"timestamps":    repeated(size, begin+`"verificationMaterial":{"timestampVerificationData":{"rfc3161Timestamps":[`, `{}`, `]}}}`),
		"signatures":    repeated(size, begin+`"dsseEnvelope":{"signatures":[`, `{}`, `]}}`),
		"certificates":  repeated(size, begin+`"verificationMaterial":{"x509CertificateChain":{"certificates":[`, `{}`, `]}}}`),
		"nesting":       []byte(begin + strings.Repeat(`{"a":`, size/5-100)),
		"white space":   []byte(begin + strings.Repeat(" ", size-len(begin)-1) + "}"),
		"one long text": []byte(begin + `"x":"` + strings.Repeat("x", size-len(begin)-20) + `"}`),
		"payload":       []byte(begin + `"dsseEnvelope":{"payload":"` + strings.Repeat("AAAA", (size-100-len(begin))/4) + `"}}`),
	} {
		for what, parse := range map[string]func() error{
			"bundle":      func() error { _, err := Verify(data, policy, testWant()); return err },
			"checkpoints": func() error { _, err := Checkpoints(data); return err },
			"artifact":    func() error { return VerifyArtifact(data, new(TrustRoot), Artifact{Digest: "sha256:00"}) },
		} {
			var err error
			used := allocated(func() { err = parse() })
			if err == nil && what != "checkpoints" {
				t.Errorf("%s: accepted", name)
			}
			if used > uint64(4*size) {
				t.Errorf("%s of %d bytes, as %s: %d bytes allocated", name, len(data), what, used)
			}
		}
	}
	for name, item := range map[string]string{"rules": `{}`, "numbers": `1`, "keys": `{"anyOf":[{"key":{}}]}`} {
		data := repeated(maxPolicyBytes, `{"version":1,"rules":[`, item, `]}`)
		if used := allocated(func() { _, err := ParsePolicy(data); wantError(t, err, KindPolicy, "") }); used > 256<<20 {
			t.Errorf("policy of many %s: %d bytes allocated", name, used)
		}
	}
}

// The same for the API's files, which are far larger.
func TestLargestAPI(t *testing.T) {
	policy := mustPolicy(t, apiPolicyMap(t, apiKeys()[0].Public()))
	if _, err := VerifyAPI(webSigned(t, `[]`, goodSignature(`[]`)), policy, testTime, testTime); err != nil {
		t.Fatal("control:", err)
	}
	for name, part := range map[string][3]string{
		"signatures": {`{"payload":"[]","signatures":[`, `{}`, `]}`},
		"header":     {`{"payload":"[]","signatures":[{"header":{"x":[`, `1`, `]}}]}`},
		"members":    {`{"payload":"[]","signatures":[{"header":{`, `"a":""`, `}}]}`},
		"payload":    {`{"signatures":[],"payload":[`, `[]`, `]}`},
		"text":       {`{"signatures":[],"payload":"`, `[]`, `"}`},
	} {
		data := repeated(maxAPIBytes, part[0], part[1], part[2])
		var err error
		if used := allocated(func() { _, err = VerifyAPI(data, policy, testTime, testTime) }); used > 3*maxAPIBytes {
			t.Errorf("%s: %d bytes allocated", name, used)
		}
		wantError(t, err, KindMalformed, "Homebrew API")
	}
}
