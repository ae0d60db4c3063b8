package interp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
}

// ApplyOptions are what Apply needs beside the job.
type ApplyOptions struct {
	Store      *commit.Store
	Provenance Provenance
	// Expect is the [Plan.Digest] that must come out again; "" means any.
	Expect string
}

// ErrPlanMoved says that the tree is no longer the one that a plan was made
// for. Nothing was changed.
var ErrPlanMoved = errors.New("the tree has changed since the plan was made, and the same document would now do something else")

// Applied is what Apply did.
type Applied struct {
	Plan *Plan
	// Receipt is nil where there was nothing to change.
	Receipt  *commit.Receipt
	Warnings []Warning
}

// Apply plans job and makes it real, all or nothing: on any error the tree is
// as it was, unless the error matches [commit.ErrBlocked]. A job that is refused
// changes nothing and gives a *[RefusedError].
func Apply(ctx context.Context, job Job, host Host, opt ApplyOptions) (_ *Applied, err error) {
	env, err := newEnvironment(job.Target)
	if err != nil {
		return nil, err
	}
	set, err := fsroot.New(env.roots())
	if err != nil {
		return nil, err
	}
	defer set.Close()
	tx, err := opt.Store.Begin(set, commit.Options{})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err == nil {
			return
		}
		if undo := tx.Rollback(); undo != nil {
			err = errors.Join(err, undo)
		}
	}()
	plan, err := makePlan(ctx, env, job, host, set)
	if err != nil {
		return nil, err
	}
	done := &Applied{Plan: plan, Warnings: plan.Warnings}
	if opt.Expect != "" && plan.Digest() != opt.Expect {
		return done, ErrPlanMoved
	}
	if len(plan.Refused) > 0 {
		return done, &RefusedError{Refusals: plan.Refused}
	}
	var runs []runRecord
	if len(plan.Actions) == 0 {
		if plan.Changes.Empty() {
			return done, tx.Rollback()
		}
		err = tx.Apply(plan.Changes)
	} else {
		runs, err = execute(ctx, env, job, host, set, tx, done)
	}
	if err != nil {
		return done, err
	}
	receipt, err := receiptOf(job, opt.Provenance, done, runs)
	if err != nil {
		return done, err
	}
	if _, err = tx.Commit(receipt); err != nil {
		return done, err
	}
	done.Receipt = receipt
	return done, nil
}

// runRecord is a run as the receipt keeps it.
type runRecord struct {
	Run
	Report RunReport `json:"report"`
}

// execute interprets the job once more, this time with its commands.
func execute(ctx context.Context, env *environment, job Job, host Host, set *fsroot.Set, tx *commit.Tx, done *Applied) (_ []runRecord, err error) {
	x := &executor{host: host, set: set, tx: tx, rules: env.rules(set.Roots())}
	m := &machine{environment: env, ctx: ctx, effects: x}
	if m.view, err = newView(env, set, host); err != nil {
		return nil, err
	}
	if err := m.interpret(job, func(*StepError) bool { return false }); err != nil {
		return nil, err
	}
	if err := x.flush(m); err != nil {
		return nil, err
	}
	done.Warnings = m.warnings
	return x.runs, nil
}

// executor is the effects of an apply. What typed steps did before a command is
// committed into the open transaction, then the command runs and what it
// changed joins in.
type executor struct {
	host  Host
	set   *fsroot.Set
	tx    *commit.Tx
	rules changeset.Rules
	runs  []runRecord
}

// flush makes the view's changes real, and gives m a view of what is there now.
func (x *executor) flush(m *machine) error {
	cs, err := m.view.Changes()
	if err != nil {
		return err
	}
	if err := x.judge(cs); err != nil {
		return err
	}
	if !cs.Empty() {
		if err := x.tx.Apply(cs); err != nil {
			return err
		}
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

func (x *executor) judge(cs *changeset.Changeset) error {
	found := changeset.Judge(cs, x.rules)
	if len(found) == 0 {
		return nil
	}
	refused := &RefusedError{}
	for _, v := range found {
		refused.Refusals = append(refused.Refusals, refusalOf(v))
	}
	return refused
}

func (x *executor) run(m *machine, r *Run) ([]byte, error) {
	if err := x.flush(m); err != nil {
		return nil, err
	}
	if err := x.tx.Snapshot(r.Writes); err != nil {
		return nil, err
	}
	out, report, runErr := x.host.Run(m.ctx, r)
	if runErr != nil && (!r.AllowFailure || !isCommandError(runErr)) {
		return nil, runErr
	}
	made, err := x.tx.Capture()
	if err != nil {
		return nil, err
	}
	for i := range made.Changes {
		made.Changes[i].Steps = []int{m.step}
	}
	if err := x.judge(made); err != nil {
		return nil, fmt.Errorf("what %s left behind was refused: %w", r.Command, err)
	}
	x.runs = append(x.runs, runRecord{Run: *r, Report: report})
	if err := x.refresh(m); err != nil {
		return nil, err
	}
	return out, runErr
}

func isCommandError(err error) bool {
	_, ok := errors.AsType[*CommandError](err)
	return ok
}

func (x *executor) terminate(m *machine, t *steps.TerminateProcess) error {
	return terminate(m, x.host, t)
}

func (x *executor) owner(user, group string) (int, int, error) { return x.host.Owner(user, group) }
func (x *executor) systemCommand(file string) bool             { return x.host.SystemCommand(file) }
func (x *executor) root() bool                                 { return x.host.Root() }

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
	if p.PURL != "" {
		r.Meta = map[string]string{"purl": p.PURL, "revision": strconv.Itoa(p.Revision)}
	}
	if job.Removal {
		r.Phase += " (removal)"
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
