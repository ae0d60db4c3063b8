//go:build !light && !noregistry

package main

import (
	"github.com/spf13/cobra"

	"steps.example/signer/registry/oci"
)

const pushLong = `Put a package file into an OCI registry, or into an OCI layout directory, under
a tag. Bundles can then be attached to it.

EXAMPLES
  steps push demo.tar.gz registry.example/acme/demo:1.0
  steps push demo.tar.gz oci:/srv/packages:1.0

EXIT STATUS
  as in steps --help`

func newPush(t *terminal) *cobra.Command {
	var o oci.Options
	cmd := &cobra.Command{
		Use: verbPush.use, Short: verbPush.short, Long: pushLong, GroupID: verbPush.group, Args: exactArgs("FILE", "REF"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, tag, err := oci.Open(args[1], o)
			if err != nil {
				return err
			}
			defer r.Close()
			digest, err := r.Push(cmd.Context(), tag, args[0])
			if err != nil {
				return err
			}
			return saidDigest(t, "package", digest)
		},
	}
	addOCIFlags(cmd, &o)
	return cmd
}

func addOCIFlags(cmd *cobra.Command, o *oci.Options) {
	cmd.Flags().BoolVar(&o.PlainHTTP, "plain-http", false, "speak to the registry without TLS")
}

func saidDigest(t *terminal, kind, digest string) error {
	if t.json {
		return t.object(kind, map[string]any{"digest": digest})
	}
	t.say("%s", digest)
	return nil
}
