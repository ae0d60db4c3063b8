package jail

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Guarantee is one thing that the jail keeps, by a mechanism that depends on
// the machine and the policy.
type Guarantee struct {
	Name    string `json:"name"`
	Promise string `json:"promise"`
	// Waivable says that a user may accept to miss it, see [Policy.Gaps].
	Waivable bool `json:"waivable"`
	// Optional says that a machine that cannot keep it is not refused for that,
	// unless the policy requires it, see [Policy.Require].
	Optional bool `json:"optional"`
}

var guarantees = []Guarantee{
	{"writes", "changes no content, name or tree outside the writable paths", false, false},
	{"reads", "reads and lists only granted paths", false, false},
	{"exec", "executes only granted files", false, false},
	{"network", "reaches no network beyond the grant", false, false},
	{"unix-sockets", "talks to no service by Unix sockets", false, false},
	{"signals", "signals no process outside", true, false},
	{"processes", "traces, inspects and limits no process outside", false, false},
	{"ipc", "shares no System V or POSIX message queue, semaphore or memory", true, false},
	{"set-id", "makes no set-user-id or set-group-id file", false, false},
	{"attributes", "sets no extended attributes or file flags", false, false},
	{"devices", "makes no device node and controls no device", false, false},
	{"kernel", "uses no namespaces, mounts, keyrings, io_uring, bpf or tracing", false, false},
	{"privileges", "holds no capability and gains none", false, false},
	{"environment", "sees only the given environment", false, false},
	{"descriptors", "inherits only standard input, output and error", false, false},
	{"terminal", "has no terminal", false, false},
	{"tree-kill", "leaves no process behind", false, false},
	{"metadata", "changes no mode, owner or time outside the writable paths", true, true},
	{"names", "learns no name, size or mode outside the granted paths", true, true},
}

// Guarantees returns the whole vocabulary, in the order of reports.
func Guarantees() []Guarantee { return slices.Clone(guarantees) }

func findGuarantee(name string) (Guarantee, bool) {
	i := slices.IndexFunc(guarantees, func(g Guarantee) bool { return g.Name == name })
	if i < 0 {
		return Guarantee{}, false
	}
	return guarantees[i], true
}

// Judge says by which mechanism this machine would keep each guarantee for p:
// the name of the mechanism, "accepted gap" where p gives the guarantee up, or
// "none" for an optional one that nothing keeps here. The error lists every
// guarantee that p needs and the machine cannot keep; [Run] refuses for the
// same reasons.
func (s Support) Judge(p Policy) (map[string]string, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	kept := make(map[string]string, len(guarantees))
	var missing, why []string
	waivable := true
	for _, g := range guarantees {
		by, reason := keptBy(g.Name, s, p)
		required := slices.Contains(p.Require, g.Name)
		switch {
		case by != "":
			kept[g.Name] = by
		case slices.Contains(p.Gaps, g.Name):
			kept[g.Name] = "accepted gap"
		case g.Optional && !required:
			kept[g.Name] = "none"
		default:
			kept[g.Name] = "none"
			missing = append(missing, g.Name)
			waivable = waivable && g.Waivable && !required
			if reason != "" && !slices.Contains(why, reason) {
				why = append(why, reason)
			}
		}
	}
	if len(missing) == 0 {
		return kept, nil
	}
	what := "this machine cannot keep: " + strings.Join(missing, ", ")
	if why = append(why, s.Missing...); len(why) > 0 {
		what += " (" + strings.Join(why, "; ") + ")"
	}
	if waivable {
		what += "; accept each as a gap to run all the same"
	}
	return kept, fmt.Errorf("jail refused: %w", errors.New(what))
}
