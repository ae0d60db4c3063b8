package conformance

import (
	"os"
	"testing"

	"steps.example/interp/jail"
)

func TestMain(m *testing.M) {
	if jail.IsHelper() {
		jail.Main()
		return
	}
	os.Exit(m.Run())
}
