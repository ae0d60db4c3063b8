package interp

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"steps.example/interp/changeset"
	"steps.example/interp/commit"
	"steps.example/steps"
)

// ResolveAll as a path of [Target.Replace] stands for every path.
const ResolveAll = "all"

// claims are what a target may do to what others own.
type claims struct {
	self commit.Identity
	// own are directories, physical, that are the package's alone: what is in them
	// and belongs to nobody is its own, and so is a link into them.
	own                   []string
	replace, adopt, spare choices
	// removal: nothing becomes the package's any more.
	removal bool
	// ledger is nil before the transaction or plan has one.
	ledger *ledger
}

// ledger is whose the paths are while a transaction goes on.
type ledger struct {
	store  *commit.Store
	owners *commit.Owners
	// mine are the paths that the transaction has already put something at.
	mine map[string]bool
}

// newLedger reads a store; nil is one without receipts.
func newLedger(store *commit.Store) (*ledger, error) {
	owners := &commit.Owners{}
	if store != nil {
		var err error
		if owners, err = store.Owners(); err != nil {
			return nil, err
		}
	}
	return &ledger{store: store, owners: owners, mine: map[string]bool{}}, nil
}

// before is what was known before a receipt.
func (l *ledger) before(receipt string) *ledger {
	return &ledger{store: l.store, owners: l.owners.Before(receipt), mine: map[string]bool{}}
}

// note takes in what was applied.
func (l *ledger) note(cs *changeset.Changeset) {
	for _, c := range cs.Changes {
		l.mine[c.Path] = c.After != nil
	}
}

// choices are paths, or patterns of them, that the user decided about. Each holds
// for what is below it too.
type choices []string

func (e *environment) choices(flag string, list []string) (choices, error) {
	var out choices
	for _, p := range list {
		if p == ResolveAll {
			out = append(out, p)
			continue
		}
		if _, err := filepath.Match(p, ""); err != nil {
			return nil, fmt.Errorf("%s %q: %w", flag, p, err)
		}
		if !filepath.IsAbs(p) || filepath.Clean(p) != p {
			return nil, fmt.Errorf("%s %q: must be an absolute path without . and ..", flag, p)
		}
		out = append(out, e.belowRoot(p))
	}
	return out, nil
}

