package jail_test

import (
	"os"
	"testing"

	suite "steps.example/conformance/jail"
	"steps.example/interp/jail"
)

// The test binary is also the jail's helper and every part of the suite.
func TestMain(m *testing.M) {
	if jail.IsHelper() {
		jail.Main()
		return
	}
	if suite.IsPart() {
		os.Exit(suite.Part())
	}
	os.Exit(m.Run())
}
