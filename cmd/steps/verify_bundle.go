//go:build !light

package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"steps.example/schema"
)

const verifyBundleLong = `Check a bundle as apply would: signature, evidence, trust policy, index,
package URL and package file, and the document inside. Prints who signed what,
or with --document the signed document itself, byte for byte.

With --schema, policy and document are checked by the CUE schema as well, a
second opinion that takes longer than all the rest.

With --prefix or --state, steps older than those accepted there are refused,
as apply would; with --record, these are accepted and remembered.

With --bundle, any Sigstore bundle is verified for any FILE, or for its digest
written sha256:HEX, as the protocol of Sigstore's conformance suite asks: one
log entry, one trusted time and, for certificates, one certificate log. That
says nothing about install steps.

EXAMPLES
  steps verify-bundle demo.bundle --policy trust.json --artifact demo.tar.gz \
      --purl pkg:generic/acme/demo@1.0
  steps verify-bundle --bundle file.sigstore.json \
      --certificate-identity https://ci.example/acme/release \
      --certificate-oidc-issuer https://oidc.example \
      --trusted-root trusted_root.json file

EXIT STATUS
  as in steps --help`

type verifyBundleOptions struct {
	src              sourceFlags
	where            storeFlags
	file             artifactFlags
	document, record bool
	schema           bool
}

func newVerifyBundle(t *terminal) *cobra.Command {
	var o verifyBundleOptions
	cmd := &cobra.Command{
		Use: verbVerifyBundle.use, Short: verbVerifyBundle.short, Long: verifyBundleLong,
		GroupID: verbVerifyBundle.group, Args: exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd.Flags()); err != nil {
				return err
			}
			if o.file.bundle != "" {
				return runVerifyFile(t, o.file, args[0])
			}
			return runVerifyBundle(cmd.Context(), t, o, args[0])
		},
	}
	f := cmd.Flags()
	o.src.add(f)
	o.where.add(f)
	f.BoolVar(&o.document, "document", false, "print the signed document")
	f.BoolVar(&o.schema, "schema", false, "check policy and document by the CUE schema as well")
	f.BoolVar(&o.record, "record", false, "accept these steps: refuse older ones from now on")
	o.file.add(f)
	return cmd
}

// check keeps the two ways of calling apart.
func (o *verifyBundleOptions) check(flags *pflag.FlagSet) error {
	var err error
	flags.Visit(func(f *pflag.Flag) {
		if forFiles := o.file.has(f.Name); f.Name != "json" && forFiles != (o.file.bundle != "") {
			err = usagef("--%s does not go with the rest: --bundle is for any file, --policy for install steps", f.Name)
		}
	})
	if err == nil && o.record && o.where == (storeFlags{}) {
		err = usagef("--record: say where with --prefix DIR or --state DIR")
	}
	return err
}

func runVerifyBundle(ctx context.Context, t *terminal, o verifyBundleOptions, path string) error {
	fewerCollections()
	if o.schema && o.src.policy != "" {
		policy, err := os.ReadFile(o.src.policy)
		if err != nil {
			return &exitError{code: exitTrust, err: err}
		}
		if err := schema.ValidateTrust(policy); err != nil {
			return &exitError{code: exitTrust, err: inFile(o.src.policy, err)}
		}
	}
	if o.where != (storeFlags{}) {
		if err := o.src.remember(o.where); err != nil {
			return err
		}
	}
	s, err := o.src.load(ctx, t, path)
	if err != nil {
		return err
	}
	if o.schema {
		if err := schema.CrossCheck(s.verified.Document); err != nil {
			return inFile(path, err)
		}
	}
	if o.record {
		if err := s.accepting(func() error { return nil }); err != nil {
			return err
		}
	}
	if o.document {
		_, err := t.out.Write(s.verified.Document)
		return err
	}
	v := s.verified
	if t.json {
		return t.object("bundle", map[string]any{
			"purl": v.PURL, "registry": v.Registry, "package_id": v.PackageID, "revision": v.Revision, "issued_at": v.IssuedAt,
			"key_id": v.Signers[0].KeyID, "signed_by": v.Signers, "bundle_sha256": v.BundleSHA256, "payload_sha256": v.PayloadSHA256,
		})
	}
	t.say("good: %s revision %d, signed by %s", v.PURL, v.Revision, signedBy(v.Signers))
	for _, signer := range v.Signers {
		if len(signer.Times) > 0 {
			t.say("%s signed at %s, which others saw", signer, timesOf(signer.Times))
		}
	}
	if len(s.document.Blocks) == 0 {
		t.say("the statement is that the package has no steps")
	}
	if o.record {
		t.say("remembered in %s", o.src.trustDir)
	}
	return nil
}

func timesOf(list []time.Time) string {
	text := make([]string, 0, len(list))
	for _, at := range list {
		text = append(text, at.UTC().Format(time.RFC3339))
	}
	return strings.Join(text, " and ")
}
