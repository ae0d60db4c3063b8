//go:build !light && !noregistry

package main

import (
	"time"

	"github.com/spf13/cobra"

	"steps.example/signer/registry/oci"
)

const attachLong = `Attach a bundle to a package in an OCI registry, or in an OCI layout directory,
the way cosign does. The package is any manifest there.

EXAMPLES
  steps attach demo.bundle registry.example/acme/demo:1.0

EXIT STATUS
  as in steps --help`

func newAttach(t *terminal) *cobra.Command {
	var o oci.Options
	cmd := &cobra.Command{
		Use: verbAttach.use, Short: verbAttach.short, Long: attachLong, GroupID: verbAttach.group, Args: exactArgs("BUNDLE", "REF"),
		RunE: func(cmd *cobra.Command, args []string) error {
			bundle, err := readInput(t, args[0])
			if err != nil {
				return err
			}
			r, ref, err := oci.Open(args[1], o)
			if err != nil {
				return err
			}
			defer r.Close()
			digest, err := r.Attach(cmd.Context(), ref, bundle, time.Now())
			if err != nil {
				return err
			}
			return saidDigest(t, "attached", digest)
		},
	}
	addOCIFlags(cmd, &o)
	return cmd
}
