//go:build !light

package main

import (
	"os"

	"github.com/spf13/cobra"

	"steps.example/schema"
)

const verifyBundleLong = `Check a bundle as apply would: signature, trust policy, package URL and
package file; then the document inside, by the schema. Prints who signed what,
or with --document the signed document itself, byte for byte.

EXAMPLES
  steps verify-bundle demo.bundle --policy trust.json --artifact demo.tar.gz \
      --purl pkg:generic/acme/demo@1.0

EXIT STATUS
  as in steps --help`

func newVerifyBundle(t *terminal) *cobra.Command {
	var src sourceFlags
	var document bool
	cmd := &cobra.Command{
		Use: verbVerifyBundle.use, Short: verbVerifyBundle.short, Long: verifyBundleLong,
		GroupID: verbVerifyBundle.group, Args: exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if src.policy != "" {
				policy, err := os.ReadFile(src.policy)
				if err != nil {
					return err
				}
				if err := schema.ValidateTrust(policy); err != nil {
					return &exitError{code: exitTrust, err: inFile(src.policy, err)}
				}
			}
			data, err := readInput(t, args[0])
			if err != nil {
				return err
			}
			s := &subject{source: data, flags: src}
			signed, err := src.verify(cmd.Context(), s, args[0], data)
			if err != nil {
				return err
			}
			if err := schema.CrossCheck(signed); err != nil {
				return inFile(args[0], err)
			}
			if document {
				_, err := t.out.Write(signed)
				return err
			}
			p := s.provenance
			if t.json {
				return t.object("bundle", map[string]any{
					"purl": p.PURL, "revision": p.Revision, "key_id": p.KeyID, "bundle_sha256": p.BundleSHA256,
				})
			}
			t.say("good: %s revision %d, signed by key %s", p.PURL, p.Revision, p.KeyID)
			return nil
		},
	}
	src.add(cmd.Flags())
	_ = cmd.Flags().MarkHidden("unsigned")
	cmd.Flags().BoolVar(&document, "document", false, "print the signed document")
	return cmd
}
