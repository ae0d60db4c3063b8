package faults_test

import (
	"os"
	"testing"

	"steps.example/conformance/faults"
	"steps.example/interp/jail"
)

// The test binary is also the process in which faults are real, and the jail's helper.
func TestMain(m *testing.M) {
	if jail.IsHelper() {
		jail.Main()
		return
	}
	if faults.IsPart() {
		os.Exit(faults.Part())
	}
	os.Exit(m.Run())
}
