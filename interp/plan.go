package interp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
	"steps.example/interp/view"
	"steps.example/steps"
)

// Job is what to interpret.
type Job struct {
	Document *steps.Document
	// Phases are interpreted in this order.
	Phases []steps.Phase
	// Removal says that the package is being removed. Phases of an installation
	// are then interpreted as their removal: the links that symlink steps marked
	// for it go away, and nothing else happens. Phases of a removal are done as
	// they are.
	Removal bool
	Target  Target
}

// Plan is what a job would do.
type Plan struct {
	// Changes are all the changes that typed steps make. Where commands run,
	// what they will change is not in it, and what follows them is predicted as
	// if they changed nothing.
	Changes *changeset.Changeset
	// Actions are what executes, in order.
	Actions  []Action
	Warnings []Warning
	// Outcomes has one entry a step, as far as the interpretation came.
	Outcomes []Outcome
	// Unpredicted are steps after a command that failed in the prediction; they
	// may well succeed once it has run.
	Unpredicted []Unpredicted
	// Refused are all the reasons not to do it; the plan may be shown, not
	// applied.
	Refused []Refusal
}

// Action is a step that executes something.
type Action struct {
	Run       *Run       `json:"run,omitempty"`
	Terminate *Terminate `json:"terminate,omitempty"`
}

// Terminate is a process to be ended.
type Terminate struct {
	Step int    `json:"step"`
	Name string `json:"name"`
	// Full matches Name as a pattern against whole command lines.
	Full bool `json:"full,omitempty"`
}

// Unpredicted is a step whose outcome depends on a command.
type Unpredicted struct {
	Step   int    `json:"step"`
	Reason string `json:"reason"`
}

// Refusal is a reason not to apply a plan.
type Refusal struct {
	// Path or Step says where; at least one is set.
	Path string `json:"path,omitempty"`
	Step int    `json:"step,omitempty"`
	// Rule is a short name for machines: a judge's rule, or "step", "need",
	// "outside" (a path or link leads out), "moved" (the tree changed meanwhile),
	// "unsupported".
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	// Approval is the capability that would lift it.
	Approval string `json:"approval,omitempty"`
	err      error
}

// RefusedError lists every reason why a job is not done. Nothing was changed.
type RefusedError struct{ Refusals []Refusal }

