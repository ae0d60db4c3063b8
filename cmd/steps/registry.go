//go:build !light && !noregistry

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"steps.example/signer/registry/store"
)

const registryLong = `Run what a registry needs to sign install steps: serve takes submissions and
serves bundles and index, work signs, index makes the signed index. All three
in one process with no other service:

  steps keygen signing.key
  steps registry init --store /srv/steps --registry https://registry.example \
      --index-keys index-keys
  steps registry serve --all --store /srv/steps \
      --registry https://registry.example --key signing.key \
      --index-keys index-keys

or each in processes of its own, as many as need be, with a bucket
(--store s3://…) and a queue (--queue nats://…) between them. What must last
lies in the store alone; any process can be killed at any time. A bucket by the
protocol of Amazon's S3 elsewhere is
's3://NAME?region=none&endpoint=https://HOST&use_path_style=true'; it has to
know conditional writes (If-None-Match).

Clients get index-keys/root.json by a way that they trust. Keep
index-keys/root.key elsewhere: with it, rotate replaces the other keys, every
year and when one is stolen.

EXIT STATUS
  as in steps --help`

func newRegistry(t *terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: verbRegistry.use, Short: verbRegistry.short, Long: registryLong, GroupID: verbRegistry.group, Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRegistryInit(t), newRegistryServe(t), newRegistryWork(t), newRegistryIndex(t), newRegistryRotate(t))
	return cmd
}

// registryFlags say where a registry's data lies.
type registryFlags struct{ store, registry, log string }

func (f *registryFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.store, "store", "", "the registry's data: a `DIRECTORY`, or a bucket's URL (file://, s3://)")
	flags.StringVar(&f.registry, "registry", "", "the registry's https `URL`, which goes into each statement")
	for _, name := range []string{"store", "registry"} {
		_ = cmd.MarkFlagRequired(name)
	}
}

func (f *registryFlags) addLog(flags *pflag.FlagSet) {
	flags.StringVar(&f.log, "log", "", "log in this `FORMAT`, text or json; without it, text on a terminal and json elsewhere")
}

func (f *registryFlags) open(ctx context.Context) (*store.Store, error) {
	where := f.store
	if u, err := url.Parse(where); err != nil || u.Scheme == "" {
		dir, err := filepath.Abs(where)
		if err != nil {
			return nil, err
		}
		where = (&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String()
	}
	return store.Open(ctx, where, f.registry)
}

func (f *registryFlags) logger(t *terminal) (*slog.Logger, error) {
	format := f.log
	if format == "" {
		format = "json"
		if file, ok := t.err.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
			format = "text"
		}
	}
	switch format {
	case "json":
		return slog.New(slog.NewJSONHandler(t.err, nil)), nil
	case "text":
		return slog.New(slog.NewTextHandler(t.err, nil)), nil
	}
	return nil, usagef("--log: %q is neither text nor json", format)
}

// together runs parts until the context is done or one fails, which ends the others.
func together(ctx context.Context, parts ...func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error)
	for _, part := range parts {
		go func() { ended <- part(ctx) }()
	}
	var err error
	for range parts {
		if e := <-ended; e != nil && !errors.Is(e, context.Canceled) {
			err = errors.Join(err, e)
			stop()
		}
	}
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	return nil
}
