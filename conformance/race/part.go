package race

import (
	"fmt"
	"os"
)

// partArg is the first argument of a process that is the attacker.
const partArg = "conformance-race-part"

// IsPart reports whether this process was started by the suite as its attacker, and
// so must call [Part] and nothing else. Only the arguments decide; whoever sets them
// attacks with the rights that it has anyway.
func IsPart() bool { return len(os.Args) == 3 && os.Args[1] == partArg }

// Part attacks until its standard input ends, and returns the exit status.
func Part() int {
	if err := playAttacker(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
