package changeset

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Access says what a package may do below a directory.
type Access string

const (
	// Write: create, replace and delete.
	Write Access = "write"
	// Approve: the same, once the user has approved the grant's capability.
	Approve Access = "approve"
	// Read: nothing may change.
	Read Access = "read"
)

// Grant is a layout's word on one directory. The innermost grant decides.
type Grant struct {
	Dir      string
	Access   Access
	Approval string
}

// Capabilities that the judge asks for by itself.
const (
	// SetIDCapability: a regular file gets a set-user-id or set-group-id bit.
	SetIDCapability = "set-id"
	// LinkOutCapability: a link leads out of the roots.
	LinkOutCapability = "link:outside"
)

// Rules are what a changeset is judged by.
type Rules struct {
	Grants   []Grant
	Approved []string
	// Roots are the directories that links may lead into.
	Roots []string
	// Protected are physical directories that nothing may change, nor anything
	// above them take away, whatever is granted or approved.
	Protected []string
	// ProtectedName gives the protected name, such as ".ssh", that a path is or
	// lies below; "" if none. A change there takes the approval of
	// [ProtectedCapability] with the name. Nil means that there are none.
	ProtectedName func(path string) string
	// MaxChanges and MaxBytes bound one changeset; 0 means no bound.
	MaxChanges int
	MaxBytes   int64
}

// Violation is one reason to refuse a changeset.
type Violation struct {
	Path  string `json:"path"`
	Steps []int  `json:"steps,omitempty"`
	// Rule names what was broken, for machines: "grant", "protected",
	// "protected-name", "shared", "set-id", "link", "kind", "name", "limit"; of a
	// [Contract] also "output", "outside", "hard-link", "mode" and "fold".
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	// Approval is the capability whose approval would allow it; "" if none.
	Approval string `json:"approval,omitempty"`
}

func (v Violation) String() string {
	where := ""
	if len(v.Steps) > 0 {
		where = fmt.Sprintf("step %d", v.Steps[len(v.Steps)-1])
	}
	return v.In(where)
}

// In is the violation in words, by a step that is called where; "" for none.
func (v Violation) In(where string) string {
	if where != "" {
		where = " (" + where + ")"
	}
	s := fmt.Sprintf("%s%s: %s", Printable(v.Path), where, v.Reason)
	if v.Approval != "" {
		s += fmt.Sprintf("; allow it with --approve %s", v.Approval)
	}
	return s
}

// Judge looks at every change and lists all violations, in path order. An empty
// list means that the changeset may be committed.
func Judge(cs *Changeset, r Rules) []Violation {
	j := judge{Rules: r, cs: cs, innermost: map[string]bool{}}
	for _, g := range r.Grants {
		j.innermost[g.Dir] = true
	}
	var bytes int64
	for i := range cs.Changes {
		c := &cs.Changes[i]
		j.grant(c)
		j.protected(c)
		j.name(c)
		if c.After == nil {
			continue
		}
		j.kind(c)
		j.setID(c)
		j.link(c)
		if c.Content != nil {
			bytes += c.After.Size
		}
	}
	if r.MaxChanges > 0 && len(cs.Changes) > r.MaxChanges {
		j.add(&cs.Changes[0], "limit", fmt.Sprintf("%d paths change, at most %d may", len(cs.Changes), r.MaxChanges), "")
	}
	if r.MaxBytes > 0 && bytes > r.MaxBytes {
		j.add(&cs.Changes[0], "limit", fmt.Sprintf("%d bytes are written, at most %d may", bytes, r.MaxBytes), "")
	}
	slices.SortStableFunc(j.found, func(a, b Violation) int { return strings.Compare(a.Path, b.Path) })
	return j.found
}

// Allowed tells what a package may do at the physical path: nothing, or with
// approval, or freely.
func (r Rules) Allowed(path string) (ok bool, approval string) {
	j := judge{Rules: r, cs: &Changeset{}, innermost: map[string]bool{}}
	j.grant(&Change{Path: path})
	j.protected(&Change{Path: path})
	if len(j.found) == 0 {
		return true, ""
	}
	return false, j.found[0].Approval
}

type judge struct {
	Rules
	cs    *Changeset
	found []Violation
	// lastDir and lastGrant remember the grant of the directory before: changes
	// come in path order, and most have neighbours.
	lastDir   string
	lastGrant *Grant
	innermost map[string]bool
}

func (j *judge) add(c *Change, rule, reason, approval string) {
	j.found = append(j.found, Violation{Path: c.Path, Steps: c.Steps, Rule: rule, Reason: reason, Approval: approval})
}

func (j *judge) approved(capability string) bool { return slices.Contains(j.Approved, capability) }

// Within reports whether path is dir or lies below it; both are clean.
func Within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

