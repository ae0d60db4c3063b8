//go:build !light

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	"steps.example/interp"
	"steps.example/interp/broker"
	"steps.example/interp/changeset"
	"steps.example/interp/commit"
	"steps.example/schema"
	"steps.example/steps"
)

// keeper decides by root's configuration what is done for a caller.
type keeper struct {
	caller        interp.Caller
	config, state string

	read   *brokerConfig
	policy []byte
}

// configured reads the configuration once, and insists that it is root's.
func (k *keeper) configured() (*brokerConfig, []byte, error) {
	if k.read != nil {
		return k.read, k.policy, nil
	}
	path := filepath.Join(k.config, brokerFile)
	data, err := readRoots(path)
	if err != nil {
		return nil, nil, err
	}
	c, err := parseBrokerConfig(data)
	if err != nil {
		return nil, nil, &trustError{Kind: "broker", Msg: fmt.Sprintf("%s: %v", path, err)}
	}
	policy, err := readRoots(filepath.Join(k.config, brokerPolicyFile))
	if err != nil {
		return nil, nil, err
	}
	k.read, k.policy = c, policy
	return c, policy, nil
}

// check is configured, by the schemas as well.
func (k *keeper) check() (*brokerConfig, error) {
	c, policy, err := k.configured()
	if err != nil {
		return nil, err
	}
	if _, err := checkPolicy(policy); err != nil {
		return nil, inFile(filepath.Join(k.config, brokerPolicyFile), err)
	}
	data, err := readRoots(filepath.Join(k.config, brokerFile))
	if err != nil {
		return nil, err
	}
	if err := schema.ValidateBroker(data); err != nil {
		return nil, fmt.Errorf("BUG(steps): %s was good, but not by its schema: %w", k.config, err)
	}
	return c, nil
}

// Store implements [broker.Keeper]: each caller has one.
func (k *keeper) Store() (*commit.Store, error) {
	if _, _, err := k.configured(); err != nil {
		return nil, err
	}
	return commit.OpenStore(filepath.Join(k.state, strconv.Itoa(k.caller.UID)))
}

// Within implements [broker.Keeper].
func (k *keeper) Within() []string {
	if k.read == nil {
		return nil
	}
	return k.read.Within
}

// Kind implements [broker.Keeper].
func (k *keeper) Kind(err error) string {
	switch codeOf(err) {
	case exitTrust, exitInvalid:
		return broker.KindTrust
	case exitRefused:
		return broker.KindRefused
	}
	return ""
}

// Admit implements [broker.Keeper].
func (k *keeper) Admit(ctx context.Context, h *broker.Hello) (e interp.Errand, r commit.Receipt, accepted func() error, err error) {
	config, policy, err := k.configured()
	if err != nil {
		return e, r, nil, err
	}
	// What is trusted is remembered for all callers together.
	state := trustState{filepath.Join(k.state, "trust")}
	seen, err := state.seen(h.PURL)
	if err != nil {
		return e, r, nil, err
	}
	v, err := verifyBundle(ctx, verifyRequest{
		Bundles: h.Bundles, Policy: policy, PURL: h.PURL, Registry: h.Registry, PackageID: h.PackageID,
		ArtifactSHA256: h.ArtifactSHA256, Seen: seen, Index: indexRequest{Dir: filepath.Join(state.dir, "index")},
	})
	if err != nil {
		return e, r, nil, err
	}
	sum := sha256.Sum256(v.Document)
	if hex.EncodeToString(sum[:]) != h.DocumentSHA256 {
		return e, r, nil, &trustError{Kind: "broker", Msg: "what was signed is not the document that the steps are asked of"}
	}
	doc, err := steps.Decode(v.Document, steps.DefaultLimits)
	if err != nil {
		return e, r, nil, err
	}
	if err := agrees(v.PURL, doc); err != nil {
		return e, r, nil, err
	}
	job, err := k.job(config, doc, h)
	if err != nil {
		return e, r, nil, &exitError{code: exitRefused, err: err}
	}
	e = interp.Errand{Job: job, Caller: k.caller, Host: interp.Machine{}}
	r = commit.Receipt{
		Document: h.DocumentSHA256, Bundle: v.BundleSHA256, Key: v.Signers[0].KeyID,
		Meta: map[string]string{
			"purl": v.PURL, "revision": strconv.Itoa(v.Revision), "signed_by": signedBy(v.Signers),
			"policy_sha256": v.PolicySHA256, "uid": strconv.Itoa(k.caller.UID),
		},
	}
	return e, r, func() error { return remember(state, v) }, nil
}

// remember remembers what was accepted, unless something newer was meanwhile.
func remember(state trustState, v *verifiedDocument) error {
	kept, err := state.keep()
	if err != nil {
		return err
	}
	defer kept.close()
	m := seenMark{v.Registry, v.Revision, v.PayloadSHA256}
	if err := kept.unchanged(v.PURL, m); err != nil {
		return err
	}
	return kept.record(v.PURL, m)
}

// job is what the broker interprets: the caller's choice of where, as far as the
// configuration allows it.
func (k *keeper) job(config *brokerConfig, doc *steps.Document, h *broker.Hello) (interp.Job, error) {
	t := h.Target
	job := interp.Job{Document: doc, Phases: t.Phases}
	known := interp.PhasesOf(doc, false)
	for _, phase := range t.Phases {
		if !slices.Contains(known, phase) {
			return job, fmt.Errorf("phase %q is not of an installation", phase)
		}
	}
	if doc.Version != "" && t.Version != doc.Version {
		return job, fmt.Errorf("the document is for version %s, not %s", doc.Version, t.Version)
	}
	if t.OS != hostOS() || t.Umask > 0o777 {
		return job, errors.New("the target is of another system")
	}
	dirs := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(t.Dirs)) {
		dir := t.Dirs[name]
		allowed := slices.ContainsFunc(config.Within, func(w string) bool { return changeset.Within(interp.Physical(dir), w) })
		switch {
		case allowed:
			dirs[name] = dir
		case isPrefix(name):
			return job, fmt.Errorf("%s is outside the directories that the broker's configuration allows (%s)", changeset.Printable(dir), k.config)
		}
		// What is in the others is out of its reach.
	}
	layout := doc.Layout
	job.Target = interp.Target{
		Layout: layout, Name: doc.Name, Version: t.Version, OS: t.OS, Dirs: dirs, User: loginOf(k.caller.UID), Umask: t.Umask,
		Approved: config.allows(t.Approved), ProtectedNames: t.ProtectedNames,
		Protected:    []string{k.state, k.config},
		Placeholders: doc.Origin != steps.OriginNative,
	}
	return job, nil
}

func loginOf(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return ""
}

// groupsOf are the groups of a user, as far as they are known.
func groupsOf(uid string) []int {
	u, err := user.LookupId(uid)
	if err != nil {
		return nil
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil
	}
	var out []int
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil {
			out = append(out, n)
		}
	}
	return out
}
