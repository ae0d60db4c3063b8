package changeset

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A Contract is what one command may leave behind. It is judged beside the
// [Rules], which hold for every change: a command's changes are the work of
// somebody who was not asked.
type Contract struct {
	// Writes are the physical paths that the command was allowed to write to:
	// nothing changes but them and what is below them.
	Writes []string
	// Outputs are all that may be created, changed or deleted. Nil means that
	// anything may be, as in data of Homebrew's; empty means nothing.
	Outputs []Output
	// Failed says that the command failed and may: no output has to be there.
	Failed bool
	// Protected are physical paths that nothing may change, such as a package
	// manager's own program.
	Protected []string
	// ProtectedName gives the protected name, such as ".ssh", that a path is or
	// lies below; "" if none. Nil means that there are none.
	ProtectedName func(path string) string
	// Named are the protected names that the document's outputs and writable
	// paths name.
	Named []string
	// Approved are the capabilities that the user granted.
	Approved []string
	// Roots are the directories that links may lead into.
	Roots []string
	// Fold gives two names that some file system takes for one the same
	// spelling. Nil tells names apart byte for byte.
	Fold func(name string) string
	// MaxChanges and MaxBytes bound all changes together; 0 means no bound.
	MaxChanges int
	MaxBytes   int64
}

// An Output is something that a step declares its command to make.
type Output struct {
	// Paths are physical. Where Any is set they are those of the changes that
	// match; otherwise there is one, and something has to be there.
	Paths []string
	Any   bool
	Kind  Kind
	// MaxSize bounds a file, in bytes.
	MaxSize    int64
	Executable bool
}

// Tree is the tree as it was before the command.
type Tree interface {
	// Lstat gives what is at a physical path, nil where nothing is.
	Lstat(path string) (*State, error)
	// ReadDir gives the names in the directory at a physical path, none where
	// there is no directory.
	ReadDir(path string) ([]string, error)
}

// ProtectedCapability begins the capability to change a protected name.
const ProtectedCapability = "protected:"

