package interp_test

import (
	"testing"

	"steps.example/interp"
)

// needJail skips where no command can be jailed, and says what is missing.
func needJail(t *testing.T) {
	t.Helper()
	if err := (interp.Machine{}).CanRun(nil); err != nil {
		t.Skipf("this machine cannot jail commands: %v", err)
	}
}