func (e *RefusedError) Error() string {
	lines := make([]string, 0, len(e.Refusals))
	for _, r := range e.Refusals {
		lines = append(lines, r.Reason)
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the errors behind the refusals.
func (e *RefusedError) Unwrap() []error {
	var out []error
	for _, r := range e.Refusals {
		if r.err != nil {
			out = append(out, r.err)
		}
	}
	return out
}

// maxChanges bounds what one job may change.
const maxChanges = 1_000_000

// MakePlan interprets job in memory. Whatever speaks against the job is in the
// plan's Refused; an error means that no plan could be made at all.
func MakePlan(ctx context.Context, job Job, host Host) (*Plan, error) {
	env, err := newEnvironment(job.Target)
	if err != nil {
		return nil, err
	}
	set, err := fsroot.New(env.roots())
	if err != nil {
		return nil, err
	}
	defer set.Close()
	return makePlan(ctx, env, job, host, set)
}

func makePlan(ctx context.Context, env *environment, job Job, host Host, set *fsroot.Set) (_ *Plan, err error) {
	plan := &Plan{}
	m := &machine{environment: env, ctx: ctx, effects: &planner{host: host, plan: plan}}
	if m.view, err = newView(env, set, host); err != nil {
		return nil, err
	}
	plan.Refused = m.unsupported(job)
	if len(plan.Refused) == 0 {
		if err := m.interpret(job, plan.tolerate); err != nil {
			plan.refuse(err)
		}
	}
	if plan.Changes, err = m.view.Changes(); err != nil {
		return nil, err
	}
	plan.Warnings, plan.Outcomes = m.warnings, m.outcomes
	for _, v := range changeset.Judge(plan.Changes, env.rules(set.Roots())) {
		plan.Refused = append(plan.Refused, refusalOf(v))
	}
	return plan, nil
}

func newView(env *environment, set *fsroot.Set, host Host) (*view.View, error) {
	return view.New(set, view.Options{
		Umask:     env.Umask,
		KeepOwner: host.Root(),
		Missing:   env.roots(),
		Now:       time.Now().UnixNano(),
	})
}

// rules are what the layout and the user's approvals make of a changeset whose
// links may lead into the roots.
func (e *environment) rules(roots []*fsroot.Root) changeset.Rules {
	rules := changeset.Rules{
		Grants: e.grants, Approved: e.Approved, Protected: e.protected, ProtectedName: e.protectedName, MaxChanges: maxChanges,
	}
	for _, r := range roots {
		rules.Roots = append(rules.Roots, r.Path, r.Spelled)
	}
	return rules
}

func refusalOf(v changeset.Violation) Refusal {
	r := Refusal{Path: v.Path, Rule: v.Rule, Reason: v.String(), Approval: v.Approval}
	if len(v.Steps) > 0 {
		r.Step = v.Steps[len(v.Steps)-1]
	}
	return r
}

func (p *Plan) refuse(err error) {
	// Several needs of one step are several refusals.
	if step, ok := errors.AsType[*StepError](err); ok {
		if list, ok := step.Err.(interface{ Unwrap() []error }); ok {
			for _, each := range list.Unwrap() {
				one := *step
				one.Err = each
				p.refuse(&one)
			}
			return
		}
	}
	r := Refusal{Rule: "step", Reason: err.Error(), err: err}
	if step, ok := errors.AsType[*StepError](err); ok {
		r.Step = step.Step
	}
	if need, ok := errors.AsType[*NeedError](err); ok {
		r.Rule = "need"
		r.Approval = need.Capability
	}
	switch {
	case errors.Is(err, view.ErrOutside):
		r.Rule = "outside"
	case errors.Is(err, view.ErrMoved):
		r.Rule = "moved"
	}
	p.Refused = append(p.Refused, r)
}

// Digest identifies what the plan does to which tree: two plans with one digest
// have the same effect on the same objects.
func (p *Plan) Digest() string {
	h := sha256.New()
	io.WriteString(h, p.Changes.Digest())
	// Encoding plain structures into a hash cannot fail.
	_ = json.NewEncoder(h).Encode(p.Actions)
	return hex.EncodeToString(h.Sum(nil))
}

// tolerate decides whether the prediction goes on after a failed step: a need
// is noted and the rest is still looked at, so that all of them are listed; a
// failure after a command may be due to its not having run.
func (p *Plan) tolerate(err *StepError) bool {
	if _, ok := errors.AsType[*NeedError](err); ok {
		p.refuse(err)
		return true
	}
	if p.runs() && !errors.Is(err, view.ErrOutside) && !errors.Is(err, context.Canceled) {
		p.Unpredicted = append(p.Unpredicted, Unpredicted{Step: err.Step, Reason: err.Err.Error()})
		return true
	}
	return false
}

func (p *Plan) runs() bool {
	for _, a := range p.Actions {
		if a.Run != nil {
			return true
		}
	}
	return false
}

// unsupported lists the steps that no interpreter of this version can do, those
// for another system left out.
func (m *machine) unsupported(job Job) []Refusal {
	var out []Refusal
	n := 0
	for block := range job.blocks() {
		for i, s := range block.Steps {
			n++
			if job.unlinks(block.Phase) {
				continue
			}
			reason, not := steps.Unsupported(s.Type())
			if !not || !m.meantForHere(s) {
				continue
			}
			err := stepError(block, i, n, fmt.Errorf("not supported yet: %s", reason))
			out = append(out, Refusal{Step: n, Rule: "unsupported", Reason: err.Error(), err: err})
		}
	}
	return out
}

func (m *machine) meantForHere(s steps.Step) bool {
	for _, g := range s.StepGuards() {
		if g.Condition == "on" && g.Value != m.OS {
			return false
		}
	}
	return true
}
