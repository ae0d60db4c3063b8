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
	"steps.example/interp/commit"
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
	// Store is where the receipts are that tell what belongs to whom, for a plan;
	// nil means that there are none yet: what is there is the user's. Apply asks its
	// own.
	Store *commit.Store

	// Broker says that there is one for the steps that need root: they are
	// [Plan.Privileged]. Otherwise they are refused, and NoBroker says why there is
	// none.
	Broker   bool
	NoBroker string

	// own are links, by path, that the package's installed version made: a link
	// step may put its own in their place.
	own map[string]string
	// skip are steps, from 1, that are left out.
	skip map[int]bool
	// stored: it is the removal of what is installed, as the store keeps it. Its
	// steps may be left out where they cannot be done, if the user says so.
	stored bool
	// replaced is, for the removal that begins an upgrade, the name and version of
	// what it removes.
	replaced string
	// defers: what rebuilds caches is noted for later in the place of being done.
	defers bool
	// rebuilds: the removal notes for later what the installation rebuilt.
	rebuilds bool
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
	// Triggers were put off until later.
	Triggers []Trigger
	// Spared are the changes that are left out for [Target.Keep]; Adopted become the
	// package's as they are.
	Spared  []commit.Spared
	Adopted []commit.Adopted
	// Yours are the paths of what steps with preserve leave to the user.
	Yours []string
	// Privileged are the steps that the broker is to do.
	Privileged []Privileged
	settled    settled
	// astray are the steps that failed, and after which the rest is a guess.
	astray int
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
	Step int `json:"step"`
	Place
	Reason string `json:"reason"`
}

// Refusal is a reason not to apply a plan.
type Refusal struct {
	// Path or Step says where; neither is set where it is about all steps.
	Path string `json:"path,omitempty"`
	Step int    `json:"step,omitempty"`
	Place
	// Replaced is the name and version of what an upgrade replaces, where the step is
	// one of its removal.
	Replaced string `json:"replaced,omitempty"`
	// Rule is a short name for machines: a judge's rule, or "step", "need",
	// "outside" (a path or link leads out), "moved" (the tree changed meanwhile),
	// "conflict" (what is there is somebody else's),
	// "unsupported".
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	// Approval is the capability that would lift it.
	Approval string `json:"approval,omitempty"`
	err      error
	// job is the one that Step is a step of, by its place among those of a plan.
	job int
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
	if job.Store != nil {
		release, err := job.Store.Share("plan")
		if err != nil {
			return nil, err
		}
		defer release()
	}
	if env.claims.ledger, err = newLedger(job.Store); err != nil {
		return nil, err
	}
	return makePlan(ctx, []*environment{env}, []Job{job}, host, set)
}

// makePlan interprets the jobs one after the other, each on what the one before
// left. Each is judged by its own rules.
func makePlan(ctx context.Context, envs []*environment, jobs []Job, host Host, set *fsroot.Set) (_ *Plan, err error) {
	plan := &Plan{}
	noted := &planner{host: host, plan: plan}
	if !host.Root() {
		noted.marks = map[int]string{}
	}
	m := &machine{environment: envs[0], ctx: ctx, effects: noted}
	if m.view, err = m.planned(set, host); err != nil {
		return nil, err
	}
	for k, job := range jobs {
		m.environment = envs[k]
		from := len(plan.Refused)
		m.claims.removal = job.Removal
		plan.Refused = append(plan.Refused, m.unsupported(job)...)
		plan.attribute(from, k, job)
	}
	stopped := false
	ends := make([]int, len(jobs)) // the last step of each
	for k, job := range jobs {
		m.environment = envs[k]
		if !stopped {
			from := len(plan.Refused)
			if err := m.interpret(job, func(failed *StepError) bool { return plan.tolerate(m, job, failed) }); err != nil {
				stopped = true
				if _, told := errors.AsType[*StepError](err); !told {
					plan.refuse(err)
				}
			}
			plan.attribute(from, k, job)
		}
		ends[k] = m.step
	}
	if plan.Changes, err = m.settle(); err != nil {
		return nil, err
	}
	plan.settled, plan.Spared, plan.Adopted, plan.Yours = m.settled, m.settled.spared, m.settled.adopted, m.settled.yours
	plan.Warnings, plan.Outcomes, plan.Triggers = m.warnings, m.outcomes, m.triggers
	if noted.marks != nil {
		if err := plan.elevate(ctx, envs, jobs, ends, host, set, noted.marks); err != nil {
			return nil, err
		}
	}
	first := 0
	for k, env := range envs {
		from, own := len(plan.Refused), stepsOf(plan.Changes, first, ends[k], len(envs) == 1)
		for _, v := range changeset.Judge(own, env.rules(set.Roots())) {
			plan.Refused = append(plan.Refused, refusalOf(v, jobs[k].Place))
		}
		plan.Refused = append(plan.Refused, env.claims.conflicts(own, m.settled.cache(first), jobs[k].Place)...)
		plan.attribute(from, k, jobs[k])
		first = ends[k]
	}
	return plan, nil
}

