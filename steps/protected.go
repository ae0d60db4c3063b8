package steps

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// A ProtectedName is a place whose content acts later and elsewhere: a shell's rc file,
// a hook, a list of keys. A name is one or more components of a path.
type ProtectedName struct {
	Name string
	// Why completes "what is there …".
	Why string
}

// ProtectedNames are the schema's protected names. The result is shared and must not be
// changed.
func ProtectedNames() []ProtectedName { return protectedNames }

// CapabilityProtected begins the capability to change what a protected name is for.
const CapabilityProtected = "protected:"

// A Protection finds protected names in paths.
type Protection struct {
	// byFirst holds the names by their first component, folded, the longest first.
	byFirst map[string][]protectedParts
}

type protectedParts struct {
	ProtectedName
	parts []string // folded
}

// NewProtection protects the schema's names and these, each one or more components with
// slashes between them.
func NewProtection(more ...string) (*Protection, error) {
	p := &Protection{byFirst: map[string][]protectedParts{}}
	for _, n := range protectedNames {
		p.add(n)
	}
	for _, name := range more {
		for part := range strings.SplitSeq(name, "/") {
			if part == "" || part == "." || part == ".." || strings.ContainsRune(part, 0) {
				return nil, fmt.Errorf("protected name %q: want the names of files or directories, with single slashes between them, such as .config/tool", name)
			}
		}
		p.add(ProtectedName{Name: name, Why: "is protected on this machine"})
	}
	for _, names := range p.byFirst {
		slices.SortStableFunc(names, func(a, b protectedParts) int { return len(b.parts) - len(a.parts) })
	}
	return p, nil
}

func (p *Protection) add(n ProtectedName) {
	parts := strings.Split(Fold(n.Name), "/")
	p.byFirst[parts[0]] = append(p.byFirst[parts[0]], protectedParts{n, parts})
}

// schemaProtection protects the schema's names only.
var schemaProtection, _ = NewProtection() // without names of others it cannot fail

// Of finds the protected name that path is, or lies below: the one that is deepest in
// the path, and of those the longest. It is the zero value where there is none.
func (p *Protection) Of(path string) ProtectedName {
	parts := strings.Split(Fold(path), "/")
	for i := len(parts) - 1; i >= 0; i-- {
		for _, n := range p.byFirst[parts[i]] {
			if len(n.parts) <= len(parts)-i && slices.Equal(n.parts, parts[i:i+len(n.parts)]) {
				return n.ProtectedName
			}
		}
	}
	return ProtectedName{}
}

// Fold gives one spelling to all names that some file system takes for one: those that
// differ in case, in the form that Unicode has for a letter, or in the invisible
// characters that HFS+ leaves out. Slashes stay.
func Fold(name string) string {
	if i := strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf || r >= 'A' && r <= 'Z' }); i < 0 {
		return name
	}
	visible := strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, name)
	// Decomposed, folded and decomposed again is Unicode's canonical caseless matching;
	// the step in between is for letters, such as Cherokee ones, that the folding only
	// exchanges.
	folded := strings.Map(oneCase, cases.Fold().String(norm.NFD.String(visible)))
	return norm.NFD.String(folded)
}

// oneCase is the same for all letters that differ in case only.
func oneCase(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if least >= 'A' && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}
