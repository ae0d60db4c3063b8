package interp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/commit"
	"steps.example/interp/internal/fsroot"
	"steps.example/steps"
)

// work is what one transaction does. Everything that changes the tree, an apply,
// an upgrade, a removal or a repair, is one.
type work struct {
	// verb is what the user knows it as.
	verb string
	// jobs are interpreted one after the other, each on what the one before left.
	jobs []Job
	// last is done after them; nil for nothing.
	last func(*executor) error
	// roots are directories that last needs, beside those of the jobs.
	roots []string
	// ready is asked under the store's lock, before anything else.
	ready func() error
	// force leaves out steps of a stored removal that cannot be done.
	force bool
	// skipped are those that were, failed those that the last attempt failed by.
	skipped, failed []Refusal
	// always is asked, where nothing changed, whether a receipt is kept all the
	// same; nil means no.
	always func() (bool, error)
	// document is what to store with the receipt; nil for nothing.
	document *steps.Document
	// receipt adds to the receipt.
	receipt func(*commit.Receipt)
}

// transact does w. With force, it begins again without each step that fails, so that
// nothing of what such a step did is left.
func transact(ctx context.Context, host Host, opt ApplyOptions, w work) (*Applied, error) {
	for {
		done, err := attempt(ctx, host, opt, &w)
		if err == nil || !w.force || !w.leaveOut(w.failed) {
			return done, err
		}
	}
}

// attempt is one transaction. Where it was taken back because of steps that force
// leaves out, they are in w.failed.
func attempt(ctx context.Context, host Host, opt ApplyOptions, w *work) (done *Applied, err error) {
	w.failed = nil
	if err := opt.Capture.check(); err != nil {
		return nil, err
	}
	var stored []byte
	if w.document != nil {
		if stored, err = w.document.Encode(); err != nil {
			return nil, err
		}
		if len(stored) > commit.MaxDocument {
			return nil, fmt.Errorf("the document has %d bytes in its canonical form, and at most %d can be stored for its removal; nothing was changed", len(stored), commit.MaxDocument)
		}
	}
	envs := make([]*environment, len(w.jobs))
	roots := slices.Clone(w.roots)
	for i, job := range w.jobs {
		if envs[i], err = newEnvironment(job.Target); err != nil {
			return nil, err
		}
		roots = append(roots, envs[i].roots()...)
	}
	slices.Sort(roots)
	set, err := fsroot.New(slices.Compact(roots))
	if err != nil {
		return nil, err
	}
	defer set.Close()
	tx, err := opt.Store.Begin(set, commit.Options{Done: ctx.Done(), For: w.verb})
	if err != nil {
		return nil, err
	}
	x := &executor{host: host, jobs: w.jobs, set: set, tx: tx, mode: opt.Capture}
	defer func() {
		if err == nil {
			return
		}
		end := tx.Abandon(err)
		if len(x.failed) > 0 && end == err {
			done.Stuck, w.failed = true, x.failed
		}
		err = end
	}()
	if err := CheckPartners(opt.Store); err != nil {
		return nil, err
	}
	if w.ready != nil {
		if err := w.ready(); err != nil {
			return nil, err
		}
	}
	known, err := newLedger(opt.Store)
	if err != nil {
		return nil, err
	}
	for _, env := range envs {
		env.claims.ledger = known
	}
	done = &Applied{Plan: &Plan{Changes: &changeset.Changeset{}}}
	x.known, x.done = known, done
	if len(w.jobs) > 0 {
		if done.Plan, done.Stuck, err = planWork(ctx, envs, w, host, set); err != nil {
			return nil, err
		}
	}
	plan := done.Plan
	done.Skipped, done.Warnings, done.Triggers = w.skipped, plan.Warnings, plan.Triggers
	if opt.Expect != "" && plan.Digest() != opt.Expect {
		return done, ErrPlanMoved
	}
	if len(plan.Refused) > 0 {
		return done, &RefusedError{Refusals: plan.Refused}
	}
	// What needs root is done last, by the broker.
	rest := plan
	if len(plan.Privileged) > 0 {
		if rest, err = planRest(ctx, envs, w, host, set, plan); err != nil {
			return done, err
		}
	}
	switch {
	case len(rest.Actions) > 0:
		err = x.execute(ctx, envs, w, done)
	case !rest.Changes.Empty():
		x.changed = true
		err = tx.Apply(rest.Changes)
	}
	if err == nil && w.last != nil {
		err = w.last(x)
	}
	if err != nil {
		return done, err
	}
	var above *ascent
	if len(plan.Privileged) > 0 {
		if above, err = x.ascend(ctx, envs[0], w.jobs[0], plan.Privileged, opt); err != nil {
			return done, err
		}
	}
	defer func() { err = errors.Join(err, above.end()) }()
	if above == nil && len(plan.Actions) == 0 && !x.changed && len(done.Triggers) == 0 && len(plan.Adopted) == 0 && len(plan.settled.uses) == 0 && !plan.settled.newly {
		if keep, err := w.keeps(); err != nil || !keep {
			return done, errors.Join(err, tx.Rollback())
		}
	}
	receipt := &commit.Receipt{}
	if len(w.jobs) > 0 {
		if receipt, err = receiptOf(w.jobs[len(w.jobs)-1], opt.Provenance, done, x.runs); err != nil {
			return done, err
		}
	}
	receipt.Keep = stored
	for _, r := range w.skipped {
		receipt.Skipped = append(receipt.Skipped, r.forReceipt())
	}
	if err = plan.settled.record(tx, receipt); err != nil {
		return done, err
	}
	if w.receipt != nil {
		w.receipt(receipt)
	}
	if err = above.commit(receipt); err != nil {
		return done, err
	}
	if _, err = tx.Commit(receipt); err != nil {
		return done, err
	}
	done.Receipt = receipt
	return done, nil
}

