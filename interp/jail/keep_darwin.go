package jail

import "os"

// keptBy names the mechanism that keeps a guarantee for p on a machine that
// offers s. Without one it returns "" and, where [Support.Missing] does not
// already say it, why.
func keptBy(name string, s Support, _ Policy) (by, why string) {
	if !s.Seatbelt {
		return "", ""
	}
	switch name {
	case "environment", "descriptors", "terminal":
		return "helper", ""
	case "privileges":
		if os.Geteuid() == 0 {
			return "", "root keeps its rights in a sandbox of macOS; run steps as a user"
		}
		return "seatbelt", ""
	case "tree-kill":
		return "session and process table, best effort", ""
	case "names":
		return "", "programs on macOS do not start without looking at names"
	}
	return "seatbelt", ""
}
