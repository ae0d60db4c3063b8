//go:build !light

package main

import (
	"os"

	"github.com/spf13/cobra"

	"steps.example/signer"
)

const keygenLong = `Make an ECDSA P-256 key for signing steps. The private key goes to FILE,
readable by you alone, and the public one to FILE.pub. Use it for nothing
else.

With --policy, a trust policy that trusts this key for the packages of one
registry is written as well: a start for your own, as by steps trust init.

EXAMPLES
  steps keygen steps.key
  steps keygen steps.key --policy trust.json \
      --registry https://registry.example --package 'pkg:generic/acme/*'

EXIT STATUS
  as in steps --help`

func newKeygen(t *terminal) *cobra.Command {
	var policy, registry, pkg string
	cmd := &cobra.Command{
		Use: verbKeygen.use, Short: verbKeygen.short, Long: keygenLong, GroupID: verbKeygen.group, Args: exactArgs("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			key, err := signer.GenerateKey()
			if err != nil {
				return err
			}
			private, err := key.MarshalPEM()
			if err != nil {
				return err
			}
			if err := writeNew(args[0], private, 0o600); err != nil {
				return err
			}
			if err := writeNew(args[0]+".pub", key.PublicPEM(), 0o644); err != nil {
				return err
			}
			if policy != "" {
				signers := []whoText{{Key: firstKey(key.ID(), string(key.PublicPEM()))}}
				if err := writePolicy(policy, firstPolicy(registry, pkg, signers)); err != nil {
					return err
				}
			}
			if t.json {
				return t.object("key", map[string]any{"id": key.ID(), "private": args[0], "public": args[0] + ".pub"})
			}
			t.say("key %s", key.ID())
			t.say("private key in %s, public key in %s.pub", args[0], args[0])
			if policy != "" {
				t.say("trust policy in %s", policy)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&policy, "policy", "", "also write a trust policy for this key to `FILE`")
	f.StringVar(&registry, "registry", "", "the registry that it signs for, an https `URL`")
	f.StringVar(&pkg, "package", "", "the packages that it signs for, a package `URL` with * at its end")
	cmd.MarkFlagsRequiredTogether("policy", "registry", "package")
	return cmd
}

// writeNew writes a file that must not be there yet: a key is never overwritten.
func writeNew(path string, data []byte, perm os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
