package jail

import (
	"os"

	"steps.example/interp/jail/internal/cage"
)

// Main is the helper: it runs the command that the caller of [Run] ordered and
// ends the process. It is for programs for which [IsHelper] is true.
func Main() { os.Exit(cage.Main()) }
