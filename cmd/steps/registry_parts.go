//go:build !light && !noregistry

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"steps.example/signer/registry"
	"steps.example/signer/registry/index"
	"steps.example/signer/registry/oci"
	"steps.example/signer/registry/store"
	"steps.example/signer/registry/work"
)

// openedRegistry is what the parts of a registry share in one process.
type openedRegistry struct {
	store   *store.Store
	queue   *registry.Queue
	log     *slog.Logger
	metrics *registry.Metrics
}

func openRegistry(ctx context.Context, t *terminal, f *registryFlags, queue string) (*openedRegistry, error) {
	r := &openedRegistry{metrics: registry.NewMetrics()}
	var err error
	if r.log, err = f.logger(t); err != nil {
		return nil, err
	}
	if r.store, err = f.open(ctx); err != nil {
		return nil, err
	}
	if r.queue, err = registry.OpenQueue(ctx, queue); err != nil {
		return nil, errors.Join(err, r.store.Close())
	}
	return r, nil
}

func (r *openedRegistry) close() {
	if err := errors.Join(r.queue.Close(context.Background()), r.store.Close()); err != nil {
		r.log.Warn("close", "error", err)
	}
}

// run runs parts, and a server for metrics if it has an address.
func (r *openedRegistry) run(ctx context.Context, address string, parts ...func(context.Context) error) error {
	if address != "" {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		monitor := &registry.Monitor{Store: r.store, Log: r.log, Metrics: r.metrics}
		parts = append(parts, func(ctx context.Context) error { return monitor.Run(ctx, l) })
	}
	return together(ctx, parts...)
}

// workParts sign, and push if there is where to.
func (r *openedRegistry) workParts(ctx context.Context, t *terminal, f *workFlags) ([]func(context.Context) error, error) {
	s, who, err := f.signing.open(ctx, t)
	if err != nil {
		return nil, err
	}
	r.log.Info("signing", "as", who)
	w := &work.Worker{Store: r.store, Signer: s, Check: checkFor(false)}
	pool := &registry.Pool{Worker: w, Queue: r.queue, N: f.jobs, Sweep: f.sweep, Log: r.log, Metrics: r.metrics}
	parts := []func(context.Context) error{pool.Run}
	if f.oci != "" {
		w.Marks = []store.Mark{store.Unpushed}
		pusher := &registry.Pusher{Store: r.store, To: f.oci, Options: oci.Options{PlainHTTP: f.plainHTTP}, Log: r.log, Metrics: r.metrics}
		parts = append(parts, pusher.Run)
	}
	return parts, nil
}

// indexPart indexes what satisfies the policy, or without one what the key of signing
// signed.
func (r *openedRegistry) indexPart(ctx context.Context, f *indexFlags, signing *signingFlags) (func(context.Context) error, error) {
	keys, err := index.LoadKeys(f.keys)
	if err != nil {
		return nil, err
	}
	o := index.Options{
		Every: f.every, Life: f.life, Log: r.log, Committed: r.metrics.Committed,
		Holder: holderName(os.Getpid()), Gone: holderGone,
	}
	if f.policy != "" {
		o.Verify, err = verifyBy(f.policy)
	} else {
		o.Verify, err = verifyByKey(ctx, signing)
	}
	if err != nil {
		return nil, err
	}
	x, err := index.Open(r.store, keys, o)
	if err != nil {
		return nil, err
	}
	return x.Run, nil
}

// holderName names a process in the index's lease.
func holderName(pid int) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-" + rand.Text()
	}
	return fmt.Sprintf("%s/%d", host, pid)
}

// holderGone tells that a process of this machine has ended, killed perhaps, so that its
// lease is nobody's. One that got its number since costs waiting, not more.
func holderGone(holder string) bool {
	pid, err := strconv.Atoi(holder[strings.LastIndexByte(holder, '/')+1:])
	return err == nil && pid > 0 && holder == holderName(pid) && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	const limit = 4 << 10
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if len(token) < 16 || len(data) > limit {
		return "", fmt.Errorf("%s: a token has 16 to %d characters; make one with: openssl rand -hex 32", path, limit)
	}
	return token, nil
}
