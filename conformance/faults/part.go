package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
)

// partArg is the first argument of a process in which a fault is real.
const partArg = "conformance-faults-part"

// IsPart reports whether this process was started by the suite, to have limits and
// mounts of its own, and so must call [Part] and nothing else.
func IsPart() bool { return len(os.Args) == 4 && os.Args[1] == partArg }

// Part runs the real fault that the arguments name in the directory that they name,
// and returns the exit status.
func Part() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, f := range realFaults() {
		if f.name != os.Args[2] {
			continue
		}
		r := Result{Name: f.name}
		if err := f.do(ctx, os.Args[3], &r); err != nil {
			r.Points++
			r.problem("%v", err)
		}
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			return 1
		}
		return 0
	}
	fmt.Fprintf(os.Stderr, "no fault %q\n", os.Args[2])
	return 1
}

// realFault is one that the kernel makes.
type realFault struct {
	name string
	// mounts: it needs a mount namespace of its own.
	mounts bool
	do     func(ctx context.Context, dir string, r *Result) error
}
