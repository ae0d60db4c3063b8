package crash

import (
	"errors"
	"fmt"

	"steps.example/interp/commit"
)

// machine is what a store runs on: it stops at a point, which is before or after a
// call that changes a file system.
type machine struct {
	// stopAt is the number of the point to stop at, from 0; -1 for none.
	stopAt int
	// disk is nil where what was done stays.
	disk *disk
	// swallow tells which syncs are not done; nil for none.
	swallow func(commit.Call) bool

	points  int
	fresh   []bool // for each point: something changed since the one before
	changed bool
	stopped bool
	last    string
	err     error
}

// errStop is the outcome of every call once the machine has stopped: nothing changes any
// more. The process goes on all the same, which is how it closes what it has open.
var errStop = errors.New("stopped here")

// start begins to count anew.
func (m *machine) start(stopAt int) {
	m.stopAt, m.points, m.fresh, m.changed, m.stopped, m.last = stopAt, 0, nil, true, false, ""
}

// call is for [commit.Store.Intercept].
func (m *machine) call(c commit.Call) error {
	if m.stopped {
		return errStop
	}
	if c.After {
		if m.disk != nil {
			m.disk.after()
		}
		m.changed = true
		m.point(c)
		return nil
	}
	if m.point(c); m.stopped {
		return errStop
	}
	instead, err := m.instead(c)
	if err != nil {
		m.err = fmt.Errorf("simulate %s %s: %w", c.Op, c.Name, err)
		m.stopped = true
		return errStop
	}
	if !instead {
		return nil
	}
	m.changed, c.After = true, true
	m.point(c)
	return commit.ErrInstead
}

// instead does the call in its place, or prepares for it. Nothing is ever synced for
// real: what a sync would do to the file system below has no bearing on the outcome.
func (m *machine) instead(c commit.Call) (bool, error) {
	sync := c.Op == "sync" || c.Op == "fsync"
	if m.disk == nil || sync && m.swallow != nil && m.swallow(c) {
		return sync, nil
	}
	return m.disk.before(c)
}

func (m *machine) point(c commit.Call) {
	n := m.points
	m.points++
	m.fresh = append(m.fresh, m.changed)
	m.changed = false
	if n == m.stopAt {
		when := "before"
		if c.After {
			when = "after"
		}
		m.last = fmt.Sprintf("%s %s %s", when, c.Op, c.Name)
		m.stopped = true
	}
}

// run calls f, and reports whether the machine stopped.
func (m *machine) run(f func() error) (stopped bool, err error) {
	err = f()
	if m.stopped {
		return m.err == nil, m.err
	}
	return false, err
}
