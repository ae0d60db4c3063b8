package interp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"steps.example/interp/commit"
	"steps.example/steps"
)

// Trigger is a step that rebuilds a cache, put off so that it is done once for
// all packages that ask for it. Its path is absolute and it has no guards: they
// were asked when it was put off.
//
// There is no list of triggers to keep up: each is in the receipt of the package
// that asked for it, from the moment that this is committed, and it is pending
// until a receipt says that it settles that one.
type Trigger struct {
	Step json.RawMessage `json:"step"`
}

// putOff notes a step for later.
func (m *machine) putOff(s steps.Step) error {
	text, err := steps.EncodeSteps([]steps.Step{s})
	if err != nil {
		return err
	}
	var list []map[string]any
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("BUG(steps): %s: %w", s.Type(), err)
	}
	fields := list[0]
	delete(fields, "guards")
	if p, ok := fields["path"].(map[string]any); ok {
		get := func(key string) string { v, _ := p[key].(string); return v }
		abs, err := m.path(steps.Path{Base: steps.Base(get("base")), Path: get("path"), Formula: get("formula")})
		if err != nil {
			return err
		}
		fields["path"] = map[string]string{"path": abs}
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	m.triggers = append(m.triggers, Trigger{Step: raw})
	return nil
}

// rebuildAgain notes, where the job is a removal that wants it, a cache that a step
// of the installation rebuilt. One whose guards or path make no sense any more has
// nobody to rebuild it for.
func (m *machine) rebuildAgain(s steps.Step) {
	if !m.again || !steps.Describe(s.Type()).Trigger {
		return
	}
	if holds, err := m.guarded(s.StepGuards()); err != nil || !holds {
		return
	}
	_ = m.putOff(s)
}

