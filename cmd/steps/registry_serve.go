//go:build !light && !noregistry

package main

import (
	"context"
	"net"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"steps.example/signer/registry"
)

const registryServeLong = `Take submissions by HTTP and serve bundles and index. With --all, sign and
index in the same process.

  POST /v1/submissions   one JSON object a line, one answer a line:
      {"purl": …, "artifact_sha256": …, "document": {…}}
  GET  /tuf/…, /bundles/…, /healthz, /readyz, /metrics

It speaks plain HTTP, for a TLS proxy before it. Without a token it listens on
a loopback address only.

EXAMPLES
  steps registry serve --all --store /srv/steps --key signing.key \
      --registry https://registry.example --index-keys index-keys
  curl --data-binary @submissions.jsonl http://127.0.0.1:8420/v1/submissions

EXIT STATUS
  as in steps --help`

const registryWorkLong = `Sign what is published, until stopped. Run as many as you like.

EXAMPLES
  steps registry work --store 's3://steps?region=eu-west-1' \
      --registry https://registry.example --key signing.key \
      --queue 'nats://steps?natsv2' --oci registry.example/steps

EXIT STATUS
  as in steps --help`

const registryIndexLong = `Put new bundles into the signed index, and renew it, until stopped. One index
process works at a time; others wait for its lease to end.

Bundles are verified first, by a trust policy.

EXAMPLES
  steps registry index --store /srv/steps --registry https://registry.example \
      --index-keys index-keys --policy trust.json

EXIT STATUS
  as in steps --help`

const embeddedQueue = "mem://steps"

type serveFlags struct {
	registryFlags
	listen, tokenFile, queue string
	fast, all                bool
	work                     workFlags
	index                    indexFlags
}

type workFlags struct {
	signing   signingFlags
	oci       string
	plainHTTP bool
	jobs      int
	sweep     time.Duration
}

func (f *workFlags) add(flags *pflag.FlagSet) {
	f.signing.add(flags)
	flags.IntVar(&f.jobs, "jobs", runtime.GOMAXPROCS(0), "`NUMBER` of signatures at the same time")
	flags.StringVar(&f.oci, "oci", "", "also push bundles to an OCI `REPOSITORY`, or oci:DIRECTORY")
	flags.BoolVar(&f.plainHTTP, "plain-http", false, "speak to the OCI registry without TLS")
	flags.DurationVar(&f.sweep, "sweep", 30*time.Second, "search the store each `TIME` for what no message told")
}

type indexFlags struct {
	keys, policy string
	every, life  time.Duration
}

func (f *indexFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.keys, "index-keys", "", "`DIRECTORY` of the index's keys, from steps registry init")
	flags.StringVar(&f.policy, "policy", "", "trust policy `FILE` that a bundle must satisfy to be indexed")
	flags.DurationVar(&f.every, "every", 5*time.Second, "look for new bundles each `TIME`")
	flags.DurationVar(&f.life, "life", 24*time.Hour, "let the index expire after this `TIME` unless it is renewed")
}

func newRegistryServe(t *terminal) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use: "serve", Short: "Take submissions, serve bundles and index", Long: registryServeLong, Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runRegistryServe(cmd.Context(), t, f) },
	}
	f.registryFlags.add(cmd)
	flags := cmd.Flags()
	f.addLog(flags)
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8420", "`ADDRESS` to listen on")
	flags.StringVar(&f.tokenFile, "token-file", "", "`FILE` with the token that publishers show as Bearer")
	flags.StringVar(&f.queue, "queue", embeddedQueue, "queue that tells workers of news, by `URL` (mem://, nats://)")
	flags.BoolVar(&f.fast, "fast", false, "check documents as clients do, without the CUE schema")
	flags.BoolVar(&f.all, "all", false, "sign and index as well")
	f.work.add(flags)
	f.index.add(flags)
	return cmd
}

func runRegistryServe(ctx context.Context, t *terminal, f serveFlags) error {
	r, err := openRegistry(ctx, t, &f.registryFlags, f.queue)
	if err != nil {
		return err
	}
	defer r.close()
	token, err := readToken(f.tokenFile)
	if err != nil {
		return err
	}
	parts := []func(context.Context) error{}
	if f.all {
		switch {
		case f.index.keys == "":
			return usagef("--all: say where the index's keys are by --index-keys DIRECTORY")
		case f.index.policy == "" && f.work.signing.keyless():
			return usagef("--all: say with --policy FILE which identities may be indexed, or sign with a key")
		}
		signing, err := r.workParts(ctx, t, &f.work)
		if err != nil {
			return err
		}
		indexing, err := r.indexPart(ctx, &f.index, &f.work.signing)
		if err != nil {
			return err
		}
		parts = append(signing, indexing)
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return err
	}
	server := &registry.Server{Store: r.store, Queue: r.queue, Check: checkFor(!f.fast), Token: token, Log: r.log, Metrics: r.metrics}
	return together(ctx, append(parts, func(ctx context.Context) error { return server.Run(ctx, l) })...)
}

func newRegistryWork(t *terminal) *cobra.Command {
	var s registryFlags
	var f workFlags
	var queue, metrics string
	cmd := &cobra.Command{
		Use: "work", Short: "Sign what is published", Long: registryWorkLong, Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := openRegistry(cmd.Context(), t, &s, queue)
			if err != nil {
				return err
			}
			defer r.close()
			parts, err := r.workParts(cmd.Context(), t, &f)
			if err != nil {
				return err
			}
			return r.run(cmd.Context(), metrics, parts...)
		},
	}
	s.add(cmd)
	s.addLog(cmd.Flags())
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&queue, "queue", embeddedQueue, "queue that tells of news, by `URL` (nats://); without it, the store is searched")
	cmd.Flags().StringVar(&metrics, "metrics", "", "serve /metrics, /healthz and /readyz on this `ADDRESS`")
	return cmd
}

func newRegistryIndex(t *terminal) *cobra.Command {
	var s registryFlags
	var f indexFlags
	var metrics string
	cmd := &cobra.Command{
		Use: "index", Short: "Make and renew the signed index", Long: registryIndexLong, Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := openRegistry(cmd.Context(), t, &s, embeddedQueue)
			if err != nil {
				return err
			}
			defer r.close()
			part, err := r.indexPart(cmd.Context(), &f, nil)
			if err != nil {
				return err
			}
			return r.run(cmd.Context(), metrics, part)
		},
	}
	s.add(cmd)
	s.addLog(cmd.Flags())
	f.add(cmd.Flags())
	for _, name := range []string{"index-keys", "policy"} {
		_ = cmd.MarkFlagRequired(name)
	}
	cmd.Flags().StringVar(&metrics, "metrics", "", "serve /metrics, /healthz and /readyz on this `ADDRESS`")
	return cmd
}
