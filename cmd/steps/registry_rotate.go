//go:build !light && !noregistry

package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"steps.example/signer/registry/index"
)

const registryRotateLong = `Replace the keys of the signed index by new ones, and sign all of it with them:
after one was stolen or lost, or as a habit. Do it every year: the root
metadata, which this renews, ends after two. Clients follow by themselves,
whichever root.json they pinned.

End steps registry index (or serve --all) before, and start it with the new
directory after. What was signed with a stolen key is refused from then on by
every client that has seen the new index.

It needs root.key and root.json in the old directory, and nothing else of it.
The root's key stays what it is, unless --root replaces it too. Cut short, it
leaves an index that clients refuse: run the same again.

EXAMPLES
  steps registry rotate --store /srv/steps --registry https://registry.example \
      --index-keys index-keys --new-keys index-keys-2027
  steps registry rotate --store /srv/steps --registry https://registry.example \
      --index-keys offline/index-keys --new-keys index-keys-2027 --root

EXIT STATUS
  as in steps --help`

func newRegistryRotate(t *terminal) *cobra.Command {
	var s registryFlags
	var old, fresh string
	var root bool
	cmd := &cobra.Command{
		Use: "rotate", Short: "Replace the keys of the index", Long: registryRotateLong, Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runRegistryRotate(cmd.Context(), t, &s, old, fresh, root)
		},
	}
	s.add(cmd)
	cmd.Flags().StringVar(&old, "index-keys", "", "`DIRECTORY` with root.key and root.json")
	cmd.Flags().StringVar(&fresh, "new-keys", "", "`DIRECTORY` for the new keys; used again if it was cut short")
	cmd.Flags().BoolVar(&root, "root", false, "replace the root's key too")
	for _, name := range []string{"index-keys", "new-keys"} {
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}

func runRegistryRotate(ctx context.Context, t *terminal, f *registryFlags, oldDir, newDir string, root bool) error {
	old, err := index.LoadRootKey(oldDir)
	if err != nil {
		return err
	}
	generate := index.GenerateOnlineKeys
	if root {
		generate = index.GenerateKeys
	}
	if err := generate(newDir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	next, err := index.LoadKeys(newDir)
	switch {
	case err != nil:
		return err
	case next.Pinned != nil:
		return usagef("--new-keys: %s holds the keys of an index already; give a new directory", newDir)
	case root != (next.Root != nil):
		return usagef("--new-keys: %s was begun by another command; give a new directory", newDir)
	case !root:
		next.Root = old.Root
	}
	s, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	x, err := index.Open(s, old, index.Options{Verify: noBundles, Holder: holderName(os.Getpid()), Gone: holderGone})
	if err != nil {
		return err
	}
	if err := x.Rotate(ctx, next); err != nil {
		return err
	}
	if err := next.Pin(newDir); err != nil {
		return err
	}
	if t.json {
		return t.object("rotated", map[string]any{"keys": newDir, "root": root})
	}
	t.say("the index is signed by the keys in %s; start steps registry index with them", newDir)
	if root {
		t.say("keep %s elsewhere, and destroy the old one", filepath.Join(newDir, "root.key"))
	}
	return nil
}
