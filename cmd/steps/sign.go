//go:build !light

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"steps.example/schema"
	"steps.example/signer"
	"steps.example/steps"
)

const signLong = `Sign a document for one package file: the bundle binds the steps, byte for
byte, to the package URL and to the file's SHA-256.

The document is checked first, by the schema and by what apply uses; one that
is not valid is not signed. The bundle is verified before it is written.

Who signs:
  --key FILE              a key in a file, from steps keygen
  --kms NAME://KEY        a key in a service, which the program
                          sigstore-kms-NAME on the PATH speaks to
  --signing-config FILE   an identity: who the token names, as certified by the
                          authority of a Sigstore deployment. With --key or
                          --kms, the key, and the deployment's logs and
                          timestamp authorities testify to it.

A package that has no steps has a statement as well, by --no-steps: without
one, a client cannot tell it from a package whose steps were withheld.

EXAMPLES
  steps sign demo.json --key steps.key --artifact demo.tar.gz \
      --purl pkg:generic/acme/demo@1.0 --registry https://registry.example \
      -o demo.bundle
  steps sign demo.json --key steps.key --artifact demo.tar.gz \
      --purl pkg:generic/acme/demo@1.0 --registry https://registry.example \
      --previous demo.bundle -o demo.2.bundle       # the next revision
  steps sign --no-steps --kms awskms://alias/steps --artifact data.tar.gz \
      --purl pkg:generic/acme/data@1.0 --registry https://registry.example
  steps sign demo.json --signing-config signing_config.json \
      --trusted-root trusted_root.json --identity-token token \
      --identity https://ci.example/acme/release \
      --issuer https://oidc.example --artifact demo.tar.gz \
      --purl pkg:generic/acme/demo@1.0 --registry https://registry.example

EXIT STATUS
  as in steps --help`

type signOptions struct {
	signing signingFlags

	artifact, artifactSum, purl, registry, out string
	packageID, previous, minInterpreter        string
	revision                                   int
	noSteps                                    bool
	layout                                     string
}

func newSign(t *terminal) *cobra.Command {
	var o signOptions
	cmd := &cobra.Command{
		Use: verbSign.use, Short: verbSign.short, Long: signLong, GroupID: verbSign.group,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.noSteps && len(args) > 0 {
				return usagef("--no-steps takes no FILE: the statement is that there are no steps")
			}
			if o.noSteps {
				return nil
			}
			return exactArgs("FILE")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runSign(cmd.Context(), t, o, cmd.Flags(), args) },
	}
	f := cmd.Flags()
	o.signing.add(f)
	f.StringVar(&o.artifact, "artifact", "", "the package `FILE` that the steps belong to")
	f.StringVar(&o.artifactSum, "artifact-sha256", "", "its SHA-256 in `HEX`, in the place of the file")
	f.StringVar(&o.purl, "purl", "", "the package `URL`, with its version")
	f.StringVar(&o.registry, "registry", "", "the registry's https `URL`")
	f.StringVar(&o.packageID, "package-id", "", "the registry's own `NAME` for the package")
	f.IntVar(&o.revision, "revision", 1, "`NUMBER` of these steps for this version of the package, from 1; with --previous BUNDLE, the next")
	f.StringVar(&o.previous, "previous", "", "the bundle `FILE` of the revision before, or sha256: and the digest of its payload")
	f.StringVar(&o.minInterpreter, "min-interpreter", "", "the `VERSION` of the interpreter that the steps need; the current one if not given")
	f.BoolVar(&o.noSteps, "no-steps", false, "state that the package has no steps")
	f.StringVar(&o.layout, "layout", "generic", "with --no-steps: `NAME` of the layout that the package is for")
	f.StringVarP(&o.out, "output", "o", "", "write the bundle to `FILE` and not to standard output")
	for _, name := range []string{"purl", "registry"} {
		_ = cmd.MarkFlagRequired(name)
	}
	cmd.MarkFlagsOneRequired("artifact", "artifact-sha256")
	cmd.MarkFlagsMutuallyExclusive("artifact", "artifact-sha256")
	return cmd
}

func runSign(ctx context.Context, t *terminal, o signOptions, flags *pflag.FlagSet, args []string) error {
	if len(args) == 1 && args[0] == "-" && o.signing.token == "-" {
		return usagef("standard input cannot be both the document and the identity token")
	}
	if err := signer.CheckPURL(o.purl); err != nil {
		return trustErrorOf("--purl: ", err)
	}
	data, doc, err := o.document(t, flags, args)
	if err != nil {
		return err
	}
	if o.artifact != "" {
		if o.artifactSum, err = hashFile(o.artifact); err != nil {
			return err
		}
	}
	request := signer.Request{
		Registry: o.registry, PURL: o.purl, Revision: o.revision, IssuedAt: time.Now(),
		Capabilities: steps.Capabilities(doc), Document: data,
		PackageID: o.packageID, MinInterpreter: o.minInterpreter,
	}
	if request.ArtifactSHA256, err = parseSum(o.artifactSum); err != nil {
		return err
	}
	if request.Previous, err = o.follow(flags.Changed("revision"), &request.Revision); err != nil {
		return err
	}
	s, who, err := o.signing.open(ctx, t)
	if err != nil {
		return err
	}
	bundle, err := s.Sign(ctx, request)
	if err != nil {
		return trustErrorOf("", err)
	}
	warnLimits(t, doc, bundle)
	if o.out == "" {
		_, err := fmt.Fprintf(t.out, "%s\n", bundle)
		return err
	}
	if err := os.WriteFile(o.out, append(bundle, '\n'), 0o644); err != nil {
		return err
	}
	if t.json {
		return t.object("signed", map[string]any{"path": o.out, "purl": o.purl, "revision": request.Revision, "signed_by": who})
	}
	t.say("signed %s for %s revision %d by %s", o.out, o.purl, request.Revision, who)
	return nil
}

// document reads and checks what is to be signed, or makes one without steps.
func (o *signOptions) document(t *terminal, flags *pflag.FlagSet, args []string) ([]byte, *steps.Document, error) {
	path, data := "--no-steps", []byte(nil)
	var err error
	if o.noSteps {
		data, err = emptyDocument(o.purl, o.layout)
	} else if flags.Changed("layout") {
		err = usagef("--layout goes with --no-steps; a document says its own")
	} else {
		path = args[0]
		data, err = readInput(t, path)
	}
	if err != nil {
		return nil, nil, err
	}
	if err := schema.CrossCheck(data); err != nil {
		return nil, nil, inFile(path, err)
	}
	doc, err := steps.Decode(data, steps.DefaultLimits)
	if err != nil {
		return nil, nil, inFile(path, err)
	}
	return data, doc, agrees(o.purl, doc)
}

// warnLimits says when clients will refuse the bundle unless their policy allows
// more than the defaults.
func warnLimits(t *terminal, doc *steps.Document, bundle []byte) {
	limits, n := signer.DefaultLimits(), 0
	for _, b := range doc.Blocks {
		n += len(b.Steps)
	}
	if n > limits.Steps {
		t.talk("WARNING: %d steps; clients refuse more than %d unless their trust policy sets limits.steps", n, limits.Steps)
	}
	if int64(len(bundle)) > limits.BundleBytes {
		t.talk("WARNING: a bundle of %d bytes; clients refuse more than %d unless their trust policy sets limits.bundleBytes", len(bundle), limits.BundleBytes)
	}
}