// grantOf finds the innermost grant that holds path.
func (j *judge) grantOf(path string) *Grant {
	dir := filepath.Dir(path)
	// A path that is itself a grant's directory is not judged like its sibling.
	if dir == j.lastDir && !j.innermost[path] {
		return j.lastGrant
	}
	var best *Grant
	for i := range j.Grants {
		if g := &j.Grants[i]; Within(path, g.Dir) && (best == nil || len(g.Dir) > len(best.Dir)) {
			best = g
		}
	}
	if !j.innermost[path] {
		j.lastDir, j.lastGrant = dir, best
	}
	return best
}

func (j *judge) grant(c *Change) {
	g := j.grantOf(c.Path)
	switch {
	case g == nil || g.Access == Read:
		j.add(c, "grant", "the layout lets a package change nothing here", "")
	case g.Access == Approve && !j.approved(g.Approval):
		j.add(c, "grant", "the layout lets a package change this only with approval", g.Approval)
	}
}

// Leaves reports whether the object that was at the path does not stay there as
// the same kind of object.
func (c *Change) Leaves() bool {
	return c.Before != nil && (c.After == nil || c.From != "" || c.After.Kind != c.Before.Kind)
}

// protected keeps what is protected, and the directories that packages share:
// those may be filled and emptied, not taken away.
func (j *judge) protected(c *Change) {
	for _, p := range j.Protected {
		if Within(c.Path, p) || c.Leaves() && Within(p, c.Path) {
			j.add(c, "protected", fmt.Sprintf("nothing may change %s, where receipts and transactions are kept", Printable(p)), "")
			return
		}
	}
	if j.ProtectedName != nil {
		if name := j.ProtectedName(c.Path); name != "" && !j.approved(ProtectedCapability+name) {
			j.add(c, "protected-name", fmt.Sprintf("%s is a protected name, and changing it needs your approval", name), ProtectedCapability+name)
		}
	}
	switch {
	case !j.innermost[c.Path]:
	case c.Leaves() && c.Before.Kind == Dir:
		j.add(c, "shared", "a directory that packages share may not be removed, moved or replaced", "")
	case c.After != nil && c.After.Kind != Dir:
		j.add(c, "shared", "in the place of a directory that packages share only a directory may be", "")
	}
}

// Reserved begins the names of directories in which a transaction keeps what it
// holds, where its store is on another file system.
const Reserved = ".steps-"

// name refuses names that a receipt, which is JSON, could not tell apart, and
// those that are reserved.
func (j *judge) name(c *Change) {
	if strings.Contains(c.Path, "/"+Reserved) {
		j.add(c, "name", "names that begin with "+Reserved+" are reserved for transactions", "")
	}
	for _, s := range []*State{c.Before, c.After} {
		if !utf8.ValidString(c.Path) || s != nil && !utf8.ValidString(s.Target) {
			j.add(c, "name", "the name, or the link's text, is not UTF-8", "")
			return
		}
	}
}

func (j *judge) kind(c *Change) {
	switch c.After.Kind {
	case Dir, File, Symlink:
	default:
		if !c.KeepsObject() && c.From == "" {
			j.add(c, "kind", "only directories, regular files and symlinks may be made", "")
		}
	}
}

// setID refuses bits that give away the file owner's rights, unless the file
// had them before and kept its bytes.
func (j *judge) setID(c *Change) {
	bits := c.After.Mode & (SetUID | SetGID)
	if c.After.Kind != File || bits == 0 || j.approved(SetIDCapability) {
		return
	}
	had := c.Before
	if c.From != "" {
		had = j.cs.before(c.From)
	}
	if (c.KeepsObject() || c.From != "") && had != nil && had.Mode&bits == bits && had.SameOwner(c.After) {
		return
	}
	j.add(c, "set-id", fmt.Sprintf("the file would get the mode %04o, with a set-id bit", c.After.Mode), SetIDCapability)
}

// link refuses links that lead out of the roots, by their text.
func (j *judge) link(c *Change) {
	if c.After.Kind != Symlink || c.KeepsObject() || j.approved(LinkOutCapability) {
		return
	}
	if reason := leadsOut(c.Path, c.After.Target, j.Roots); reason != "" {
		j.add(c, "link", reason, LinkOutCapability)
	}
}

// leadsOut says how the text of a link at path leads out of the roots, or could;
// "" if it does not.
func leadsOut(path, text string, roots []string) string {
	if climbs(text) {
		return fmt.Sprintf("the link to %q climbs after a name, so where it leads depends on other links", text)
	}
	target := text
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	target = filepath.Clean(target)
	if slices.ContainsFunc(roots, func(root string) bool { return Within(target, root) }) {
		return ""
	}
	return fmt.Sprintf("the link would lead out of the package's directories, to %q", text)
}

// climbs reports whether a link's text has a ".." after a name. What is before
// it may be a link itself, and then the text alone does not say where it leads.
func climbs(target string) bool {
	named := filepath.IsAbs(target)
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if named {
				return true
			}
		default:
			named = true
		}
	}
	return false
}
