package interp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"steps.example/interp/changeset"
	"steps.example/interp/commit"
	"steps.example/interp/internal/fsroot"
	"steps.example/steps"
)

// Provenance is where a document came from, for the receipt.
type Provenance struct {
	DocumentSHA256 string
	BundleSHA256   string
	KeyID          string
	PURL           string
	Revision       int
	// Notes are what else the receipt's Meta says, such as who signed.
	Notes map[string]string
}

// ApplyOptions are what Apply needs beside the job.
type ApplyOptions struct {
	Store      *commit.Store
	Provenance Provenance
	// Expect is the [Plan.Digest] that must come out again; "" means any.
	Expect string
	// Capture is how the changes of commands are found; "" chooses.
	Capture CaptureMode
	// Defer puts off what rebuilds caches; see [RunTriggers].
	Defer bool
	// Broker does the steps that need root, where the job says that there is one.
	Broker Broker
}

// ErrPlanMoved says that the tree is no longer the one that a plan was made
// for. Nothing was changed.
var ErrPlanMoved = errors.New("the tree, or what this machine can keep a command from, has changed since the plan was made: the same document would now do something else")

// Applied is what Apply did.
type Applied struct {
	Plan *Plan
	// Receipt is nil where there was nothing to change.
	Receipt  *commit.Receipt
	Warnings []Warning
	// Skipped are steps that could not be done and were left out, as was asked.
	Skipped []Refusal
	// Stuck says, where it failed, that this is due to steps of the removal of what is
	// installed, which force would leave out.
	Stuck bool
	// Triggers were put off until later.
	Triggers []Trigger
}

// Apply plans job and makes it real, all or nothing: on any error the tree is
// as it was, unless the error matches [commit.ErrBlocked]. A job that is refused
// changes nothing and gives a *[RefusedError].
//
// The document is stored with the receipt: its removal is what it says now, see
// [Installation.Remove]. Where there is nothing to change, there is no receipt,
// unless nothing tells yet that this version is installed, or that it uses what
// another package made.
func Apply(ctx context.Context, job Job, host Host, opt ApplyOptions) (*Applied, error) {
	w := work{verb: "apply", jobs: []Job{job}}
	if opt.Defer {
		w.jobs[0].defers = true
	}
	if !job.Removal {
		w.document = job.Document
		w.always = func() (bool, error) {
			found, err := installedAs(opt.Store, job.Target.Name)
			known := slices.ContainsFunc(found, func(i *Installation) bool {
				return i.Layout == job.Target.Layout && i.Package == commit.Package{Name: job.Target.Name, Version: job.Target.Version}
			})
			return !known, err
		}
	}
	return transact(ctx, host, opt, w)
}

// runRecord is a run as the receipt keeps it.
type runRecord struct {
	Run
	Report RunReport `json:"report"`
}

// executor is the effects of an apply. What typed steps did before a command is
// committed into the open transaction, then the command runs, and what it made
// joins in by the same way if it keeps the step's contract.
type executor struct {
	host  Host
	jobs  []Job
	set   *fsroot.Set
	tx    *commit.Tx
	mode  CaptureMode
	rules changeset.Rules
	runs  []runRecord
	// done is what the transaction did so far.
	done *Applied
	// changed: something was applied.
	changed bool
	// known is whose the paths are.
	known *ledger
	// failed are the steps of a stored removal because of which it failed.
	failed []Refusal
	// seen are the objects that were there before they were compared with receipts.
	seen map[string]changeset.Stamp
}

// flush makes the view's changes real, and gives m a view of what is there now.
func (x *executor) flush(m *machine) error {
	cs, err := m.settle()
	if err != nil {
		return err
	}
	if err := refusedBy(x.place, changeset.Judge(cs, x.rules), x.conflicts(m, cs)...); err != nil {
		return err
	}
	if !cs.Empty() {
		if err := x.tx.Apply(cs); err != nil {
			return err
		}
		m.claims.ledger.note(cs)
	}
	return x.refresh(m)
}

func (x *executor) refresh(m *machine) (err error) {
	x.set.Forget("/")
	m.view, err = newView(m.environment, x.set, x.host)
	if err == nil {
		m.view.SetStep(m.step)
	}
	return err
}

// place is where the step with a running number is in the documents.
func (x *executor) place(step int) Place { return placeIn(x.jobs, step) }

