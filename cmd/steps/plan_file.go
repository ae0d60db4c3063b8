package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"steps.example/interp"
	"steps.example/interp/changeset"
	"steps.example/steps"
)

const planFileVersion = 1

// planFile is a plan that apply --plan carries out: everything that the plan
// was made from, and the digest of what came out. Apply verifies and interprets
// the source anew and insists on the same digest.
type planFile struct {
	Type    string    `json:"type"` // "steps-plan"
	Version int       `json:"version"`
	Created time.Time `json:"created"`
	Digest  string    `json:"digest"`

	Unsigned       bool          `json:"unsigned,omitempty"`
	PURL           string        `json:"purl,omitempty"`
	Registry       string        `json:"registry,omitempty"`
	ArtifactSHA256 string        `json:"artifact_sha256,omitempty"`
	Source         []byte        `json:"source"`
	Phases         []steps.Phase `json:"phases"`
	Removal        bool          `json:"removal,omitempty"`
	Target         interp.Target `json:"target"`

	// For readers; apply does not look at them.
	Changes *changeset.Changeset `json:"changes"`
	Actions []interp.Action      `json:"actions,omitempty"`
}

func encodePlanFile(s *subject, job interp.Job, p *interp.Plan) ([]byte, error) {
	return json.MarshalIndent(planFile{
		Type: "steps-plan", Version: planFileVersion, Created: time.Now().UTC().Truncate(time.Second), Digest: p.Digest(),
		Unsigned: s.flags.unsigned, PURL: s.flags.purl, Registry: s.flags.registry, ArtifactSHA256: s.flags.artifactSum,
		Source: s.source, Phases: job.Phases, Removal: job.Removal, Target: job.Target,
		Changes: p.Changes, Actions: p.Actions,
	}, "", " ")
}

// loadPlan reads a plan file and verifies its source again, by the policy given
// now.
func loadPlan(ctx context.Context, t *terminal, path, policy string) (*subject, interp.Job, string, error) {
	var job interp.Job
	data, err := readInput(t, path)
	if err != nil {
		return nil, job, "", err
	}
	var f planFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil || f.Type != "steps-plan" {
		return nil, job, "", &exitError{code: exitInvalid, err: fmt.Errorf("%s: is not a plan that steps plan -o wrote (%v)", path, err)}
	}
	if f.Version != planFileVersion {
		return nil, job, "", &exitError{code: exitInvalid, err: fmt.Errorf("%s: plan version %d is not known; make the plan again", path, f.Version)}
	}
	flags := sourceFlags{unsigned: f.Unsigned, policy: policy, purl: f.PURL, registry: f.Registry, artifactSum: f.ArtifactSHA256}
	s, err := flags.check(ctx, t, path, f.Source)
	if err != nil {
		return nil, job, "", err
	}
	job = interp.Job{Document: s.document, Phases: f.Phases, Removal: f.Removal, Target: f.Target}
	return s, job, f.Digest, nil
}
