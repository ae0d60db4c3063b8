//go:build !light

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"

	"steps.example/signer"
	"steps.example/signer/registry/lookup"
)

// consult asks the index that the policy names, if it names one, what is current of a
// package. It is empty-handed where the policy has no index, or does not insist that a
// package is in it. stale is what had to be overlooked.
func consult(ctx context.Context, policy *signer.Policy, purl string, r indexRequest) (listed signer.Mark, stale string, err error) {
	index, ok := policy.Index()
	if !ok {
		return listed, "", nil
	}
	if r.Dir == "" {
		return listed, "", usagef("the trust policy has an index; say where to remember what was seen of it with --state DIR")
	}
	root, err := readBounded(index.Root, maxTrustFile)
	if err != nil {
		return listed, "", &trustError{Kind: string(signer.KindTrustRoot), Msg: fmt.Sprintf("the root of the index that the policy names: %s", err)}
	}
	if sum := sha256.Sum256(root); sum != index.RootSHA256 {
		return listed, "", &trustError{Kind: string(signer.KindTrustRoot), Msg: fmt.Sprintf(
			"the root of the index, %s, has sha256 %x, but the trust policy pins %x; restore the file, or, if the new one is right, pin it",
			index.Root, sum, index.RootSHA256)}
	}
	place := sha256.Sum256([]byte(index.URL))
	client, err := lookup.Open(lookup.Config{
		Root: root, BaseURL: index.URL, Dir: filepath.Join(r.Dir, hex.EncodeToString(place[:8])),
		Offline: r.Offline, MaxAge: index.MaxAge, AllowStale: r.AllowStale,
	})
	if err != nil {
		return listed, "", err
	}
	entry, err := client.Lookup(ctx, purl)
	if e, ok := errors.AsType[*signer.Error](err); ok && e.Kind == lookup.KindAbsent && !index.Required {
		return listed, "", nil
	}
	if err != nil {
		return listed, "", err
	}
	if entry.IndexVersion < index.MinVersion {
		return listed, "", &trustError{Kind: string(signer.KindStale), Msg: fmt.Sprintf(
			"the index has version %d, but the trust policy wants %d or later; somebody may be replaying it", entry.IndexVersion, index.MinVersion)}
	}
	return entry.Mark(), entry.Stale, nil
}
