//go:build !light

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSigstoreConformance drives verify-bundle as Sigstore's client conformance suite
// does: each case with the file and with its digest. The suite is not part of this
// repository.
func TestSigstoreConformance(t *testing.T) {
	t.Parallel()
	suite := os.Getenv("STEPS_SIGSTORE_CONFORMANCE")
	if suite == "" {
		suite = filepath.Join("..", "..", "..", "shared", "corpus", "sigstore-conformance")
	}
	cases, err := filepath.Glob(filepath.Join(suite, "bundle-verify", "*", "bundle.sigstore.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Skipf("NOT CHECKED: the Sigstore conformance suite is not in %s; set STEPS_SIGSTORE_CONFORMANCE to where it is", suite)
	}
	right := 0
	for _, bundle := range cases {
		dir := filepath.Dir(bundle)
		// or is the case's own file, or else one for all.
		or := func(name, elsewhere string) string {
			if path := filepath.Join(dir, name); exists(path) {
				return path
			}
			return filepath.Join(suite, elsewhere)
		}
		text := func(name, otherwise string) string {
			if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
				return strings.TrimSpace(string(data))
			}
			return otherwise
		}
		args := []string{"verify-bundle", "--bundle", bundle, "--trusted-root", or("trusted_root.json", "production_trusted_root.json")}
		if key := filepath.Join(dir, "key.pub"); exists(key) {
			args = append(args, "--key", key)
		} else {
			args = append(args,
				"--certificate-identity", text("identity", "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main"),
				"--certificate-oidc-issuer", text("issuer", "https://token.actions.githubusercontent.com"))
		}
		file := or("artifact", "a.txt")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		for _, artifact := range []string{file, "sha256:" + hex.EncodeToString(sum[:])} {
			var out, messages bytes.Buffer
			code := run(append(args[:len(args):len(args)], artifact), &terminal{in: strings.NewReader(""), out: &out, err: &messages})
			want := exitOK
			if strings.HasSuffix(dir, "_fail") {
				want = exitTrust
			}
			if code != want {
				t.Errorf("%s with %s: exit status %d, want %d\n%s", filepath.Base(dir), artifact, code, want, messages.String())
				continue
			}
			right++
		}
	}
	t.Logf("%d of %d right", right, 2*len(cases))
	if len(cases) < 70 {
		t.Errorf("%d cases, want 70 at least", len(cases))
	}
}