// Judge lists all violations of the contract, in path order. An empty list means
// that what the command made may join the other changes, as far as the command's
// own step is concerned. An error comes from tree.
func (c Contract) Judge(made *Captured, tree Tree) ([]Violation, error) {
	j := &contractJudge{Contract: c, tree: tree, made: made.Changes, changed: map[string]*Change{}, created: map[string][]string{}, folded: map[string]map[string]string{}}
	for i := range made.Changes.Changes {
		c := &made.Changes.Changes[i]
		j.changed[c.Path] = c
		if c.Before == nil && c.After != nil {
			dir := filepath.Dir(c.Path)
			j.created[dir] = append(j.created[dir], filepath.Base(c.Path))
		}
	}
	j.limits()
	j.declared()
	for i := range made.Changes.Changes {
		if err := j.change(&made.Changes.Changes[i]); err != nil {
			return nil, err
		}
	}
	for _, path := range made.Shared {
		j.add(path, "hard-link", "is a hard link to a file that was there before the command, or has a name elsewhere; let the command make a file of its own, or a symlink", "")
	}
	if err := j.missing(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(j.found, func(a, b Violation) int { return strings.Compare(a.Path, b.Path) })
	return j.found, nil
}

type contractJudge struct {
	Contract
	tree    Tree
	made    *Changeset
	changed map[string]*Change
	// created are the new names in each directory.
	created map[string][]string
	// outputs maps a path to the outputs that may be there; parents has the
	// directories that may be made above them.
	outputs map[string][]*Output
	parents map[string]bool
	// folded maps a directory and a folded name in it to the name.
	folded map[string]map[string]string
	found  []Violation
}

func (j *contractJudge) add(path, rule, reason, approval string) {
	v := Violation{Path: path, Rule: rule, Reason: reason, Approval: approval}
	if c := j.changed[path]; c != nil {
		v.Steps = c.Steps
	}
	j.found = append(j.found, v)
}

func (j *contractJudge) change(c *Change) error {
	j.outside(c)
	j.protected(c)
	j.output(c)
	j.name(c)
	if c.After == nil {
		return nil
	}
	j.kind(c)
	j.setID(c)
	j.mode(c)
	j.link(c)
	return j.fold(c)
}

func (j *contractJudge) outside(c *Change) {
	if !slices.ContainsFunc(j.Writes, func(dir string) bool { return Within(c.Path, dir) }) {
		j.add(c.Path, "outside", "is below no path that the command may write to; declare it in writable_paths", "")
	}
}

// protected keeps what nothing may change, and asks for the user's word where
// what is put acts later.
func (j *contractJudge) protected(c *Change) {
	for _, p := range j.Protected {
		if Within(c.Path, p) || c.Leaves() && Within(p, c.Path) {
			j.add(c.Path, "protected", "no command may change it, or take away what holds it", "")
		}
	}
	if j.ProtectedName == nil {
		return
	}
	switch name := j.ProtectedName(c.Path); {
	case name == "":
	case !slices.Contains(j.Named, name):
		j.add(c.Path, "protected-name", fmt.Sprintf("%s is a protected name, and the step does not name it; declare an output or a writable path that does, if the package needs it", name), "")
	case !slices.Contains(j.Approved, ProtectedCapability+name):
		j.add(c.Path, "protected-name", fmt.Sprintf("%s is a protected name, and changing it needs your approval", name), ProtectedCapability+name)
	}
}

func (j *contractJudge) kind(c *Change) {
	switch c.After.Kind {
	case Dir, File, Symlink:
	default:
		if !c.KeepsObject() {
			j.add(c.Path, "kind", "is a FIFO, a socket or a device; a command may leave directories, regular files and symlinks only", "")
		}
	}
}

// setID refuses bits that give away the owner's rights. A directory's set-group-id
// bit comes from the one above it, and gives away nothing.
func (j *contractJudge) setID(c *Change) {
	bits := c.After.Mode & (SetUID | SetGID)
	if c.After.Kind == Dir {
		bits &= SetUID
	}
	if bits == 0 || c.KeepsObject() && c.Before.Mode&bits == bits {
		return
	}
	j.add(c.Path, "set-id", fmt.Sprintf("has the mode %04o, with a set-id bit; no command may set one, only a set_permissions step", c.After.Mode), "")
}

func (j *contractJudge) mode(c *Change) {
	const othersWrite = 0o002
	open := func(s *State) bool {
		return s != nil && s.Kind != Symlink && s.Mode&othersWrite != 0 && (s.Kind != Dir || s.Mode&Sticky == 0)
	}
	if open(c.After) && !(open(c.Before) && c.Before.Kind == c.After.Kind) {
		j.add(c.Path, "mode", fmt.Sprintf("has the mode %04o, which lets everybody write to it; let the command make it without that", c.After.Mode), "")
	}
}

func (j *contractJudge) link(c *Change) {
	if c.After.Kind != Symlink || c.KeepsObject() || slices.Contains(j.Approved, LinkOutCapability) {
		return
	}
	if reason := leadsOut(c.Path, c.After.Target, j.Roots); reason != "" {
		j.add(c.Path, "link", reason, LinkOutCapability)
	}
}

func (j *contractJudge) limits() {
	var bytes int64
	for _, c := range j.made.Changes {
		if c.Content != nil && c.After != nil {
			bytes += c.After.Size
		}
	}
	switch n := len(j.made.Changes); {
	case n == 0:
	case j.MaxChanges > 0 && n > j.MaxChanges:
		j.add(j.made.Changes[0].Path, "output", fmt.Sprintf("%d paths change, at most %d may", n, j.MaxChanges), "")
	case j.MaxBytes > 0 && bytes > j.MaxBytes:
		j.add(j.made.Changes[0].Path, "output", fmt.Sprintf("%d bytes are written, at most %d may be", bytes, j.MaxBytes), "")
	}
}

// after is what will be at path.
func (j *contractJudge) after(path string) (*State, error) {
	if c := j.changed[path]; c != nil {
		return c.After, nil
	}
	return j.tree.Lstat(path)
}

// fold refuses a new name that a file system may take for that of a sibling.
func (j *contractJudge) fold(c *Change) error {
	if j.Fold == nil || c.Before != nil {
		return nil
	}
	dir, name := filepath.Split(c.Path)
	siblings, err := j.siblings(filepath.Clean(dir))
	if err != nil {
		return err
	}
	if other := siblings[j.Fold(name)]; other != name {
		j.add(c.Path, "fold", fmt.Sprintf("differs from %s beside it in case or in the form of its letters only, so that some file systems take both for one; let the command name them apart", Printable(other)), "")
	}
	return nil
}

// siblings maps folded names of what will be in a directory to names: of those
// that fold alike to one that was there before, if there is one.
func (j *contractJudge) siblings(dir string) (map[string]string, error) {
	if known, ok := j.folded[dir]; ok {
		return known, nil
	}
	names, err := j.tree.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	j.folded[dir] = known
	for _, name := range names {
		if c := j.changed[filepath.Join(dir, name)]; c == nil || c.After != nil {
			known[j.Fold(name)] = name
		}
	}
	for _, name := range j.created[dir] {
		if _, taken := known[j.Fold(name)]; !taken {
			known[j.Fold(name)] = name
		}
	}
	return known, nil
}
