package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// testCommand goes the same way by the command line.
func (s *sigstore) testCommand(t *testing.T) {
	if *command == "" {
		t.Skip("no -steps=FILE; `make e2e` builds the command and names it")
	}
	dir := t.TempDir()
	prefix := filepath.Join(dir, "brew")
	for _, name := range []string{"var", "etc"} {
		if err := os.MkdirAll(filepath.Join(prefix, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	trustRoot := s.trust.json(t)
	rootFile := write(t, dir, "trusted_root.json", trustRoot)
	write(t, dir, "config.json", s.config)
	write(t, dir, "hello.json", []byte(document))
	write(t, dir, "hello.tar", artifact)
	write(t, dir, "token", []byte(s.issuer.token(t, claims())))
	write(t, dir, "policy.json", policyFile(t, map[string]any{"keyless": s.keyless()}, rootFile, trustRoot))
	stranger := s.keyless()
	stranger["san"] = identity + "x"
	write(t, dir, "stranger.json", policyFile(t, map[string]any{"keyless": stranger}, rootFile, trustRoot))

	// run wants the exit status, and the text in what is printed.
	run := func(status int, text string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), *command, args...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "XDG_STATE_HOME=" + filepath.Join(dir, "state"), "TMPDIR=" + dir}
		withParent(cmd)
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != status || !strings.Contains(string(out), text) {
			t.Fatalf("steps %s: exit status %d, want %d and …%s… (%v)\n%s", strings.Join(args, " "), got, status, text, err, out)
		}
	}
	client := func(verb, policy string, args ...string) []string {
		return append([]string{verb, "hello.bundle", "--policy=" + policy, "--artifact=hello.tar", "--purl=" + purl}, args...)
	}
	changed := func() bool {
		_, err := os.Stat(filepath.Join(prefix, "etc", "hello.conf"))
		return err == nil
	}
	const refused = 4 // as in steps --help: not trusted
	run(0, identity, "sign", "hello.json", "--signing-config=config.json", "--trusted-root=trusted_root.json", "--identity-token=token",
		"--identity="+identity, "--issuer="+s.issuer.url, "--artifact=hello.tar", "--purl="+purl, "--registry="+registry, "-o", "hello.bundle")
	run(refused, "does not list", client("verify-bundle", "stranger.json")...)
	run(refused, "does not list", client("apply", "stranger.json", "--prefix="+prefix)...)
	if changed() {
		t.Error("what was refused was applied")
	}
	run(0, identity, client("verify-bundle", "policy.json")...)
	run(0, "receipt", client("apply", "policy.json", "--prefix="+prefix)...)
	if !changed() {
		t.Error("nothing was applied")
	}
}
