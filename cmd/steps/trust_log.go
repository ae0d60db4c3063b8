//go:build !light

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"steps.example/signer"
	"steps.example/signer/logwatch"
)

const trustLogLong = `Look whether a transparency log shows everybody the same: that what it shows
now continues what it showed at the last look (--keep), and that the bundles
given, from wherever they came, are in that same history. A bundle from
another history was made for whoever got it, and for nobody else to see.

Run it now and then, on more than one machine, with bundles from each. To have
others compare for you before every installation, put the keys of the log's
witnesses into the trust policy: steps trust init --witness.

EXAMPLES
  steps trust log --trusted-root trusted_root.json --keep log.seen
  steps trust log --trusted-root trusted_root.json --keep log.seen *.bundle
  steps trust log --trusted-root trusted_root.json --tiles file:///srv/log

EXIT STATUS
  4 if the log has two histories, or a bundle is not in it; the others as in
  steps --help`

type trustLogOptions struct{ root, log, tiles, keep string }

func newTrustLog(t *terminal) *cobra.Command {
	var o trustLogOptions
	cmd := &cobra.Command{
		Use: "log [BUNDLE...]", Short: "Look whether a log shows everybody the same", Long: trustLogLong,
		RunE: func(cmd *cobra.Command, args []string) error { return runTrustLog(cmd.Context(), t, o, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.root, "trusted-root", "", "the deployment's trusted_root.json `FILE`")
	f.StringVar(&o.log, "log", "", "the log's `URL` in it, if there are several")
	f.StringVar(&o.tiles, "tiles", "", "`URL` of its checkpoint and tiles; without it, where Rekor v2 has them")
	f.StringVar(&o.keep, "keep", "", "`FILE` that keeps what was seen for the next look")
	_ = cmd.MarkFlagRequired("trusted-root")
	return cmd
}

func runTrustLog(ctx context.Context, t *terminal, o trustLogOptions, bundles []string) error {
	root, _, err := readTrustRoot(o.root)
	if err != nil {
		return err
	}
	log, err := chooseLog(root.Logs(), o.log)
	if err != nil {
		return err
	}
	var seen []byte
	if o.keep != "" {
		if seen, err = readBounded(o.keep, maxTrustFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	w, err := logwatch.Open(logwatch.Config{Log: log, URL: o.tiles})
	if err != nil {
		return trustErrorOf("", err)
	}
	head, err := w.Update(ctx, seen)
	if err != nil {
		return trustErrorOf("", err)
	}
	for _, path := range bundles {
		if err := checkLogged(ctx, t, w, log, path); err != nil {
			return inFile(path, trustErrorOf("", err))
		}
	}
	if o.keep != "" {
		if err := replaceFile(o.keep, head.Checkpoint); err != nil {
			return err
		}
	}
	if t.json {
		return t.object("log", map[string]any{
			"url": log.URL, "size": head.Size, "root": fmt.Sprintf("%x", head.Root), "continues": seen != nil, "bundles": len(bundles),
		})
	}
	what := "there was no earlier look to compare with"
	switch {
	case o.keep == "":
		what = "--keep FILE would compare it with the next look"
	case seen != nil:
		what = "it continues what was seen before"
	}
	t.say("%s has %d entries, root %x", log.URL, head.Size, head.Root)
	t.say("%s", what)
	if len(bundles) > 0 {
		t.say("%d bundle(s) are in that history", len(bundles))
	}
	return nil
}

func chooseLog(logs []signer.Log, url string) (signer.Log, error) {
	var names []string
	var found []signer.Log
	for _, l := range logs {
		names = append(names, l.URL)
		if url == "" || l.URL == url {
			found = append(found, l)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(names) == 0:
		return signer.Log{}, usagef("the trust root has no transparency log")
	}
	return signer.Log{}, usagef("say which log by --log URL; the trust root has %s", strings.Join(names, " and "))
}

// checkLogged insists that a bundle has an entry in the log, and that it is in the
// history that the log shows.
func checkLogged(ctx context.Context, t *terminal, w *logwatch.Watch, log signer.Log, path string) error {
	data, err := readInput(t, path)
	if err != nil {
		return err
	}
	list, err := signer.Checkpoints(data)
	if err != nil {
		return err
	}
	found := false
	for _, c := range list {
		if c.Log == log.ID {
			found = true
			if err := w.Check(ctx, c.Text); err != nil {
				return err
			}
		}
	}
	if !found {
		return &trustError{Kind: string(signer.KindEvidence), Msg: fmt.Sprintf("the bundle has no entry in %s; name another log, or leave the bundle out", log.URL)}
	}
	return nil
}

// replaceFile gives a file new content: after a crash it has the old or the new.
func replaceFile(path string, data []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
