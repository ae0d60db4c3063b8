package interp

import (
	"fmt"
	"iter"

	"steps.example/steps"
)

// blocks gives the document's blocks in the order of the job's phases.
func (j Job) blocks() iter.Seq[steps.Block] {
	return func(yield func(steps.Block) bool) {
		for _, phase := range j.Phases {
			for _, b := range j.Document.Blocks {
				if b.Phase == phase && !yield(b) {
					return
				}
			}
		}
	}
}

// Place is where a step stands in its document, as everybody is told who reads of it.
// Beside it steps have a running number, over all the phases of a job.
type Place struct {
	Phase steps.Phase `json:"phase,omitempty"`
	// Number counts from 1 within the phase.
	Number int `json:"number,omitempty"`
}

func (p Place) String() string { return fmt.Sprintf("%s step %d", p.Phase, p.Number) }

// beside is the place in a sentence that has another one already.
func (p Place) beside(other Place) string {
	if p.Phase == other.Phase {
		return fmt.Sprintf("step %d", p.Number)
	}
	return p.String()
}

// step is the step with a running number, from 1.
func (j Job) step(n int) steps.Step {
	for block := range j.blocks() {
		if n <= len(block.Steps) {
			return block.Steps[n-1]
		}
		n -= len(block.Steps)
	}
	return nil
}

// Place is where the step with a running number, from 1, stands; the zero Place if
// there is none.
func (j Job) Place(step int) Place { return placeIn([]Job{j}, step) }

// placeIn is [Job.Place] where steps are numbered over several jobs.
func placeIn(jobs []Job, step int) Place {
	for _, j := range jobs {
		for block := range j.blocks() {
			if step <= len(block.Steps) {
				return Place{block.Phase, step}
			}
			step -= len(block.Steps)
		}
	}
	return Place{}
}

// unlinks reports whether a phase is interpreted as its removal.
func (j Job) unlinks(p steps.Phase) bool {
	switch p {
	case steps.PhasePreRemove, steps.PhasePostRemove, steps.PhaseUninstallPreflight, steps.PhaseUninstallPostflight:
		return false
	}
	return j.Removal
}

// interpret does the job's steps in order. After a failed step it asks tolerate
// whether to go on.
func (m *machine) interpret(job Job, tolerate func(*StepError) bool) error {
	first := m.step
	m.own, m.defers, m.again = job.own, job.defers, job.rebuilds
	for block := range job.blocks() {
		m.guards = map[steps.Guard]bool{}
		for i, s := range block.Steps {
			if err := m.ctx.Err(); err != nil {
				return err
			}
			m.step++
			m.here = Place{block.Phase, i + 1}
			m.view.SetStep(m.step)
			if job.skip[m.step-first] {
				m.outcomes = append(m.outcomes, Outcome{Step: m.step, Place: m.here, Type: s.Type(), Result: "failed"})
				continue
			}
			outcome, err := m.one(s, job.unlinks(block.Phase))
			m.outcomes = append(m.outcomes, Outcome{Step: m.step, Place: m.here, Type: s.Type(), Result: outcome})
			if err == nil {
				continue
			}
			failed := job.stepError(block, i, m.step-first, err)
			if !tolerate(failed) {
				return failed
			}
		}
	}
	return nil
}

// Outcome is what became of one step.
type Outcome struct {
	Step int `json:"step"`
	Place
	Type steps.Type `json:"type"`
	// Result is "done", "skipped" (a guard does not hold, or the step has no
	// part in this phase) or "failed".
	Result string `json:"result"`
}

func (m *machine) one(s steps.Step, unlinks bool) (string, error) {
	holds := true
	var err error
	if unlinks {
		m.rebuildAgain(s)
		link, ok := s.(*steps.Symlink)
		if holds = ok && link.Uninstall; holds {
			err = m.unlink(link)
		}
	} else {
		holds, err = m.do(s)
	}
	switch {
	case err != nil:
		return "failed", err
	case holds:
		return "done", nil
	}
	return "skipped", nil
}

func (j Job) stepError(b steps.Block, i, n int, err error) *StepError {
	e := &StepError{Place: Place{b.Phase, i + 1}, Step: n, Type: b.Steps[i].Type(), Replaced: j.replaced, Err: err}
	if i < len(b.Pos) {
		e.Pos = b.Pos[i]
	}
	return e
}
