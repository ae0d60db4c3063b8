package interp

import (
	"context"
	"fmt"
	"slices"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// inTurn interprets parts of a job, each the steps that it leaves, one after the other
// on what the one before left. The changes have the steps' own numbers.
func inTurn(ctx context.Context, env *environment, job Job, host Host, set *fsroot.Set, parts []func(step int) bool) (*changeset.Changeset, error) {
	m := &machine{environment: env, ctx: ctx, effects: &planner{host: host, plan: &Plan{}, marks: map[int]string{}}}
	var err error
	if m.view, err = m.planned(set, host); err != nil {
		return nil, err
	}
	total := 0
	for block := range job.blocks() {
		total += len(block.Steps)
	}
	for _, part := range parts {
		job.skip = map[int]bool{}
		for n := 1; n <= total; n++ {
			job.skip[n] = !part(n)
		}
		m.step = 0
		if err := m.interpret(job, func(*StepError) bool { return false }); err != nil {
			return nil, err
		}
	}
	return m.settle()
}

// only are the parts of a job that are one step each.
func only(list []int) []func(int) bool {
	var out []func(int) bool
	for _, step := range list {
		out = append(out, func(n int) bool { return n == step })
	}
	return out
}

// numbers are the steps, in their order.
func numbers(list []Privileged) []int {
	out := make([]int, 0, len(list))
	for _, p := range list {
		out = append(out, p.Step)
	}
	return out
}

// checkOrder refuses a plan whose privileged steps cannot be done after all others: if
// a later step needs one, or if that cannot be known since commands run.
func (p *Plan) checkOrder(ctx context.Context, env *environment, job Job, host Host, set *fsroot.Set) error {
	list := numbers(p.Privileged)
	rest := func(n int) bool { return !slices.Contains(list, n) }
	refuse := func(needs, needed int, why string) {
		first := job.Place(needs)
		second := job.Place(needed).beside(first)
		p.Refused = append(p.Refused, Refusal{Step: needs, Place: first, Rule: "need", err: errPrivilege, Reason: fmt.Sprintf(
			"%s comes after %s, which needs root, %s: what needs root is done last; move %s behind it, or do it all as root", first, second, why, second)})
	}
	if p.runs() {
		for _, o := range p.Outcomes {
			if o.Step > list[0] && rest(o.Step) && o.Type != "warn" && o.Result == "done" {
				refuse(o.Step, list[0], "and what commands do in between cannot be foreseen")
				break
			}
		}
		return nil
	}
	last, err := inTurn(ctx, env, job, host, set, append([]func(int) bool{rest}, only(list)...))
	if step, ok := err.(*StepError); ok {
		needs, needed := step.Step, list[0]
		for _, n := range list {
			if n <= step.Step {
				needed = n
			}
		}
		if needs == needed { // what came before it now is in its way
			for needs++; !rest(needs); {
				needs++
			}
		}
		refuse(needs, needed, fmt.Sprintf("and %s fails in the other order (%v)", step.Place.beside(job.Place(needs)), step.Err))
		return nil
	}
	if err != nil {
		return err
	}
	if path, by := differ(p.Changes, last); path != "" {
		privileged, other := list[0], list[0]
		for _, n := range by {
			if rest(n) {
				other = n
			} else {
				privileged = n
			}
		}
		refuse(other, privileged, "and "+changeset.Printable(path)+" would not be the same if it came before")
	}
	return nil
}

// differ gives a path that two changesets leave different, and the steps that had a
// part in it.
func differ(a, b *changeset.Changeset) (path string, by []int) {
	index := map[string]changeset.Change{}
	for _, c := range b.Changes {
		index[c.Path] = c
	}
	for _, c := range a.Changes {
		other, ok := index[c.Path]
		delete(index, c.Path)
		if !ok || effect(c) != effect(other) {
			return c.Path, append(slices.Clone(c.Steps), other.Steps...)
		}
	}
	for _, c := range b.Changes {
		if _, only := index[c.Path]; only {
			return c.Path, c.Steps
		}
	}
	return "", nil
}

// effect identifies what a change does, whichever steps did it.
func effect(c changeset.Change) string {
	c.Steps = nil
	return (&changeset.Changeset{Changes: []changeset.Change{c}}).Digest()
}
