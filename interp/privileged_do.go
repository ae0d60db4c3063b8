package interp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"steps.example/interp/changeset"
	"steps.example/interp/commit"
	"steps.example/interp/internal/fsroot"
	"steps.example/steps"
)

// PrivilegedTarget is the target by which steps that need root are interpreted, on
// both sides: what they make is never writable for others, and no choices of the user
// about what belongs to others count.
func PrivilegedTarget(t Target) Target {
	t.Umask |= 0o022
	t.Replace, t.Adopt, t.Keep = nil, nil, nil
	return t
}

// forCaller is a host where the user of a step is the caller, and what needs root can
// be done.
type forCaller struct {
	Host
	caller Caller
}

func (h forCaller) Root() bool       { return true }
func (h forCaller) InGroup(int) bool { return true }

func (h forCaller) Owner(user, group string) (int, int, error) {
	uid, gid, err := h.Host.Owner(user, group)
	if user == "" {
		uid = h.caller.UID
	}
	if group == "" && gid == os.Getegid() {
		gid = h.caller.GID
	}
	return uid, gid, err
}

// Errand is what a broker is to do, and for whom.
type Errand struct {
	Job    Job
	Caller Caller
	// Steps are those asked for, in the order of the document.
	Steps []int
	// Within are the directories, physical, that may be changed at all.
	Within []string
	Store  *commit.Store
	Host   Host
}

// Elevated is a broker's transaction. After an error of one of its methods everything
// was taken back.
type Elevated struct {
	errand Errand // its job and host as they are interpreted
	env    *environment
	set    *fsroot.Set
	tx     *commit.Tx
	steps  map[int]steps.Step
	ledger *ledger
	// next is the index of the step that is to be done next.
	next   int
	digest string
}

// Elevate interprets the steps of an errand, and opens a transaction for them if each
// is one that a broker does and may do. Nothing is changed yet.
func Elevate(ctx context.Context, e Errand) (_ *Elevated, err error) {
	e.Job.Target = PrivilegedTarget(e.Job.Target)
	e.Host = forCaller{e.Host, e.Caller}
	p := &Elevated{errand: e, steps: map[int]steps.Step{}}
	n := 0
	for block := range e.Job.blocks() {
		for _, s := range block.Steps {
			n++
			p.steps[n] = s
		}
	}
	if len(e.Steps) == 0 || !slices.IsSorted(e.Steps) || len(slices.Compact(slices.Clone(e.Steps))) != len(e.Steps) {
		return nil, errors.New("the steps asked for are not in the order of the document")
	}
	for _, step := range e.Steps {
		s, ok := p.steps[step]
		if !ok {
			return nil, fmt.Errorf("step %d: the document has %d steps in these phases", step, n)
		}
		if !slices.Contains(brokered, s.Type()) {
			return nil, fmt.Errorf("%s (%s): no broker does steps of this type", e.Job.Place(step), s.Type())
		}
	}
	if p.env, err = newEnvironment(e.Job.Target); err != nil {
		return nil, err
	}
	if p.set, err = fsroot.New(p.env.roots()); err != nil {
		return nil, err
	}
	for _, r := range p.set.Roots() {
		if !p.allowed(r.Path) {
			p.set.Close()
			return nil, fmt.Errorf("%s is outside the directories that the broker's configuration allows", changeset.Printable(r.Path))
		}
	}
	if p.tx, err = e.Store.Begin(p.set, commit.Options{Done: ctx.Done(), For: "broker"}); err != nil {
		p.set.Close()
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Abort())
		}
	}()
	if p.ledger, err = newLedger(e.Store); err != nil {
		return nil, err
	}
	p.env.claims.ledger = p.ledger
	cs, err := inTurn(ctx, p.env, e.Job, e.Host, p.set, only(e.Steps))
	if err != nil {
		return nil, err
	}
	if err := p.judge(cs); err != nil {
		return nil, err
	}
	p.digest = cs.Digest()
	return p, nil
}

// Digest is of what all the steps together would change.
func (p *Elevated) Digest() string { return p.digest }

// ID is the transaction's, and later its receipt's.
func (p *Elevated) ID() string { return p.tx.ID() }

