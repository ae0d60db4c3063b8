//go:build !linux

package jail

import (
	"context"
	"fmt"
	"runtime"

	"steps.example/interp/jail"
)

// conduct runs the cases in this process: the careless caller is Linux's.
func conduct(ctx context.Context, opt Options, base string, report func(Result)) error {
	s, err := newSite(base, opt.Mode)
	if err != nil {
		return err
	}
	cases, err := Pick(Cases(), opt.Pick)
	if err != nil {
		return err
	}
	return s.runCases(ctx, cases, report)
}

func (s *site) checkMode() error {
	if s.mode != "" && s.mode != ModeAuto {
		return fmt.Errorf("mode %q: %s has none but %s", s.mode, runtime.GOOS, ModeAuto)
	}
	if _, err := s.support.Judge(jail.Policy{Reads: []string{"/usr"}, Dir: "/usr"}); err != nil {
		return fmt.Errorf("there is no jail to try here: %w", err)
	}
	return nil
}

// systemCases are those of Linux.
func systemCases() []Case { return nil }

func playPart(role, _ string) error { return fmt.Errorf("no part %q on %s", role, runtime.GOOS) }

// errnoName is for parts, of which there are none.
func errnoName(error) string { return "" }