// refusedBy is the violations as an error, nil if there are none; at says where a
// step is.
func refusedBy(at func(step int) Place, found []changeset.Violation, further ...Refusal) error {
	if len(found)+len(further) == 0 {
		return nil
	}
	refused := &RefusedError{}
	for _, v := range found {
		refused.Refusals = append(refused.Refusals, refusalOf(v, at))
	}
	refused.Refusals = append(refused.Refusals, further...)
	return refused
}

func (x *executor) run(m *machine, r *Run) ([]byte, error) {
	if err := x.flush(m); err != nil {
		return nil, err
	}
	if err := x.host.Settle(r); err != nil {
		return nil, &NeedError{What: "running " + r.Command, Lack: err.Error()}
	}
	out, report, made, runErr := x.watch(m, r)
	if made == nil {
		return nil, runErr
	}
	for i := range made.Changes.Changes {
		made.Changes.Changes[i].Steps = []int{m.step}
	}
	// The tree is as it was before the command, whichever way it was watched.
	if err := x.refresh(m); err != nil {
		return nil, err
	}
	made.Changes = m.spare(made.Changes)
	if err := x.judge(m, r, made, runErr != nil); err != nil {
		return nil, fmt.Errorf("what %s left behind was refused: %w", r.Command, err)
	}
	if err := x.tx.Apply(made.Changes); err != nil {
		return nil, err
	}
	m.claims.ledger.note(made.Changes)
	x.runs = append(x.runs, runRecord{Run: *r, Report: report})
	if err := x.refresh(m); err != nil {
		return nil, err
	}
	return out, runErr
}

// judge holds what a command made to the contract of its step, and to the rules
// for every change.
func (x *executor) judge(m *machine, r *Run, made *changeset.Captured, failed bool) error {
	contract, err := m.contract(r, made, failed)
	if err != nil {
		return err
	}
	contract.Roots = x.rules.Roots
	found, err := contract.Judge(made, beforeTree{m.view})
	if err != nil {
		return err
	}
	type breach struct{ path, rule string }
	known := map[breach]bool{}
	for _, v := range found {
		known[breach{v.Path, v.Rule}] = true
	}
	rules := x.rules
	rules.ProtectedName = nil // the contract is stricter
	for _, v := range changeset.Judge(made.Changes, rules) {
		if !known[breach{v.Path, v.Rule}] {
			found = append(found, v)
		}
	}
	return refusedBy(x.place, found, x.conflicts(m, made.Changes)...)
}

func (x *executor) terminate(m *machine, t *steps.TerminateProcess) error {
	return terminate(m, x.host, t)
}

func (x *executor) owner(user, group string) (int, int, error) { return x.host.Owner(user, group) }
func (x *executor) systemCommand(file string) bool             { return x.host.SystemCommand(file) }
func (x *executor) root() bool                                 { return x.host.Root() }

// elevate: what a plan found to need root is left out here.
func (x *executor) elevate(*machine, string) bool { return false }

func (x *executor) inGroup(gid int) bool { return x.host.InGroup(gid) }

func receiptOf(job Job, p Provenance, done *Applied, runs []runRecord) (*commit.Receipt, error) {
	phases := make([]string, 0, len(job.Phases))
	for _, phase := range job.Phases {
		phases = append(phases, string(phase))
	}
	r := &commit.Receipt{
		Package:  commit.Package{Name: job.Target.Name, Version: job.Target.Version},
		Layout:   job.Target.Layout,
		Phase:    strings.Join(phases, ","),
		Document: p.DocumentSHA256,
		Bundle:   p.BundleSHA256,
		Key:      p.KeyID,
	}
	if p.PURL != "" || len(p.Notes) > 0 {
		r.Meta = map[string]string{}
		maps.Copy(r.Meta, p.Notes)
	}
	if p.PURL != "" {
		r.Meta["purl"], r.Meta["revision"] = p.PURL, strconv.Itoa(p.Revision)
	}
	if job.Removal {
		r.Action = commit.ActionRemoval
	}
	var err error
	if r.Target, err = encodeTarget(job.Target); err != nil {
		return nil, err
	}
	if r.Triggers, err = encodeTriggers(done.Triggers); err != nil {
		return nil, err
	}
	for _, run := range runs {
		raw, err := json.Marshal(run)
		if err != nil {
			return nil, err
		}
		r.Runs = append(r.Runs, jsontext.Value(raw))
	}
	for _, w := range done.Warnings {
		r.Warnings = append(r.Warnings, w.Text)
	}
	return r, nil
}
