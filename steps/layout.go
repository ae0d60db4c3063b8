package steps

import (
	"maps"
	"slices"
	"strings"
)

// A Layout says where one kind of package lives and what it may do there. Layouts are
// data of the schema.
//
// Its templates are absolute directories in which {x} stands for the variable x, else
// for the base x. Beside the variables in Vars there are version.upstream, the version
// without a packager's revision "_N", and version.major and version.major_minor, its
// first part and its first two. A base, token or
// grant whose template needs a variable that has no value is not there.
type Layout struct {
	Name string
	// Vars are what the client has to supply.
	Vars []LayoutVar
	// Bases are the directories that paths start from.
	Bases map[Base]string
	// Tokens are the values of {{tokens}}.
	Tokens map[string]string
	// Placeholders are what Homebrew's API writes, in any text, for a directory. Their
	// names include the dollar sign.
	Placeholders map[string]string
	// Verbatim are tokens that stay in the text as they are, in paths too.
	Verbatim []string
	// Grants say what may be written. Of those that hold a path the longest counts.
	Grants []Grant
	Run    RunGrants
}

// A LayoutVar is a value that the client supplies.
type LayoutVar struct {
	Name, Doc string
	// Dir is set for a directory: an absolute one, which is a root.
	Dir bool
}

// A Grant is a directory and what a package may do in it.
type Grant struct {
	Dir string
	// Access is "write", or "approve": write after the user approved of Approval.
	Access   string
	Approval string
}

// RunGrants are the directories that a run step may use without declaring it.
type RunGrants struct{ Reads, Writes []string }

// LayoutByName finds a layout. The result is shared and must not be changed.
func LayoutByName(name string) (*Layout, bool) {
	for _, l := range layouts {
		if l.Name == name {
			return l, true
		}
	}
	return nil, false
}

// LayoutNames are the names of all layouts, sorted.
func LayoutNames() []string {
	var names []string
	for _, l := range layouts {
		names = append(names, l.Name)
	}
	slices.Sort(names)
	return names
}

// hasBase reports whether a path can start from the base. A nil layout has all.
func (l *Layout) hasBase(b Base) bool {
	if l == nil || b == BaseAbsolute || b == BaseRelative || b == BaseSearchPath {
		return true
	}
	_, ok := l.Bases[b]
	return ok
}

func (l *Layout) baseNames() []string {
	var names []string
	for _, b := range slices.Sorted(maps.Keys(l.Bases)) {
		names = append(names, string(b))
	}
	return names
}

// foreignToken is the first token in a path that the layout does not have, or "". A nil
// layout has all.
func (l *Layout) foreignToken(path string) string {
	if l == nil {
		return ""
	}
	for {
		i := strings.Index(path, "{{")
		if i < 0 {
			return ""
		}
		name, after, ok := cutToken(path[i:])
		if !ok {
			return ""
		}
		if _, known := l.Tokens[name]; !known && !slices.Contains(l.Verbatim, name) {
			return name
		}
		path = after
	}
}
