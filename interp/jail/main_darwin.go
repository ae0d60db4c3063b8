package jail

import (
	"os"

	"steps.example/interp/jail/internal/cage"
	"steps.example/interp/jail/internal/wire"
)

// confining says that this process is the helper on its second start, inside
// the sandbox, with nothing left to do but to become the command.
var confining bool

// sandbox-exec calls what it starts by its path, so only the one argument can
// tell that this is a helper. It is made to look like the first start, which
// [IsHelper] knows, before main can ask.
func init() {
	if len(os.Args) == 2 && os.Args[1] == cage.ConfineArg {
		confining = true
		os.Args = []string{wire.Arg0, wire.Arg1}
	}
}

// Main is the helper: it runs the command that the caller of [Run] ordered and
// ends the process. It is for programs for which [IsHelper] is true.
func Main() {
	if confining {
		os.Exit(cage.Confine())
	}
	os.Exit(cage.Main())
}
