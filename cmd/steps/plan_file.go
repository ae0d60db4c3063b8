package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"steps.example/interp"
	"steps.example/interp/changeset"
	"steps.example/steps"
)

const planFileVersion = 1

// planFile is a plan that apply --plan carries out: what it was made from, and
// the digest of what came out. Apply verifies and interprets the source anew and
// insists on the same digest. Nothing in the file stands for the user's consent:
// who is trusted, that a document needs no signature, what is approved and where
// the state is are said again to apply.
type planFile struct {
	Type    string    `json:"type"` // "steps-plan"
	Version int       `json:"version"`
	Created time.Time `json:"created"`
	Digest  string    `json:"digest"`

	Unsigned       bool              `json:"unsigned,omitempty"`
	PURL           string            `json:"purl,omitempty"`
	Registry       string            `json:"registry,omitempty"`
	ArtifactSHA256 string            `json:"artifact_sha256,omitempty"`
	PackageID      string            `json:"package_id,omitempty"`
	Source         []byte            `json:"source"`
	With           [][]byte          `json:"with,omitempty"` // bundles of other signers
	Phases         []steps.Phase     `json:"phases"`
	Removal        bool              `json:"removal,omitempty"`
	OS             string            `json:"os"`
	PackageVersion string            `json:"package_version,omitempty"`
	Dirs           map[string]string `json:"dirs"`
	State          string            `json:"state"`
	Approved       []string          `json:"approved,omitempty"`
	Protect        []string          `json:"protect,omitempty"`
	Replace        []string          `json:"replace,omitempty"`
	Adopt          []string          `json:"adopt,omitempty"`
	Keep           []string          `json:"keep,omitempty"`

	// For readers; apply does not look at them.
	Changes *changeset.Changeset `json:"changes"`
	Actions []interp.Action      `json:"actions,omitempty"`
}

func encodePlanFile(s *subject, job interp.Job, p *interp.Plan) ([]byte, error) {
	return json.MarshalIndent(planFile{
		Type: "steps-plan", Version: planFileVersion, Created: time.Now().UTC().Truncate(time.Second), Digest: p.Digest(),
		Unsigned: s.flags.unsigned, PURL: s.flags.purl, Registry: s.flags.registry, ArtifactSHA256: s.flags.artifactSum,
		PackageID: s.flags.packageID, Source: s.source, With: s.flags.cosigned, Phases: job.Phases, Removal: job.Removal, OS: job.Target.OS,
		PackageVersion: job.Target.Version, Dirs: job.Target.Dirs, State: job.Target.Protected[0], Approved: job.Target.Approved, Protect: job.Target.ProtectedNames,
		Replace: job.Target.Replace, Adopt: job.Target.Adopt, Keep: job.Target.Keep,
		Changes: p.Changes, Actions: p.Actions,
	}, "", " ")
}

// loadPlan reads a plan file and verifies its source again, by what the flags say
// now.
func loadPlan(ctx context.Context, t *terminal, path string, src sourceFlags, target targetFlags) (*subject, interp.Job, string, error) {
	f, err := readPlan(t, path)
	if err != nil {
		return nil, interp.Job{}, "", err
	}
	if f.Unsigned && !src.unsigned {
		return nil, interp.Job{}, "", usagef("%s: was made from a document that nobody signed; say --unsigned again, or plan a signed bundle", path)
	}
	target.dirs = map[string]string{}
	for name, dir := range f.Dirs {
		if isPrefix(name) {
			target.prefix = dir
		} else {
			target.dirs[name] = dir
		}
	}
	if state, err := target.path(); err != nil || state != f.State {
		return nil, interp.Job{}, "", errors.Join(err, usagef("%s: was made with the state in %s; say --state %s", path, f.State, f.State))
	}
	flags := sourceFlags{
		unsigned: f.Unsigned, policy: src.policy, purl: f.PURL, registry: f.Registry, packageID: f.PackageID, artifactSum: f.ArtifactSHA256,
		offline: src.offline, allowStale: src.allowStale, cosigned: f.With, trustDir: trustDirOf(f.State),
	}
	s, err := flags.check(ctx, t, path, f.Source)
	if err != nil {
		return nil, interp.Job{}, "", err
	}
	for _, capability := range f.Approved {
		if !slices.Contains(target.approve, capability) {
			return nil, interp.Job{}, "", usagef("%s: was made with --approve %s; say it again to approve it", path, strings.Join(f.Approved, ","))
		}
	}
	// What belongs to others is theirs to give: it is said again as well.
	replace, adopt, _, err := target.choices()
	if err != nil {
		return nil, interp.Job{}, "", err
	}
	for _, said := range []struct {
		flag       string
		plan, here []string
	}{{"replace", f.Replace, replace}, {"adopt", f.Adopt, adopt}} {
		for _, p := range said.plan {
			if !slices.Contains(said.here, p) {
				return nil, interp.Job{}, "", usagef("%s: was made with --%s %s; say it again", path, said.flag, p)
			}
		}
	}
	target.replace, target.adopt, target.keep = f.Replace, f.Adopt, f.Keep
	target.approve, target.protect = f.Approved, f.Protect
	target.goos, target.removal = f.OS, f.Removal
	if s.document.Version == "" {
		target.version = f.PackageVersion
	}
	for _, phase := range f.Phases {
		target.phases = append(target.phases, string(phase))
	}
	job, err := target.job(s.document)
	return s, job, f.Digest, err
}

func readPlan(t *terminal, path string) (*planFile, error) {
	data, err := readInput(t, path)
	if err != nil {
		return nil, err
	}
	invalid := func(why string) error {
		return &exitError{code: exitInvalid, err: fmt.Errorf("%s: is not a plan that steps plan -o wrote: %s", path, why)}
	}
	var f planFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	switch err := dec.Decode(&f); {
	case err != nil:
		return nil, invalid(err.Error())
	case f.Type != "steps-plan":
		return nil, invalid("its type is not steps-plan")
	case f.Version != planFileVersion:
		return nil, invalid(fmt.Sprintf("version %d is not known; make the plan again", f.Version))
	case f.Digest == "":
		return nil, invalid("it has no digest")
	}
	return &f, nil
}
