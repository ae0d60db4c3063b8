package interp

import (
	"fmt"
	"time"

	"steps.example/steps"
)

// retryPause is how long to wait before asking again whether a process is there.
const retryPause = time.Second

// terminate ends processes as the step asks. No such process counts as a failed
// attempt; a failure is a warning unless the step must succeed.
func terminate(m *machine, host Host, s *steps.TerminateProcess) error {
	t := terminateOf(m, s)
	for _, n := range s.Notices {
		m.warnings = append(m.warnings, Warning{Step: m.step, Place: m.here, Text: m.expand(n)})
	}
	attempts := max(s.Attempts, 1)
	for i := range attempts {
		found, err := host.Terminate(m.ctx, t)
		if err != nil {
			return err
		}
		if found {
			return nil
		}
		if i+1 < attempts {
			select {
			case <-time.After(retryPause):
			case <-m.ctx.Done():
				return m.ctx.Err()
			}
		}
	}
	if s.MustSucceed {
		return fmt.Errorf("no process matches %q", t.Name)
	}
	if s.FailureMessage != "" {
		m.warnings = append(m.warnings, Warning{Step: m.step, Place: m.here, Text: m.expand(s.FailureMessage)})
	}
	return nil
}
