//go:build !light

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"steps.example/signer"
)

const trustCheckLong = `Check a trust policy, by its schema and by what clients use, and say in words
what it would accept. The files that it names are looked at, if they are on
this machine.

EXAMPLES
  steps trust check /etc/steps/trust.json

EXIT STATUS
  4 if it is not good, or a file is not the one that it pins; the others as in
  steps --help`

func newTrustCheck(t *terminal) *cobra.Command {
	return &cobra.Command{
		Use: "check FILE", Short: "Check a trust policy and say what it accepts", Long: trustCheckLong, Args: exactArgs("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return runTrustCheck(t, args[0]) },
	}
}

func runTrustCheck(t *terminal, path string) error {
	data, err := readBounded(path, maxTrustFile)
	if err != nil {
		return err
	}
	policy, err := checkPolicy(data)
	if err != nil {
		return inFile(path, err)
	}
	var text policyText
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("BUG(steps): %s was good, but cannot be read: %w", path, err)
	}
	if err := checkPins(t, &text); err != nil {
		return inFile(path, err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o022 != 0 {
		t.talk("WARNING: %s has mode %04o: others can write it, and so decide whom you trust", path, info.Mode().Perm())
	}
	lines := describe(&text, policy.Limits())
	if t.json {
		digest := policy.Digest()
		return t.object("policy", map[string]any{"path": path, "sha256": hex.EncodeToString(digest[:]), "says": lines})
	}
	t.say("%s: good", path)
	for _, line := range lines {
		t.say("%s", line)
	}
	return nil
}

// checkPins compares the files that the policy names with what it pins. One that is not
// there may be on the machine that the policy is for.
func checkPins(t *terminal, p *policyText) error {
	type pinned struct{ what, path, sum string }
	var list []pinned
	if p.Trust != nil {
		list = append(list, pinned{"trust root", p.Trust.TrustedRoot, p.Trust.SHA256})
	}
	if p.Index != nil {
		list = append(list, pinned{"root of the index", p.Index.Root, p.Index.SHA256})
	}
	for _, f := range list {
		data, err := readBounded(f.path, maxTrustFile)
		if errors.Is(err, os.ErrNotExist) {
			t.talk("WARNING: the %s, %s, is not on this machine", f.what, f.path)
			continue
		}
		if err != nil {
			return &trustError{Kind: string(signer.KindTrustRoot), Msg: fmt.Sprintf("the %s: %s", f.what, err)}
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != f.sum {
			return &trustError{Kind: string(signer.KindTrustRoot), Msg: fmt.Sprintf(
				"the %s, %s, has sha256 %x, but the policy pins %s; restore the file, or, if the new one is right, pin it", f.what, f.path, sum, f.sum)}
		}
	}
	return nil
}
