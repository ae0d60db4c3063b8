//go:build !light && !noregistry

package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"steps.example/signer"
	"steps.example/signer/registry/index"
)

const registryInitLong = `Make an empty signed index and its keys. The keys go to a directory that you
alone can read; root.json in it is what clients pin.

--bits sets the number of hash bins for good: 10 (1,024 bins) for up to some
100,000 packages, 12 for a million, 13 for ten.

EXAMPLES
  steps registry init --store /srv/steps --registry https://registry.example \
      --index-keys index-keys

EXIT STATUS
  as in steps --help`

func newRegistryInit(t *terminal) *cobra.Command {
	var s registryFlags
	var dir string
	var bits int
	cmd := &cobra.Command{
		Use: "init", Short: "Make an empty index and its keys", Long: registryInitLong, Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runRegistryInit(cmd.Context(), t, &s, dir, bits) },
	}
	s.add(cmd)
	cmd.Flags().StringVar(&dir, "index-keys", "", "`DIRECTORY` for the keys; used again if making the index was cut short")
	cmd.Flags().IntVar(&bits, "bits", 10, "2^`BITS` is the number of bins")
	_ = cmd.MarkFlagRequired("index-keys")
	return cmd
}

// noBundles is for what puts no bundle into an index.
func noBundles(context.Context, []byte, signer.Expectation) (*signer.Verified, error) {
	return nil, errors.New("BUG(steps): a bundle to index where there is none")
}

func runRegistryInit(ctx context.Context, t *terminal, f *registryFlags, dir string, bits int) error {
	s, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := index.GenerateKeys(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	keys, err := index.LoadKeys(dir)
	if err != nil {
		return err
	}
	if err := index.Init(ctx, s, keys, index.Options{Bits: bits, Verify: noBundles}); err != nil {
		return err
	}
	if err := keys.Pin(dir); err != nil {
		return err
	}
	root := filepath.Join(dir, "root.json")
	if t.json {
		return t.object("index", map[string]any{"root": root, "bins": 1 << bits})
	}
	t.say("index with %d bins; clients pin %s", 1<<bits, root)
	t.say("keep %s elsewhere", filepath.Join(dir, "root.key"))
	return nil
}
