//go:build !light && !noregistry

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"steps.example/signer/registry/oci"
)

const pullLong = `Fetch the bundles that are attached to a package in an OCI registry, or in an
OCI layout directory, into a new directory or one that is there: a file for
each, named by its SHA-256. With --package, fetch the package's file as well.

Nothing is verified: a registry can add and withhold bundles. Check them with
steps verify-bundle, or apply them with a trust policy.

EXAMPLES
  steps pull registry.example/acme/demo:1.0 -o bundles --package demo.tar.gz

EXIT STATUS
  as in steps --help`

type pullOptions struct {
	oci          oci.Options
	out, pkg     string
	packageBytes int64
}

func newPull(t *terminal) *cobra.Command {
	o := pullOptions{packageBytes: 4 << 30}
	cmd := &cobra.Command{
		Use: verbPull.use, Short: verbPull.short, Long: pullLong, GroupID: verbPull.group, Args: exactArgs("REF"),
		RunE: func(cmd *cobra.Command, args []string) error { return runPull(cmd.Context(), t, o, args[0]) },
	}
	addOCIFlags(cmd, &o.oci)
	cmd.Flags().StringVarP(&o.out, "output", "o", ".", "`DIRECTORY` for the bundles")
	cmd.Flags().StringVar(&o.pkg, "package", "", "fetch the package into `FILE` as well")
	return cmd
}

func runPull(ctx context.Context, t *terminal, o pullOptions, spec string) error {
	r, ref, err := oci.Open(spec, o.oci)
	if err != nil {
		return err
	}
	defer r.Close()
	bundles, err := r.Bundles(ctx, ref, oci.DefaultLimits)
	if err != nil {
		return err
	}
	if len(bundles) == 0 {
		return fmt.Errorf("%s has no bundles with install steps", spec)
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	for _, bundle := range bundles {
		sum := sha256.Sum256(bundle)
		path := filepath.Join(o.out, hex.EncodeToString(sum[:])+".bundle.json")
		if err := os.WriteFile(path, bundle, 0o644); err != nil {
			return err
		}
		if t.json {
			if err := t.object("bundle", map[string]any{"path": path}); err != nil {
				return err
			}
			continue
		}
		t.say("%s", path)
	}
	if o.pkg == "" {
		return nil
	}
	return pullPackage(ctx, r, ref, o)
}

// pullPackage writes the package beside its place first: what is there is whole.
func pullPackage(ctx context.Context, r *oci.Repository, ref string, o pullOptions) error {
	temp, err := os.CreateTemp(filepath.Dir(o.pkg), ".steps-pull-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	if _, err := r.Pull(ctx, ref, temp, o.packageBytes); err != nil {
		temp.Close()
		return err
	}
	if err := temp.Chmod(0o644); err != nil {
		temp.Close()
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), o.pkg)
}
