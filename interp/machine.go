package interp

import (
	"context"
	"fmt"
	"time"

	"steps.example/interp/view"
	"steps.example/steps"
)

// machine interprets steps against a view. It touches no disk: what must
// execute goes to the effects it was given.
type machine struct {
	*environment
	ctx     context.Context
	view    *view.View
	effects effects
	// guards holds the answers already given in this block.
	guards map[steps.Guard]bool
	// step is the number, from 1, of the step at work, counted over all blocks
	// of the jobs; here is where it stands.
	step     int
	here     Place
	warnings []Warning
	outcomes []Outcome
	// own, defers and again (its rebuilds) are the job's; triggers are what was put
	// off.
	own           map[string]string
	defers, again bool
	triggers      []Trigger
	settled       settled
}

// effects is what a step may want beside the view.
type effects interface {
	// run executes a command and gives what it printed; the view of m is
	// another one afterwards.
	run(m *machine, r *Run) ([]byte, error)
	terminate(m *machine, t *steps.TerminateProcess) error
	// owner looks up a user and a group by name; "" means the default.
	owner(user, group string) (uid, gid int, err error)
	// systemCommand reports whether file, outside the roots, can be executed.
	systemCommand(file string) bool
	root() bool
	// elevate notes that the step at work is one for a broker, and reports whether
	// that is possible.
	elevate(m *machine, why string) bool
	// inGroup reports whether this process is in a group, and so may give its own
	// files to it.
	inGroup(gid int) bool
}

// Warning is a notice that a step prints.
type Warning struct {
	Step int `json:"step"`
	Place
	Text string `json:"text"`
}

// StepError is a step that failed.
type StepError struct {
	Place
	Step int // the running number in its job
	Type steps.Type
	Pos  steps.Pos
	// Replaced is as in [Refusal].
	Replaced string
	Err      error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("%s%s (%s): %v", removalOf(e.Replaced), e.Place, e.Type, e.Err)
}

// removalOf begins a message about the removal of what an upgrade replaces.
func removalOf(replaced string) string {
	if replaced == "" {
		return ""
	}
	return "the removal of " + replaced + ", which is installed: "
}

func (e *StepError) Unwrap() error { return e.Err }

// regexpTimeout bounds one inreplace.
const regexpTimeout = 10 * time.Second

// do interprets one step if its guards hold, and reports whether they did.
func (m *machine) do(s steps.Step) (bool, error) {
	holds, err := m.guarded(s.StepGuards())
	if err != nil || !holds {
		return false, err
	}
	if m.defers && steps.Describe(s.Type()).Trigger {
		return true, m.putOff(s)
	}
	m.rebuilds(s.Type())
	expanded, composite, err := steps.Expand(s, m.path)
	if err != nil {
		return false, err
	}
	if !composite {
		return true, m.primitive(s)
	}
	for _, p := range expanded {
		holds, err := m.guarded(p.StepGuards())
		if err != nil {
			return false, err
		}
		if !holds {
			continue
		}
		if err := m.primitive(p); err != nil {
			return false, err
		}
	}
	return true, nil
}

// primitive is the whole list of what the interpreter can do.
func (m *machine) primitive(s steps.Step) error {
	switch s := s.(type) {
	case *steps.Mkdir:
		return m.mkdir(s)
	case *steps.MkdirP:
		return m.mkdirP(s)
	case *steps.Touch:
		return m.touch(s)
	case *steps.Write:
		return m.write(s)
	case *steps.Move:
		return m.move(s)
	case *steps.MoveContents:
		return m.moveContents(s.Source, s.Target)
	case *steps.MoveChildren:
		return m.moveContents(s.Source, s.Target)
	case *steps.Copy:
		return m.copy(s)
	case *steps.Remove:
		return m.remove(s)
	case *steps.Inreplace:
		return m.inreplace(s)
	case *steps.Symlink:
		return m.symlink(s)
	case *steps.LinkDir:
		return m.linkDir(s)
	case *steps.LinkChildren:
		return m.linkChildren(s)
	case *steps.SetPermissions:
		return m.setPermissions(s)
	case *steps.SetOwnership:
		return m.setOwnership(s)
	case *steps.Warn:
		m.warnings = append(m.warnings, Warning{Step: m.step, Place: m.here, Text: m.expand(s.Message)})
		return nil
	case *steps.Run:
		return m.run(s)
	case *steps.TerminateProcess:
		return m.effects.terminate(m, s)
	case *steps.InstallGzippedExecutable:
		return m.installGzipped(s)
	}
	reason, _ := steps.Unsupported(s.Type())
	return unsupportedError(reason)
}