func (w *work) keeps() (bool, error) {
	if w.always == nil {
		return false, nil
	}
	return w.always()
}

// anyway is for what is kept on record also where nothing changed.
func anyway() (bool, error) { return true, nil }

// planWork plans the jobs. With force, it does so again and again, without the
// steps that failed, until none does: what a failed step had done by then is not
// in the plan. Stuck reports whether force would get further.
func planWork(ctx context.Context, envs []*environment, w *work, host Host, set *fsroot.Set) (_ *Plan, stuck bool, err error) {
	for {
		plan, err := makePlan(ctx, envs, w.jobs, host, set)
		if err != nil {
			return nil, false, err
		}
		failed := w.leavable(plan.Refused)
		if !w.force || !w.leaveOut(failed) {
			return plan, len(failed) > 0, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
	}
}

// execute interprets the jobs once more, this time with their commands.
func (x *executor) execute(ctx context.Context, envs []*environment, w *work, done *Applied) (err error) {
	m := &machine{environment: envs[0], ctx: ctx, effects: x}
	for k, job := range w.jobs {
		m.environment = envs[k]
		x.rules = envs[k].rules(x.set.Roots())
		if err := x.refresh(m); err != nil {
			return err
		}
		err := m.interpret(job, func(*StepError) bool { return false })
		if err == nil {
			err = x.flush(m)
		}
		if refused, ok := err.(*RefusedError); ok {
			(&Plan{Refused: refused.Refusals}).attribute(0, k, job)
		}
		if err != nil {
			// What went wrong with the transaction itself is no step's fault.
			if !x.tx.Over() && ctx.Err() == nil {
				x.failed = w.leavable(behind(err, k, job))
			}
			return err
		}
	}
	done.Warnings, done.Triggers = m.warnings, m.triggers
	done.Plan.settled = m.settled
	return nil
}

// apply makes changes real that no step made, if they may be. They lack what is
// at their paths before, which is looked up.
func (x *executor) apply(cs *changeset.Changeset, rules changeset.Rules) error {
	if cs.Empty() {
		return nil
	}
	cs.Sort()
	x.set.Forget("/")
	for i := range cs.Changes {
		if err := x.now(&cs.Changes[i]); err != nil {
			return err
		}
	}
	if err := refusedBy(x.place, changeset.Judge(cs, rules)); err != nil {
		return err
	}
	x.changed = true
	err := x.tx.Apply(cs)
	x.set.Forget("/")
	return err
}

// compare compares the tree with what cs leaves. What is changed later must still
// be what was compared.
func (x *executor) compare(cs *changeset.Changeset) (map[string][]commit.Drift, error) {
	x.set.Forget("/")
	x.seen = map[string]changeset.Stamp{}
	for _, c := range cs.Changes {
		st, err := x.set.Lstat(c.Path)
		if err == nil {
			x.seen[c.Path] = st
		} else if !fsroot.IsMissing(err) && !errors.Is(err, unix.ELOOP) {
			return nil, err
		}
	}
	drifts, err := x.tx.Verify(cs)
	out := map[string][]commit.Drift{}
	for _, d := range drifts {
		out[d.Path] = append(out[d.Path], d)
	}
	return out, err
}

// now adds to c what is at its path.
func (x *executor) now(c *changeset.Change) error {
	stamp, err := x.set.Lstat(c.Path)
	seen, was := x.seen[c.Path]
	if fsroot.IsMissing(err) && !was {
		return nil
	}
	if err != nil {
		return err
	}
	if was && !seen.Unchanged(stamp) {
		return &commit.MovedError{Path: c.Path, Reason: "it was written to while it was compared with the receipt"}
	}
	c.Stamp, c.Before = &stamp, stamp.State()
	if c.Before.Kind == changeset.Symlink {
		d, name, err := x.set.OpenParent(c.Path)
		if err != nil {
			return err
		}
		if c.Before.Target, err = d.Readlink(name); err != nil {
			return err
		}
	}
	if c.After != nil && c.After.Kind == changeset.File && c.Content == nil && c.From == "" {
		c.After.Size = c.Before.Size
	}
	return nil
}
