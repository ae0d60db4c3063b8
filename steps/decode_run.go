package steps

import "strings"

// checkRun checks what no field says by itself.
func (d *decoder) checkRun(s *Run) {
	if s.NetworkAccess && s.Network != nil {
		for i := range d.members {
			if m := &d.members[i]; string(m.key) == "network" {
				d.fault(m.at, where{name: "network"}, "contradicts network_access, which lets it use any address and port", "one of the two")
			}
		}
	}
}

// checkOutput wants glob characters only where they count.
func (d *decoder) checkOutput(o Output, members []member, w where) {
	if o.Count == CountAny || !hasGlob(o.Path.Path) {
		return
	}
	for i := range members {
		if m := &members[i]; string(m.key) == "path" {
			d.fault(m.val, where{outer: &w, name: "path"}, brief(o.Path.Path)+" has glob characters, which do not count for one output", `"count": "any", or a plain path`)
		}
	}
}

// hasGlob reports whether a path has glob characters. The braces of a token are none.
func hasGlob(path string) bool {
	for path != "" {
		if _, after, ok := cutToken(path); ok {
			path = after
			continue
		}
		if strings.IndexByte("?*[{", path[0]) >= 0 {
			return true
		}
		path = path[1:]
	}
	return false
}

// The values of an output's fields. The first of each is what an absent field means.
const (
	OutputFile      = "file"
	OutputDirectory = "directory"
	OutputSymlink   = "symlink"

	CountOne = "one"
	CountAny = "any"
)
