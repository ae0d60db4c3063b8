package jail

import (
	"os"

	"steps.example/interp/jail/internal/cage"
	"steps.example/interp/jail/internal/probes"
)

// Main is the helper: it runs the command that the caller of [Run] ordered and
// ends the process. It is for programs for which [IsHelper] is true.
func Main() {
	if isCanary() {
		os.Exit(probes.Main(os.Args[2:]))
	}
	os.Exit(cage.Main())
}
