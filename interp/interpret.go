package interp

import (
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
			m.view.SetStep(m.step)
			if job.skip[m.step-first] {
				m.outcomes = append(m.outcomes, Outcome{Step: m.step, Phase: block.Phase, Type: s.Type(), Result: "failed"})
				continue
			}
			outcome, err := m.one(s, job.unlinks(block.Phase))
			m.outcomes = append(m.outcomes, Outcome{Step: m.step, Phase: block.Phase, Type: s.Type(), Result: outcome})
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
	Step  int         `json:"step"`
	Phase steps.Phase `json:"phase"`
	Type  steps.Type  `json:"type"`
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
	e := &StepError{Phase: b.Phase, Step: n, Type: b.Steps[i].Type(), Replaced: j.replaced, Err: err}
	if i < len(b.Pos) {
		e.Pos = b.Pos[i]
	}
	return e
}
