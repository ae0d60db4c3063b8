//go:build !light

package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"steps.example/signer/online"
)

const signBundleLong = `Sign any file with a certificate for an identity token, as the protocol of
Sigstore's conformance suite asks. The token itself is on the command line,
where others on this machine can see it: for real signatures use steps sign.

What this signs is no statement about install steps, and no trust policy
accepts it as one.

EXAMPLES
  steps sign-bundle --identity-token "$TOKEN" --bundle file.sigstore.json \
      --trusted-root trusted_root.json --signing-config signing_config.json file

EXIT STATUS
  as in steps --help`

type signBundleOptions struct {
	token, bundle, root, config string
	staging, inToto             bool
}

func newSignBundle(t *terminal) *cobra.Command {
	var o signBundleOptions
	cmd := &cobra.Command{
		Use: verbSignBundle.use, Short: verbSignBundle.short, Long: signBundleLong,
		GroupID: verbSignBundle.group, Args: exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return runSignBundle(cmd.Context(), t, o, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&o.token, "identity-token", "", "the identity `TOKEN` itself")
	f.StringVar(&o.bundle, "bundle", "", "write the bundle to `FILE`")
	f.StringVar(&o.root, "trusted-root", "", "the deployment's trusted_root.json `FILE`; without it, the one in $"+trustRootVariable)
	f.StringVar(&o.config, "signing-config", "", "the deployment's signing_config.v0.2.json `FILE`")
	f.BoolVar(&o.inToto, "in-toto", false, "the file is an in-toto statement; put it into an envelope")
	f.BoolVar(&o.staging, "staging", false, "use Sigstore's staging deployment, whose files must be given")
	for _, name := range []string{"identity-token", "bundle"} {
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}

func runSignBundle(ctx context.Context, t *terminal, o signBundleOptions, path string) error {
	if o.config == "" {
		return usagef("say which services to use with --signing-config FILE: steps fetches no configuration")
	}
	rootPath, err := publicRoot(o.root, o.staging)
	if err != nil {
		return err
	}
	config, err := readBounded(o.config, maxTrustFile)
	if err != nil {
		return err
	}
	services, err := online.ParseServices(config, online.Options{})
	if err != nil {
		return trustErrorOf(o.config+": ", err)
	}
	_, root, err := readTrustRoot(rootPath)
	if err != nil {
		return err
	}
	file, err := readInput(t, path)
	if err != nil {
		return err
	}
	bundle, err := services.SignArtifact(ctx, o.token, file, o.inToto, root)
	if err != nil {
		return trustErrorOf("", err)
	}
	if err := os.WriteFile(o.bundle, append(bundle, '\n'), 0o644); err != nil {
		return err
	}
	t.say("signed %s", o.bundle)
	return nil
}
