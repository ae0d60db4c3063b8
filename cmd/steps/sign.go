//go:build !light

package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"steps.example/schema"
	"steps.example/signer"
	"steps.example/steps"
)

const signLong = `Sign a document for one package file: the bundle binds the steps, byte for
byte, to the package URL and to the file's SHA-256.

The document is checked first, by the schema and by what apply uses; one that
is not valid is not signed.

EXAMPLES
  steps sign demo.json --key steps.key --artifact demo.tar.gz \
      --purl pkg:generic/acme/demo@1.0 --registry https://registry.example \
      -o demo.bundle

EXIT STATUS
  as in steps --help`

type signOptions struct {
	key, artifact, artifactSum, purl, registry, out string
	revision                                        int
}

func newSign(t *terminal) *cobra.Command {
	var o signOptions
	cmd := &cobra.Command{
		Use: verbSign.use, Short: verbSign.short, Long: signLong, GroupID: verbSign.group, Args: exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return runSign(cmd.Context(), t, o, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&o.key, "key", "", "private key `FILE`, from steps keygen")
	f.StringVar(&o.artifact, "artifact", "", "the package `FILE` that the steps belong to")
	f.StringVar(&o.artifactSum, "artifact-sha256", "", "its SHA-256 in `HEX`, in the place of the file")
	f.StringVar(&o.purl, "purl", "", "the package `URL`, with its version")
	f.StringVar(&o.registry, "registry", "", "the registry's https `URL`")
	f.IntVar(&o.revision, "revision", 1, "`NUMBER` of these steps for this version of the package, from 1")
	f.StringVarP(&o.out, "output", "o", "", "write the bundle to `FILE` and not to standard output")
	for _, name := range []string{"key", "purl", "registry"} {
		_ = cmd.MarkFlagRequired(name)
	}
	cmd.MarkFlagsOneRequired("artifact", "artifact-sha256")
	cmd.MarkFlagsMutuallyExclusive("artifact", "artifact-sha256")
	return cmd
}

func runSign(ctx context.Context, t *terminal, o signOptions, path string) error {
	data, err := readInput(t, path)
	if err != nil {
		return err
	}
	if err := schema.CrossCheck(data); err != nil {
		return inFile(path, err)
	}
	doc, err := steps.Decode(data, steps.DefaultLimits)
	if err != nil {
		return inFile(path, err)
	}
	if err := agrees(o.purl, doc); err != nil {
		return err
	}
	text, err := os.ReadFile(o.key)
	if err != nil {
		return err
	}
	key, err := signer.ParsePrivateKey(text)
	if err != nil {
		return trustErrorOf(o.key+": ", err)
	}
	if o.artifact != "" {
		if o.artifactSum, err = hashFile(o.artifact); err != nil {
			return err
		}
	}
	request := signer.Request{
		Registry: o.registry, PURL: o.purl, Revision: o.revision, IssuedAt: time.Now(),
		Capabilities: steps.Capabilities(doc), Document: data,
	}
	if n, err := hex.Decode(request.ArtifactSHA256[:], []byte(o.artifactSum)); err != nil || n != len(request.ArtifactSHA256) {
		return usagef("--artifact-sha256: %q is no SHA-256 in hex", o.artifactSum)
	}
	bundle, err := signer.Sign(ctx, key, request)
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
	t.say("signed %s for %s with key %s", o.out, o.purl, key.ID())
	return nil
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
