package race_test

import (
	"os"
	"testing"

	"steps.example/conformance/race"
	"steps.example/interp/jail"
)

// The test binary is also the attacker, and the jail's helper.
func TestMain(m *testing.M) {
	if jail.IsHelper() {
		jail.Main()
		return
	}
	if race.IsPart() {
		os.Exit(race.Part())
	}
	os.Exit(m.Run())
}