// PendingTriggers are the receipts, oldest first, whose triggers nobody carried
// out yet.
func PendingTriggers(receipts []*commit.Receipt) []*commit.Receipt {
	settled := map[string]bool{}
	for _, r := range receipts {
		for _, id := range r.Settles {
			settled[id] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(receipts), func(r *commit.Receipt) bool {
		return len(r.Triggers) == 0 || settled[r.ID]
	})
}

// triggerPackage is in the place of a package's name in the receipts of triggers.
const triggerPackage = "(triggers)"

// RunTriggers carries out what was put off, each trigger once, in one
// transaction. What fails stays pending, but for what uninstalled packages asked
// for: that is tried once, and there may be an error beside what was done for the
// others. Where nothing is pending it does nothing and gives nil. now says who
// acts, see [Installation.Remove].
func RunTriggers(ctx context.Context, now Target, host Host, opt ApplyOptions) (*Applied, error) {
	receipts, err := opt.Store.TriggerReceipts()
	if err != nil {
		return nil, err
	}
	pending := PendingTriggers(receipts)
	if len(pending) == 0 {
		return nil, nil
	}
	jobs, err := triggerJobs(pending, now)
	if err != nil {
		return nil, err
	}
	done, err := transact(ctx, host, opt, work{
		verb: "trigger", jobs: jobs, ready: sameTriggers(opt.Store, receipts), always: anyway, receipt: settling(pending),
	})
	if !failedAlone(ctx, err) {
		return done, err
	}
	removed, lookErr := ofUninstalled(opt.Store, pending)
	if lookErr != nil || len(removed) == 0 {
		return done, errors.Join(err, lookErr)
	}
	if err := giveUp(ctx, host, opt, removed, sameTriggers(opt.Store, receipts), err); err != nil {
		return nil, err
	}
	done, rest := RunTriggers(ctx, now, host, opt)
	if rest != nil {
		return nil, rest
	}
	return done, err
}

// settling makes the receipt one that settles those that are pending.
func settling(pending []*commit.Receipt) func(*commit.Receipt) {
	ids := receiptIDs(pending)
	return func(r *commit.Receipt) {
		r.Action, r.Package, r.Settles = commit.ActionTrigger, commit.Package{Name: triggerPackage}, ids
	}
}

func receiptIDs(list []*commit.Receipt) []string {
	var ids []string
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids
}

// failedAlone reports whether triggers failed of themselves: it was not that
// somebody else is at work, or was, or that the user ended it.
func failedAlone(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	return !slices.ContainsFunc([]error{commit.ErrBlocked, commit.ErrInterrupted, commit.ErrLocked, commit.ErrMoved},
		func(other error) bool { return errors.Is(err, other) })
}

// ofUninstalled are those receipts that are part of nothing that is installed.
func ofUninstalled(store *commit.Store, receipts []*commit.Receipt) ([]*commit.Receipt, error) {
	var out []*commit.Receipt
	for _, r := range receipts {
		list, err := installedAs(store, r.Package.Name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(list, func(i *Installation) bool { return slices.Contains(receiptIDs(i.Receipts), r.ID) }) {
			out = append(out, r)
		}
	}
	return out, nil
}

// giveUp settles what uninstalled packages asked for and failed: nobody could mend
// it by an apply of theirs.
func giveUp(ctx context.Context, host Host, opt ApplyOptions, removed []*commit.Receipt, ready func() error, why error) error {
	w := work{verb: "trigger", ready: ready, always: anyway}
	for _, r := range removed {
		w.roots = append(w.roots, r.Roots...)
	}
	settle := settling(removed)
	w.receipt = func(r *commit.Receipt) {
		settle(r)
		r.Warnings = []string{why.Error()}
	}
	_, err := transact(ctx, host, opt, w)
	return err
}

// remain are those of the triggers that something is left for, after a removal: the
// directory holds something, and the tool is there.
func (x *executor) remain(ctx context.Context, job Job, list []Trigger) ([]Trigger, error) {
	var out []Trigger
	for _, t := range list {
		one, err := steps.DecodeSteps([]byte("["+string(t.Step)+"]"), steps.DefaultLimits)
		if err != nil {
			return nil, fmt.Errorf("BUG(steps): a trigger: %w", err)
		}
		env, err := newEnvironment(job.Target)
		if err != nil {
			return nil, err
		}
		if empty, err := x.emptied(env, t); err != nil {
			return nil, err
		} else if empty {
			continue
		}
		plan, err := makePlan(ctx, []*environment{env}, []Job{triggerJob(job.Target, one...)}, x.host, x.set)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(plan.Refused, func(r Refusal) bool { return r.Rule == "step" }) {
			out = append(out, t)
		}
	}
	return out, nil
}

// emptied reports whether the directory that a trigger is about is gone, empty, or
// cannot be looked into: then there is nothing to rebuild a cache of.
func (x *executor) emptied(env *environment, t Trigger) (bool, error) {
	var about struct{ Path *steps.Path }
	if err := json.Unmarshal(t.Step, &about); err != nil || about.Path == nil {
		return false, err
	}
	v, err := newView(env, x.set, x.host)
	if err != nil {
		return false, err
	}
	names, err := v.ReadDir(about.Path.Path)
	return err != nil || len(names) == 0, nil
}

func triggerJob(target Target, list ...steps.Step) Job {
	return Job{
		Document: &steps.Document{
			Schema: steps.SchemaVersion, Layout: target.Layout, Name: target.Name, Version: target.Version,
			Blocks: []steps.Block{{Phase: steps.PhasePostInstall, Steps: list}},
		},
		Phases: []steps.Phase{steps.PhasePostInstall},
		Target: target,
	}
}

// sameTriggers makes sure that nobody else put off or settled any meanwhile.
func sameTriggers(store *commit.Store, receipts []*commit.Receipt) func() error {
	return func() error {
		now, err := store.TriggerReceipts()
		if err != nil {
			return err
		}
		if !slices.EqualFunc(receipts, now, func(a, b *commit.Receipt) bool { return a.ID == b.ID }) {
			return fmt.Errorf("another process has put off or carried out triggers meanwhile: %w; nothing was changed, try again", commit.ErrMoved)
		}
		return nil
	}
}

// triggerJobs makes one job of all triggers for the same directories. It is
// interpreted as the last package's that asked for one of them.
func triggerJobs(pending []*commit.Receipt, now Target) ([]Job, error) {
	jobs := map[string]*Job{}
	known := map[string]bool{}
	for _, r := range slices.Backward(pending) {
		target, err := targetOf(r, now)
		if err != nil {
			return nil, err
		}
		place, err := json.Marshal([]any{target.Layout, target.Dirs})
		if err != nil {
			return nil, err
		}
		job := jobs[string(place)]
		if job == nil {
			one := triggerJob(target)
			job = &one
			jobs[string(place)] = job
		}
		for _, raw := range r.Triggers {
			var t Trigger
			if err := json.Unmarshal(raw, &t); err != nil {
				return nil, fmt.Errorf("receipt %s: a trigger: %w", r.ID, err)
			}
			if key := string(place) + string(t.Step); known[key] {
				continue
			} else {
				known[key] = true
			}
			list, err := steps.DecodeSteps([]byte("["+string(t.Step)+"]"), steps.DefaultLimits)
			if err != nil {
				return nil, fmt.Errorf("receipt %s: a trigger: %w", r.ID, err)
			}
			job.Document.Blocks[0].Steps = append(job.Document.Blocks[0].Steps, list...)
		}
	}
	var out []Job
	for _, place := range slices.Sorted(maps.Keys(jobs)) {
		slices.SortFunc(jobs[place].Document.Blocks[0].Steps, func(a, b steps.Step) int {
			return strings.Compare(string(a.Type()), string(b.Type()))
		})
		out = append(out, *jobs[place])
	}
	return out, nil
}

func encodeTriggers(list []Trigger) ([]jsontext.Value, error) {
	var out []jsontext.Value
	for _, t := range list {
		raw, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		out = append(out, raw)
	}
	return out, nil
}
