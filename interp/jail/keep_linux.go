package jail

import (
	"fmt"
	"slices"
	"strings"
)

// Landlock versions that decide something here.
const (
	minABI   = 3 // truncation is controlled, so writes are confined
	portsABI = 4 // TCP is controlled by port
	scopeABI = 6 // signals are confined to the domain
)

// keptBy names the mechanism that keeps a guarantee for p on a machine that
// offers s. Without one it returns "" and, where [Support.Missing] does not
// already say it, why.
func keptBy(name string, s Support, p Policy) (by, why string) {
	switch name {
	case "writes", "reads", "exec":
		if s.Landlock >= minABI {
			return fmt.Sprintf("landlock abi %d", s.Landlock), ""
		}
		return "", ""
	case "network":
		switch {
		case !s.Seccomp:
			return "", ""
		case len(p.Ports) == 0:
			return "seccomp", ""
		case s.Landlock >= portsABI:
			return fmt.Sprintf("seccomp, landlock abi %d", s.Landlock), ""
		}
		return "", fmt.Sprintf("the grant of single ports needs landlock abi %d (Linux 6.7)", portsABI)
	case "signals", "tree-kill":
		switch {
		case s.Namespaces:
			return "pid namespace", ""
		case s.Landlock >= scopeABI && name == "signals":
			return "landlock scope", ""
		case s.Landlock >= scopeABI:
			return "subreaper and kill within the landlock scope", ""
		case s.Proc && name == "tree-kill":
			return "subreaper and /proc", ""
		}
		return "", ""
	case "ipc":
		var by []string
		if s.Seccomp && !slices.Contains(p.Gaps, "ipc") {
			by = append(by, "seccomp")
		}
		if s.Namespaces {
			by = append(by, "ipc namespace")
		}
		return strings.Join(by, ", "), ""
	case "metadata":
		if s.Namespaces {
			return "read-only mounts", ""
		}
		return "", ""
	case "names":
		if s.Namespaces {
			return "private root", ""
		}
		return "", ""
	case "privileges", "environment", "descriptors", "terminal":
		return "helper", ""
	}
	if s.Seccomp {
		return "seccomp", ""
	}
	return "", ""
}