// stepsOf are the changes that steps after first, up to last, had a part in. Their
// numbers begin at 1 again.
func stepsOf(cs *changeset.Changeset, first, last int, all bool) *changeset.Changeset {
	if all {
		return cs
	}
	out := &changeset.Changeset{}
	for _, c := range cs.Changes {
		var own []int
		for _, n := range c.Steps {
			if first < n && n <= last {
				own = append(own, n-first)
			}
		}
		if len(own) > 0 {
			c.Steps = own
			out.Changes = append(out.Changes, c)
		}
	}
	return out
}

func newView(env *environment, set *fsroot.Set, host Host) (*view.View, error) {
	return view.New(set, viewOptions(env, host))
}

// planned is a view where what the user cannot write to is for [machine.denied] to decide.
func (m *machine) planned(set *fsroot.Set, host Host) (*view.View, error) {
	opt := viewOptions(m.environment, host)
	opt.Denied = m.denied
	return view.New(set, opt)
}

func viewOptions(env *environment, host Host) view.Options {
	return view.Options{
		Umask:     env.Umask,
		KeepOwner: host.Root(),
		Missing:   env.roots(),
		Now:       time.Now().UnixNano(),
	}
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

// refusalOf names the last step that had a part in a violation; at says where it is.
func refusalOf(v changeset.Violation, at func(step int) Place) Refusal {
	r := Refusal{Path: v.Path, Rule: v.Rule, Approval: v.Approval}
	where := ""
	if len(v.Steps) > 0 {
		r.Step = v.Steps[len(v.Steps)-1]
		r.Place = at(r.Step)
		where = r.Place.String()
	}
	r.Reason = v.In(where)
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
		r.Step, r.Place = step.Step, step.Place
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

// attribute says of the refusals after the first from that they are of job, the kth.
func (p *Plan) attribute(from, k int, job Job) {
	for i := range p.Refused[from:] {
		r := &p.Refused[from+i]
		if _, told := errors.AsType[*StepError](r.err); !told && r.Replaced == "" {
			r.Reason = removalOf(job.replaced) + r.Reason
		}
		r.job, r.Replaced = k, job.replaced
	}
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

// maxAstray is how many steps may fail after the first one that did, before the
// prediction ends: each may take long to do so.
const maxAstray = 10

// tolerate decides whether the prediction goes on after a failed step: mostly it
// does, so that all that stands against the job is listed, not only what comes
// first. A need is noted, and of every step that fails what it would have asked for;
// a failure after a command may be due to its not having run, and one after a failed
// step to that step's not having been done, and says nothing then.
func (p *Plan) tolerate(m *machine, job Job, err *StepError) bool {
	_, lacks := errors.AsType[*NeedError](err)
	switch {
	case lacks:
		p.refuse(err)
		return true
	case errors.Is(err, context.Canceled):
		p.refuse(err)
		return false
	case errors.Is(err, errUnsupported): // listed already
	case p.runs() && !errors.Is(err, view.ErrOutside):
		p.Unpredicted = append(p.Unpredicted, Unpredicted{Step: err.Step, Place: err.Place, Reason: err.Err.Error()})
		return true
	case p.astray == 0 || errors.Is(err, view.ErrOutside):
		p.refuse(err)
	}
	p.astray++
	p.refuseAsks(m, job, err)
	return p.astray <= maxAstray
}

// refuseAsks notes the approvals that a failed step would have needed, as far as its
// text alone tells.
func (p *Plan) refuseAsks(m *machine, job Job, failed *StepError) {
	s := job.step(failed.Step)
	one := &steps.Document{Layout: m.Layout, Blocks: []steps.Block{{Phase: failed.Phase, Steps: []steps.Step{s}}}}
	for _, c := range steps.Capabilities(one) {
		if c == "run" || c == "sudo" && !sudoAlways(s) {
			continue
		}
		if err := m.need(c, "what it does"); err != nil {
			asks := *failed
			asks.Err = err
			p.refuse(&asks)
		}
	}
}

// sudoAlways reports whether a step is to be done as root whatever it finds.
func sudoAlways(s steps.Step) bool {
	switch s := s.(type) {
	case *steps.Run:
		return s.Sudo != steps.SudoNever
	case *steps.Remove:
		return s.Sudo == steps.SudoAlways
	case *steps.Symlink:
		return s.Sudo == steps.SudoAlways
	case *steps.TerminateProcess:
		return s.Sudo == steps.SudoAlways
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

// errUnsupported is behind the failure of a step that no interpreter of this version
// can do.
var errUnsupported = errors.New("not supported yet")

func unsupportedError(reason string) error { return fmt.Errorf("%w: %s", errUnsupported, reason) }

// unsupported lists the steps that no interpreter of this version can do, those
// for another system left out.
func (m *machine) unsupported(job Job) []Refusal {
	var out []Refusal
	n := 0
	for block := range job.blocks() {
		for i, s := range block.Steps {
			n++
			if job.unlinks(block.Phase) || job.skip[n] {
				continue
			}
			reason, not := steps.Unsupported(s.Type())
			if !not || !m.meantForHere(s) {
				continue
			}
			err := job.stepError(block, i, n, unsupportedError(reason))
			out = append(out, Refusal{Step: n, Place: err.Place, Rule: "unsupported", Reason: err.Error(), err: err})
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
