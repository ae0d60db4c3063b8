package interp

import (
	"errors"

	"steps.example/steps"
)

// errPlanned is what a planned command "returns": nothing is known about it.
var errPlanned = errors.New("planned, not run")

// planner is the effects of a plan: everything is noted, nothing happens.
type planner struct {
	host Host
	plan *Plan
	// marks are the steps that need root, and why; nil where all are refused.
	marks map[int]string
}

func (p *planner) run(m *machine, r *Run) ([]byte, error) {
	if err := p.host.Settle(r); err != nil {
		return nil, &NeedError{What: "running " + r.Command, Lack: err.Error()}
	}
	p.plan.Actions = append(p.plan.Actions, Action{Run: r})
	return nil, errPlanned
}

func (p *planner) terminate(m *machine, t *steps.TerminateProcess) error {
	lacking := m.need("terminate", "ending another process")
	if t.Sudo == steps.SudoAlways {
		lacking = errors.Join(lacking, m.needRoot("ending a process with sudo"))
	}
	if lacking != nil {
		return lacking
	}
	p.plan.Actions = append(p.plan.Actions, Action{Terminate: terminateOf(m, t)})
	return nil
}

func (p *planner) owner(user, group string) (int, int, error) { return p.host.Owner(user, group) }
func (p *planner) systemCommand(file string) bool             { return p.host.SystemCommand(file) }
func (p *planner) root() bool                                 { return p.host.Root() }

func (p *planner) elevate(m *machine, why string) bool {
	if p.marks == nil {
		return false
	}
	if p.marks[m.step] == "" {
		p.marks[m.step] = why
	}
	return true
}

func (p *planner) inGroup(gid int) bool { return p.host.InGroup(gid) }

func terminateOf(m *machine, t *steps.TerminateProcess) *Terminate {
	return &Terminate{Step: m.step, Name: m.expand(t.Name), Full: t.Match == "full"}
}