func (c choices) cover(path string) bool {
	for _, p := range c {
		if p == ResolveAll || changeset.Within(path, p) {
			return true
		}
		if !strings.ContainsAny(p, `*?[\`) {
			continue
		}
		for at := path; at != "/"; at = filepath.Dir(at) {
			if ok, _ := filepath.Match(p, at); ok {
				return true
			}
		}
	}
	return false
}

// newClaims works out a target's own directories: those whose place in the layout
// has the package's name in it, and the one for temporary files.
func (e *environment) newClaims(vars map[string]string) (c claims, err error) {
	c.self = commit.Identity{Layout: e.Layout, Name: e.Name}
	if c.replace, err = e.choices("replace", e.Replace); err != nil {
		return c, err
	}
	if c.adopt, err = e.choices("adopt", e.Adopt); err != nil {
		return c, err
	}
	if c.spare, err = e.choices("keep", e.Keep); err != nil {
		return c, err
	}
	nameless := maps.Clone(vars)
	delete(nameless, "name")
	templates := slices.Collect(maps.Values(e.layout.Bases))
	for _, g := range e.layout.Grants {
		templates = append(templates, g.Dir)
	}
	for _, t := range templates {
		dir, whole := e.fill(t, vars)
		if _, anyName := e.fill(t, nameless); whole && !anyName {
			c.own = append(c.own, e.belowRoot(dir))
		}
	}
	if temp, ok := e.Dirs["temp"]; ok {
		c.own = append(c.own, e.belowRoot(temp))
	}
	c.own = withoutInner(c.own)
	return c, nil
}

// conflicts lists the changes that would take, change or destroy what belongs to
// another package or to the user. Directories are shared, and only that one is
// taken away that another package made counts. Caches tells the steps that rebuild
// caches, which are everybody's, and at where a step is.
func (c *claims) conflicts(cs *changeset.Changeset, caches func(step int) bool, at func(step int) Place) []Refusal {
	moved := map[string]string{}
	for i := range cs.Changes {
		if from := cs.Changes[i].From; from != "" {
			moved[from] = cs.Changes[i].Path
		}
	}
	var out []Refusal
	for i := range cs.Changes {
		change := &cs.Changes[i]
		whose, why := c.conflict(change)
		if whose == "" || all(change.Steps, caches) || c.replace.cover(change.Path) {
			continue
		}
		r := Refusal{Path: change.Path, Rule: "conflict"}
		where := changeset.Printable(change.Path)
		if len(change.Steps) > 0 {
			r.Step = change.Steps[len(change.Steps)-1]
			r.Place = at(r.Step)
			where += fmt.Sprintf(" (%s)", r.Place)
		}
		r.Reason = fmt.Sprintf("%s: %s, and would be %s; %s", where, whose, fate(change, moved[change.Path]), why)
		out = append(out, r)
	}
	return out
}

func all(list []int, holds func(int) bool) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(n int) bool { return !holds(n) })
}

func fate(c *changeset.Change, to string) string {
	switch verb := c.Verb(); {
	case to != "" && c.After == nil:
		return "moved to " + changeset.Printable(to)
	case verb == changeset.Delete:
		return "deleted"
	case verb == changeset.Modify && c.Before.Mode != c.After.Mode:
		return fmt.Sprintf("given the mode %04o", c.After.Mode)
	case verb == changeset.Modify:
		return "given another owner or time"
	}
	return "replaced"
}

// conflict says whose the object is that a change takes or changes, and what the
// user can do about it; "" where there is no conflict.
func (c *claims) conflict(change *changeset.Change) (whose, advice string) {
	path := change.Path
	if change.Before == nil || c.ledger.mine[path] {
		return "", ""
	}
	owner, owned := c.ledger.owners.Of(path)
	ours := owned && owner.Identity() == c.self
	if ours && change.After == nil {
		if users := c.ledger.owners.UsedBy(path, c.self, ""); len(users) > 0 {
			return "is used by " + commit.Names(users), "say --replace or --keep with this path"
		}
	}
	if change.Before.Kind == changeset.Dir {
		if !owned || ours || !change.Leaves() {
			return "", ""
		}
	}
	// What the package found and only changed, and what took the place of what it
	// made, is not its own.
	if ours && owner.State.Kind == change.Before.Kind && (owner.Made || change.KeepsObject()) {
		return "", ""
	}
	switch {
	case owned && !ours:
		whose = "belongs to " + owner.Package.String()
		if owner.Layout != c.self.Layout {
			whose += " (" + owner.Layout + ")"
		}
	case c.ownPlace(path) || change.Before.Kind == changeset.Symlink && c.ownPlace(linkEnd(path, change.Before.Target)):
		return "", ""
	default:
		whose = "was made by no package"
	}
	if c.removal {
		return whose, "say --replace or --keep with this path"
	}
	if !c.adopt.cover(path) {
		return whose, "say --replace, --adopt or --keep with this path"
	}
	if change.KeepsObject() && change.Before.Kind != changeset.Dir {
		return "", ""
	}
	return whose, "it is not what the step makes, so it cannot be adopted; say --replace or --keep with this path"
}

// ownPlace reports whether a path is in one of the package's own directories.
func (c *claims) ownPlace(path string) bool {
	return slices.ContainsFunc(c.own, func(dir string) bool { return changeset.Within(path, dir) })
}

// linkEnd is where the text of a link leads. A link into the package's directories
// is of no use to anybody else: an older version, or another program, made it for
// the package.
func linkEnd(path, target string) string {
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	return filepath.Clean(target)
}

// settled is what becomes of paths beside the changes themselves.
type settled struct {
	spared  []commit.Spared
	adopted []commit.Adopted
	// uses are what another package made as the steps want it.
	uses []commit.Adopted
	// found are the physical paths that were looked at for that, and dirs the
	// directories, as steps have them.
	found, dirs map[string]bool
	bases       []commit.Base
	// yours are paths of what is the user's by now; newly says that no receipt has told
	// that of one of them yet.
	yours []string
	newly bool
	// contents are those of the bases, by hash.
	contents map[string][]byte
	// caches are the steps that rebuild caches.
	caches map[int]bool
}

// settle takes out of the view's changes what the user wants left alone, and notes
// what becomes the package's as it is, or is used by it.
func (m *machine) settle() (*changeset.Changeset, error) {
	cs, err := m.view.Changes()
	if err != nil {
		return nil, err
	}
	rest := m.spare(cs)
	same := slices.Clone(m.view.Remade())
	slices.Sort(same)
	for _, path := range slices.Compact(same) {
		if err := m.keepFound(path); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// spare takes out of a changeset what the user wants left alone.
func (m *machine) spare(cs *changeset.Changeset) *changeset.Changeset {
	if len(m.claims.spare) == 0 {
		return cs
	}
	rest, spared := spare(cs, m.claims.spare.cover)
	m.settled.spared = append(m.settled.spared, spared...)
	return rest
}

// adopted reports whether what is at path becomes the package's as it is.
func (m *machine) adopted(path string) bool {
	return slices.ContainsFunc(m.settled.adopted, func(a commit.Adopted) bool { return a.Path == path })
}

// rebuilds notes that the step at work rebuilds a cache.
func (m *machine) rebuilds(t steps.Type) {
	if !steps.Describe(t).Trigger {
		return
	}
	if m.settled.caches == nil {
		m.settled.caches = map[int]bool{}
	}
	m.settled.caches[m.step] = true
}

// conflicts is [claims.conflicts] for the steps so far.
func (x *executor) conflicts(m *machine, cs *changeset.Changeset) []Refusal {
	return m.claims.conflicts(cs, m.settled.cache(0), x.place)
}

// cache tells which steps rebuild caches, counted from the one after first.
func (s *settled) cache(first int) func(step int) bool {
	return func(step int) bool { return s.caches[first+step] }
}

// record tells the receipt, and keeps the contents that a later merge needs.
func (s *settled) record(tx *commit.Tx, r *commit.Receipt) error {
	r.Spared, r.Adopted, r.Uses, r.Bases, r.Yours = s.spared, s.adopted, s.uses, s.bases, s.yours
	return tx.HoldBases(r, s.contents)
}