// Do does one step, which must be the next of those asked for, on the tree as it is
// now.
func (p *Elevated) Do(ctx context.Context, step int) error {
	err := p.do(ctx, step)
	if err != nil {
		err = errors.Join(err, p.Abort())
	}
	return err
}

func (p *Elevated) do(ctx context.Context, step int) error {
	if p.next >= len(p.errand.Steps) || p.errand.Steps[p.next] != step {
		return fmt.Errorf("step %d is not the next of those that were asked for", step)
	}
	p.next++
	p.set.Forget("/")
	cs, err := inTurn(ctx, p.env, p.errand.Job, p.errand.Host, p.set, only([]int{step}))
	if err != nil || cs.Empty() {
		return err
	}
	if err := p.judge(cs); err != nil {
		return err
	}
	if !p.needed(p.steps[step], cs) {
		return fmt.Errorf("%s (%s) does not need root: uid %d can do it", p.errand.Job.Place(step), p.steps[step].Type(), p.errand.Caller.UID)
	}
	if err := p.tx.Apply(cs); err != nil {
		return err
	}
	p.ledger.note(cs)
	return nil
}

// needed reports whether a step is one for root.
func (p *Elevated) needed(s steps.Step, cs *changeset.Changeset) bool {
	switch s := s.(type) {
	case *steps.Remove:
		if s.Sudo == steps.SudoAlways {
			return true
		}
	case *steps.Symlink:
		if s.Sudo == steps.SudoAlways {
			return true
		}
	}
	c := p.errand.Caller
	return slices.ContainsFunc(cs.Changes, func(ch changeset.Change) bool { return c.gives(&ch) || c.lacks(&ch) != "" })
}

func (p *Elevated) allowed(path string) bool {
	return slices.ContainsFunc(p.errand.Within, func(dir string) bool { return changeset.Within(path, dir) })
}

// judge holds changes to the rules for every change, and to those of a broker.
func (p *Elevated) judge(cs *changeset.Changeset) error {
	found := changeset.Judge(cs, p.env.rules(p.set.Roots()))
	var more []Refusal
	conflicting := map[string]bool{}
	for i := range cs.Changes {
		c := &cs.Changes[i]
		refuse := func(rule, why string) {
			more = append(more, Refusal{Path: c.Path, Rule: rule, Reason: changeset.Printable(c.Path) + ": " + why})
		}
		if !p.allowed(c.Path) || slices.Contains(p.errand.Within, c.Path) {
			refuse("outside", "is outside the directories that the broker's configuration allows")
		}
		// A file with another name may be anybody's: what is done to it, or shown of
		// it, would be done to the file at a place that the caller chose.
		if c.KeepsObject() && c.Before.Kind == changeset.File && c.Stamp != nil && c.Stamp.Nlink > 1 {
			refuse("links", "has other names")
		}
		if c.Content != nil && c.Content.Origin != nil && c.Content.Origin.Stamp.Nlink > 1 {
			refuse("links", "would be a copy of a file that has other names")
		}
		if c.Before != nil && c.Before.UID == p.errand.Caller.UID {
			conflicting[c.Path] = true // his own, to give
		}
	}
	for _, r := range p.env.claims.conflicts(cs, func(int) bool { return false }, p.errand.Job.Place) {
		if !conflicting[r.Path] {
			more = append(more, r)
		}
	}
	return refusedBy(p.errand.Job.Place, found, more...)
}

// Commit makes all of it final, once every step is done. r says what else its receipt
// tells.
func (p *Elevated) Commit(r *commit.Receipt) error {
	defer p.set.Close()
	if p.next != len(p.errand.Steps) {
		return errors.Join(fmt.Errorf("%d of %d steps were done", p.next, len(p.errand.Steps)), p.tx.Rollback())
	}
	t := p.errand.Job.Target
	r.Package, r.Layout = commit.Package{Name: t.Name, Version: t.Version}, t.Layout
	_, err := p.tx.Commit(r)
	return err
}

// Abort takes everything back.
func (p *Elevated) Abort() error {
	defer p.set.Close()
	return p.tx.Rollback()
}
