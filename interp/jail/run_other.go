//go:build !linux && !darwin

package jail

import (
	"context"
	"fmt"
	"os"
	"runtime"
)

func run(_ context.Context, _ string, p Policy, _ Command, s Support) (*Result, error) {
	if _, err := s.Judge(p); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("jail refused: no jail on %s yet: run steps are refused", runtime.GOOS)
}

// Main ends the process: there is no helper on this system.
func Main() {
	fmt.Fprintf(os.Stderr, "steps-jail: no jail on %s yet\n", runtime.GOOS)
	os.Exit(2)
}

func keptBy(string, Support, Policy) (by, why string) { return "", "" }

func canary(context.Context, string) (CanaryReport, error) {
	return CanaryReport{}, fmt.Errorf("jail refused: no jail on %s yet: run steps are refused", runtime.GOOS)
}
