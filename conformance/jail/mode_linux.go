package jail

import (
	"errors"
	"fmt"

	"steps.example/interp/jail"
)

// checkMode says what is wrong with the site's mode on this machine.
func (s *site) checkMode() error {
	if _, err := s.support.Judge(jail.Policy{Reads: []string{"/usr"}, Dir: "/usr"}); err != nil {
		return fmt.Errorf("there is no jail to try here: %w", err)
	}
	switch s.mode {
	case "", ModeAuto:
	case ModeLandlock:
		if s.support.Namespaces {
			return errors.New("BUG(steps): namespaces work although they were to be forbidden")
		}
	case ModeNamespaces:
		if !s.support.Namespaces {
			return errors.New("there are no namespaces to try here: they are switched off or forbidden to this process")
		}
	default:
		return fmt.Errorf("mode %q: must be %s, %s or %s", s.mode, ModeAuto, ModeNamespaces, ModeLandlock)
	}
	return nil
}

// needsNamespaces skips a case that makes a user namespace around the jail
// where that cannot be.
func (s *site) needsNamespaces(r *Result) bool {
	if !s.support.Namespaces {
		r.skip("user namespaces are switched off or forbidden to this process")
		return true
	}
	return false
}
