package jail

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

// partArg is the first argument of a process that is a part of the suite.
const partArg = "conformance-jail-part"

// asked is set once this program has asked whether it is a part, which makes it
// fit to be started as one.
var asked atomic.Bool

// IsPart reports whether this process was started by the suite, as the attacker
// or as one who stands around the jail, and so must call [Part] and nothing
// else. Only the arguments decide; whoever sets them runs an attack with the
// rights that it has anyway.
func IsPart() bool {
	asked.Store(true)
	return len(os.Args) == 4 && os.Args[1] == partArg
}

// Part plays the part that the arguments name and returns the exit status.
func Part() int {
	if err := playPart(os.Args[2], os.Args[3]); err != nil {
		return endPart(err)
	}
	return 0
}

// partArgs are the arguments that start this program as a part.
func partArgs(role, data string) []string { return []string{partArg, role, data} }

var errNotAsked = errors.New("this program cannot be a part of the suite; it does not call IsPart first thing in main")

// An outcome ends an attempt that failed without an error number, in a word or
// two.
type outcome string

func (o outcome) Error() string { return string(o) }

// endPart tells how an attempt failed: the first line of the output is the
// outcome.
func endPart(err error) int {
	var o outcome
	switch name := errnoName(err); {
	case name != "":
		fmt.Println(name)
	case errors.As(err, &o):
		fmt.Println(o)
	default:
		fmt.Println("error")
	}
	fmt.Println(err)
	return 1
}
