package jail

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A guarantee is one thing that the jail keeps, by a mechanism that depends on
// the machine and the policy.
type guarantee struct {
	name     string
	promise  string
	waivable bool // a user may accept to miss it
	wanted   bool // its absence is a refusal unless accepted
	// by names the mechanism, or is empty when nothing keeps the guarantee.
	by func(Support, Policy) string
}

// guarantees is the whole vocabulary, in the order of reports.
var guarantees = []guarantee{
	{"writes", "changes no content, name or tree outside the writable paths", false, true, byLandlock},
	{"reads", "reads and lists only granted paths", false, true, byLandlock},
	{"exec", "executes only granted files", false, true, byLandlock},
	{"network", "reaches no network beyond the grant", false, true, bySeccomp},
	{"unix-sockets", "talks to no service by Unix sockets", false, true, bySeccomp},
	{"signals", "signals no process outside", true, true, func(s Support, _ Policy) string {
		if s.Landlock >= scopeABI {
			return "landlock scope"
		}
		return ""
	}},
	{"processes", "traces, inspects and limits no process outside", false, true, bySeccomp},
	{"ipc", "shares no System V or POSIX message queue, semaphore or memory", true, true, func(s Support, p Policy) string {
		if slices.Contains(p.Gaps, "ipc") {
			return ""
		}
		return bySeccomp(s, p)
	}},
	{"set-id", "makes no set-user-id or set-group-id file", false, true, bySeccomp},
	{"attributes", "sets no extended attributes or file flags", false, true, bySeccomp},
	{"devices", "makes no device node and controls no device", false, true, bySeccomp},
	{"kernel", "uses no namespaces, mounts, keyrings, io_uring, bpf or tracing", false, true, bySeccomp},
	{"privileges", "holds no capability and gains none", false, true, byHelper},
	{"environment", "sees only the given environment", false, true, byHelper},
	{"descriptors", "inherits only standard input, output and error", false, true, byHelper},
	{"terminal", "has no terminal", false, true, byHelper},
	{"tree-kill", "leaves no process behind", false, true, func(s Support, _ Policy) string {
		if s.Landlock >= scopeABI {
			return "subreaper and kill within the landlock scope"
		}
		if s.Proc {
			return "subreaper and /proc"
		}
		return ""
	}},
	{"metadata", "changes no mode, owner or time outside the writable paths", false, false, byNothing},
	{"names", "learns no name, size or mode outside the granted paths", false, false, byNothing},
}

func byLandlock(s Support, _ Policy) string {
	if s.Landlock < minABI {
		return ""
	}
	return fmt.Sprintf("landlock abi %d", s.Landlock)
}

func bySeccomp(s Support, _ Policy) string {
	if !s.Seccomp {
		return ""
	}
	return "seccomp"
}

func byHelper(s Support, _ Policy) string {
	if s.Landlock < minABI {
		return ""
	}
	return "helper"
}

func byNothing(Support, Policy) string { return "" }

func findGuarantee(name string) (guarantee, bool) {
	i := slices.IndexFunc(guarantees, func(g guarantee) bool { return g.name == name })
	if i < 0 {
		return guarantee{}, false
	}
	return guarantees[i], true
}

// Judge says by which mechanism this machine would keep each guarantee for p:
// the name of the mechanism, "accepted gap" where p gives the guarantee up, or
// "none" for those that this jail does not keep on any machine yet. The error
// lists every guarantee that p needs and the machine cannot keep; [Run] refuses
// for the same reasons.
func (s Support) Judge(p Policy) (map[string]string, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	kept := make(map[string]string, len(guarantees))
	var missing []string
	waivable := true
	for _, g := range guarantees {
		by := g.by(s, p)
		switch {
		case by != "":
			kept[g.name] = by
		case slices.Contains(p.Gaps, g.name):
			kept[g.name] = "accepted gap"
		case !g.wanted:
			kept[g.name] = "none"
		default:
			kept[g.name] = "none"
			missing = append(missing, g.name)
			waivable = waivable && g.waivable
		}
	}
	if len(missing) == 0 {
		return kept, nil
	}
	what := "this machine cannot keep: " + strings.Join(missing, ", ")
	if len(s.Missing) > 0 {
		what += " (" + strings.Join(s.Missing, "; ") + ")"
	}
	if waivable {
		what += "; accept each as a gap to run all the same"
	}
	return kept, fmt.Errorf("jail refused: %w", errors.New(what))
}
