package signer

import (
	"fmt"
	"strings"
	"testing"
)

// benchDocument has n steps of about 100 bytes.
func benchDocument(n int) []byte {
	step := `{"type":"symlink","source":{"base":"prefix","path":"lib/a"},"target":{"base":"etc","path":"some/where/b"}}`
	return []byte(`{"post_install_steps":[` + strings.TrimSuffix(strings.Repeat(step+",", n), ",") + `]}`)
}

func BenchmarkSign(b *testing.B) {
	key := testKey(b, "signer")
	for _, steps := range []int{10, 1000} {
		b.Run(fmt.Sprintf("steps=%d", steps), func(b *testing.B) {
			r := testRequest()
			r.Document = benchDocument(steps)
			for b.Loop() {
				mustSign(b, key, r)
			}
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	key := testKey(b, "signer")
	policy := mustPolicy(b, policyMap(key))
	for _, steps := range []int{10, 1000} {
		r := testRequest()
		r.Document = benchDocument(steps)
		data := mustSign(b, key, r)
		b.Run(fmt.Sprintf("steps=%d", steps), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Verify(data, policy, testWant()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParsePolicy(b *testing.B) {
	data := mustJSON(b, policyMap(testKey(b, "signer")))
	for b.Loop() {
		if _, err := ParsePolicy(data); err != nil {
			b.Fatal(err)
		}
	}
}
