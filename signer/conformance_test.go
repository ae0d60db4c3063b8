package signer

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"steps.example/signer/sigstoretest"
)

// The Sigstore client conformance suite, each case with the file and with its digest.
// It is not part of this repository.
func TestSigstoreConformance(t *testing.T) {
	t.Parallel()
	suite := os.Getenv("STEPS_SIGSTORE_CONFORMANCE")
	if suite == "" {
		suite = filepath.Join("..", "..", "shared", "corpus", "sigstore-conformance")
	}
	cases, err := filepath.Glob(filepath.Join(suite, "bundle-verify", "*", "bundle.sigstore.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Skipf("NOT CHECKED: the Sigstore conformance suite is not in %s; set STEPS_SIGSTORE_CONFORMANCE to where it is", suite)
	}
	if len(cases) < 70 {
		t.Errorf("%d cases, want 70 at least", len(cases))
	}
	right := 0
	for _, bundlePath := range cases {
		dir := filepath.Dir(bundlePath)
		read := func(name, elsewhere string) []byte {
			t.Helper()
			data, err := os.ReadFile(filepath.Join(dir, name))
			if errors.Is(err, fs.ErrNotExist) && elsewhere != "" {
				data, err = os.ReadFile(filepath.Join(suite, elsewhere))
			}
			if err != nil && (elsewhere != "" || !errors.Is(err, fs.ErrNotExist)) {
				t.Fatal(err)
			}
			return data
		}
		or := func(data []byte, text string) string {
			if data == nil {
				return text
			}
			return strings.TrimSpace(string(data))
		}
		file := read("artifact", "a.txt")
		digest := "sha256:" + hexOf(file)
		for _, a := range []Artifact{{Bytes: file}, {Digest: digest}} {
			a.PublicKey = read("key.pub", "")
			a.Identity = or(read("identity", ""), "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main")
			a.Issuer = or(read("issuer", ""), "https://token.actions.githubusercontent.com")
			root, err := ParseTrustRoot(read("trusted_root.json", "production_trusted_root.json"))
			if err == nil {
				err = VerifyArtifact(read("bundle.sigstore.json", ""), root, a)
			}
			if refuse := strings.HasSuffix(dir, "_fail"); (err != nil) != refuse {
				t.Errorf("%s (by digest: %v): got error %v, want one: %v", filepath.Base(dir), a.Digest != "", err, refuse)
				continue
			}
			right++
		}
	}
	t.Logf("%d of %d right", right, 2*len(cases))
}

// The suite's wrong key is not on the curve. This one is: it is only somebody else's.
func TestVerifyArtifact(t *testing.T) {
	t.Parallel()
	s, foreign := newSigstore(t), foreignSigstore(t)
	r, err := ParseTrustRoot(s.TrustRoot())
	if err != nil {
		t.Fatal(err)
	}
	strange, err := ParseTrustRoot(foreign.TrustRoot())
	if err != nil {
		t.Fatal(err)
	}
	key := testKey(t, "signer")
	byKey := attempt{key: key, noCert: true}.bundle(t, s)
	byName := attempt{}.bundle(t, s)
	digest := "sha256:" + hexDigest(testArtifact)
	named := Artifact{Digest: digest, Identity: testIdentity, Issuer: testIssuer}
	keyed := Artifact{Digest: digest, PublicKey: key.PublicPEM()}
	with := func(a Artifact, bend func(*Artifact)) Artifact {
		bend(&a)
		return a
	}
	for _, tc := range []struct {
		name   string
		bundle []byte
		root   *TrustRoot
		want   Artifact
		kind   Kind // "" for success
	}{
		{"key", byKey, r, keyed, ""},
		{"key and file", byKey, r, with(keyed, func(a *Artifact) { a.Digest, a.Bytes = "", []byte("the artifact") }), ""},
		{"another valid key", byKey, r, with(keyed, func(a *Artifact) { a.PublicKey = testKey(t, "other").PublicPEM() }), KindEvidence},
		{"a key that is none", byKey, r, with(keyed, func(a *Artifact) { a.PublicKey = []byte("x") }), KindMalformed},
		{"a key for a certificate", byName, r, keyed, KindEvidence},
		{"identity", byName, r, named, ""},
		{"another identity", byName, r, with(named, func(a *Artifact) { a.Identity += "x" }), KindEvidence},
		{"another issuer", byName, r, with(named, func(a *Artifact) { a.Issuer += "x" }), KindEvidence},
		{"any identity", byName, r, with(named, func(a *Artifact) { a.Identity = "" }), KindMalformed},
		{"any issuer", byName, r, with(named, func(a *Artifact) { a.Issuer = "" }), KindMalformed},
		{"an identity for a key", byKey, r, named, KindEvidence},
		{"another file", byName, r, with(named, func(a *Artifact) { a.Digest, a.Bytes = "", []byte("another") }), KindEvidence},
		{"another digest", byName, r, with(named, func(a *Artifact) { a.Digest = "sha256:" + strings.Repeat("ab", 32) }), KindEvidence},
		{"a digest of another kind", byName, r, with(named, func(a *Artifact) { a.Digest = "sha512:" + strings.Repeat("ab", 64) }), KindMalformed},
		{"another trust root", byName, strange, named, KindEvidence},
		{"no trust root", byName, nil, named, KindTrustRoot},
		{"certificate not logged", attempt{id: sigstoretest.Identity{NoSCT: true}}.bundle(t, s), r, named, KindEvidence},
		{"signature not logged", attempt{noLog: true}.bundle(t, s), r, named, KindEvidence},
		{"key's signature not logged", attempt{key: key, noCert: true, noLog: true}.bundle(t, s), r, keyed, KindEvidence},
		{"no time", attempt{key: key, noCert: true, stamps: []time.Time{}}.bundle(t, s), r, keyed, KindEvidence},
		{"no bundle", []byte("{}"), r, named, KindMalformed},
		{"a huge bundle", make([]byte, maxLimits.BundleBytes+1), r, named, KindTooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := VerifyArtifact(tc.bundle, tc.root, tc.want)
			if tc.kind != "" {
				wantError(t, err, tc.kind, "")
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}
