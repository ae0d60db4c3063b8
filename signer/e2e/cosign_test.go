package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"steps.example/signer"
)

// testCosign has Sigstore's own client verify the bundle.
func (s *sigstore) testCosign(t *testing.T, bundle []byte) {
	file, err := cosign.installed()
	if err != nil {
		if file, err = exec.LookPath("cosign"); err != nil {
			t.Skipf("no cosign in the cache or on the PATH (%v); `go test -timeout 2h ./signer/e2e -build=all` builds it, in 20 minutes", err)
		}
	}
	dir := t.TempDir()
	data := map[string]string{
		"bundle":   write(t, dir, "bundle", bundle),
		"root":     write(t, dir, "trusted_root.json", s.trust.json(t)),
		"artifact": write(t, dir, "artifact", artifact),
		"other":    write(t, dir, "other", []byte("evil")),
	}
	verify := func(t *testing.T, san, artifact string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), file, "verify-blob-attestation", "--bundle="+data["bundle"], "--trusted-root="+data["root"],
			"--certificate-identity="+san, "--certificate-oidc-issuer="+s.issuer.url, "--type="+signer.PredicateType,
			"--use-signed-timestamps", data[artifact])
		home := t.TempDir()
		cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "TMPDIR=" + home}
		withParent(cmd)
		return cmd.CombinedOutput()
	}
	for _, tc := range []struct {
		name, san, artifact string
		good                bool
		want                string
	}{
		{"good", identity, "artifact", true, "Verified OK"},
		{"another name", identity + "x", "artifact", false, "expected SAN value"},
		{"another artifact", identity, "other", false, "do not match digests"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			out, err := verify(t, tc.san, tc.artifact)
			if (err == nil) != tc.good || !strings.Contains(string(out), tc.want) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
