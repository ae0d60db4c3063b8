package interp

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
	"steps.example/steps"
)

// Target says for which package, where and as whom a document is interpreted.
// All directories are absolute.
type Target struct {
	Layout  string
	Name    string
	Version string
	// OS is "linux" or "macos": what the guards ask for.
	OS string
	// Dirs are the layout's variables that name directories, such as
	// "homebrew_prefix", "home", "temp", "appdir".
	Dirs map[string]string
	User string
	// SearchPath is where commands without a slash are looked up.
	SearchPath []string
	Umask      uint32
	// Approved are the capabilities that the user granted, such as "set-id" or
	// "write:home".
	Approved []string
	// Protected are directories that nothing may change, whatever is granted or
	// approved: where transactions and receipts are kept.
	Protected []string
	// ProtectedNames are names that only an approved document may change, beside
	// those of the schema: one or more components of a path, such as
	// ".config/tool".
	ProtectedNames []string
	// Replace, Adopt and Keep are what the user decided about paths of others: the
	// package takes them over, makes those its own that are as its steps make them,
	// or leaves them alone. Each is an absolute path or a pattern of one, with *, ?
	// and [] within a name, and holds for what is below it. Of those that cover a
	// path Keep counts before Replace, and Replace before Adopt. A Replace may be
	// [ResolveAll].
	Replace, Adopt, Keep []string
	// Placeholders: the document comes from Homebrew's API, whose strings name
	// the directories $HOMEBREW_PREFIX, $HOMEBREW_CELLAR, $APPDIR and /$HOME.
	Placeholders bool
}

// environment is a Target with its layout's templates filled in.
type environment struct {
	Target
	layout       *steps.Layout
	bases        map[steps.Base]string
	tokens       map[string]string
	grants       []changeset.Grant
	protected    []string // physical
	protection   *steps.Protection
	keep         []string // physical: what no command may touch
	home         string   // physical; "" if there is none
	belowHome    []string // the other directories, physical, that are in it
	runReads     []string
	runWrites    []string
	placeholders *strings.Replacer
	vars         map[string]string
	claims       claims
}

// revision is what a packager appends to the version of the software.
var revision = regexp.MustCompile(`_[0-9]+$`)

var templateVar = regexp.MustCompile(`\{[a-z_.0-9]+\}`)

func newEnvironment(t Target) (*environment, error) {
	layout, ok := steps.LayoutByName(t.Layout)
	if !ok {
		return nil, fmt.Errorf("layout %q is not known; known are %s", t.Layout, strings.Join(steps.LayoutNames(), ", "))
	}
	for name, dir := range t.Dirs {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
			return nil, fmt.Errorf("the directory for %s, %q, must be an absolute path without . and ..", name, dir)
		}
	}
	e := &environment{Target: t, layout: layout, bases: map[steps.Base]string{}, tokens: map[string]string{}}
	vars := maps.Clone(t.Dirs)
	if vars == nil {
		vars = map[string]string{}
	}
	for name, value := range map[string]string{"name": t.Name, "version": t.Version, "user": t.User} {
		if strings.ContainsAny(value, "/\x00\n") || value == "." || value == ".." {
			return nil, fmt.Errorf("%s %q cannot be part of a path", name, value)
		}
		if value != "" {
			vars[name] = value
		}
	}
	if t.Version != "" {
		upstream := revision.ReplaceAllString(t.Version, "")
		vars["version.upstream"] = upstream
		major, rest, _ := strings.Cut(upstream, ".")
		minor, _, _ := strings.Cut(rest, ".")
		vars["version.major"] = major
		vars["version.major_minor"] = strings.TrimSuffix(major+"."+minor, ".")
	}
	for _, name := range slices.Sorted(maps.Keys(layout.Bases)) {
		if dir, ok := e.fill(layout.Bases[name], vars); ok {
			e.bases[name] = dir
		}
	}
	for name, template := range layout.Tokens {
		if value, ok := e.fill(template, vars); ok {
			e.tokens[name] = value
		}
	}
	for _, g := range layout.Grants {
		if dir, ok := e.fill(g.Dir, vars); ok {
			e.grants = append(e.grants, changeset.Grant{Dir: e.belowRoot(dir), Access: changeset.Access(g.Access), Approval: g.Approval})
		}
	}
	for _, dir := range t.Protected {
		e.protected = append(e.protected, fsroot.Physical(dir))
	}
	var err error
	if e.protection, err = steps.NewProtection(t.ProtectedNames...); err != nil {
		return nil, err
	}
	e.keep = slices.Clone(e.protected)
	if prefix, ok := t.Dirs["homebrew_prefix"]; ok {
		// The package manager's own program is in a directory that packages share:
		// its name, and the file if that is a link.
		brew := filepath.Join(fsroot.Physical(prefix), "bin/brew")
		e.keep = append(e.keep, slices.Compact([]string{brew, fsroot.Physical(brew)})...)
	}
	if dir, ok := t.Dirs["home"]; ok {
		e.home = fsroot.Physical(dir)
		for name, dir := range t.Dirs {
			if dir = fsroot.Physical(dir); name != "home" && changeset.Within(dir, e.home) {
				e.belowHome = append(e.belowHome, dir)
			}
		}
	}
	e.runReads = e.fillAll(layout.Run.Reads, vars)
	e.runWrites = e.fillAll(layout.Run.Writes, vars)
	if t.Placeholders {
		var pairs []string
		for placeholder, template := range layout.Placeholders {
			if dir, ok := e.fill(template, vars); ok {
				pairs = append(pairs, placeholder, dir)
			}
		}
		e.placeholders = strings.NewReplacer(pairs...)
	}
	e.vars = vars
	if e.claims, err = e.newClaims(vars); err != nil {
		return nil, err
	}
	return e, nil
}

// fill puts the variables and bases into a template. It reports false where one
// of them has no value for this target: the base or token is then not there.
func (e *environment) fill(template string, vars map[string]string) (string, bool) {
	complete := true
	var fill func(string, int) string
	fill = func(s string, depth int) string {
		return templateVar.ReplaceAllStringFunc(s, func(ref string) string {
			name := ref[1 : len(ref)-1]
			if value, ok := vars[name]; ok {
				return value
			}
			if base, ok := e.layout.Bases[steps.Base(name)]; ok && depth < 8 {
				return fill(base, depth+1)
			}
			complete = false
			return ref
		})
	}
	return fill(template, 0), complete
}

// belowRoot spells a directory of the layout by its root's physical path. What
// is below the root stays as the layout says: a link there, which a package may
// have made, must not carry the layout's word to where it leads.
func (e *environment) belowRoot(dir string) string {
	dir = filepath.Clean(dir)
	root := ""
	for _, r := range e.Dirs {
		if changeset.Within(dir, r) && len(r) > len(root) {
			root = r
		}
	}
	if root == "" {
		return dir
	}
	return filepath.Join(fsroot.Physical(root), dir[len(root):])
}

// fillAll fills directories, leaving out those that are not there for this
// target.
func (e *environment) fillAll(templates []string, vars map[string]string) []string {
	var out []string
	for _, t := range templates {
		if dir, ok := e.fill(t, vars); ok {
			out = append(out, e.belowRoot(dir))
		}
	}
	return out
}

// roots are the directories that the view is confined to: every directory that
// the target names.
func (t Target) roots() []string {
	return slices.Sorted(maps.Values(t.Dirs))
}

var token = regexp.MustCompile(`\{\{[A-Za-z_][A-Za-z0-9_.]*\}\}`)

// expand fills the tokens in s, in one pass; unknown ones stay as they are.
func (e *environment) expand(s string) string {
	return e.expandWith(s, func(v string) string { return v })
}

func (e *environment) expandWith(s string, escape func(string) string) string {
	if e.placeholders != nil {
		s = e.placeholders.Replace(s)
	}
	if !strings.Contains(s, "{{") {
		return s
	}
	return token.ReplaceAllStringFunc(s, func(t string) string {
		if value, ok := e.tokens[t[2:len(t)-2]]; ok {
			return escape(value)
		}
		return t
	})
}

// Physical spells an absolute path without links, as far as it exists, so that
// one place has one name. It is for naming and comparing, not for acting on.
func Physical(path string) string { return fsroot.Physical(path) }

// errNoBase says that a path has no place here.
var errNoBase = errors.New("no such base")

// baseDir is the directory that a path's base stands for; "" for a path that
// is absolute by itself.
func (e *environment) baseDir(p steps.Path) (string, error) {
	if p.Base == "" || p.Base == steps.BaseAbsolute {
		return "", nil
	}
	if p.Formula != "" {
		// A formula may be named with its tap; the directory has the short name.
		vars := maps.Clone(e.vars)
		vars["formula"] = p.Formula[strings.LastIndexByte(p.Formula, '/')+1:]
		if dir, ok := e.fill(e.layout.Bases[p.Base], vars); ok && vars["formula"] != "" {
			return dir, nil
		}
	}
	dir, ok := e.bases[p.Base]
	if !ok {
		return "", fmt.Errorf("base %q: %w in layout %s for this package", p.Base, errNoBase, e.Layout)
	}
	return dir, nil
}

// path resolves a document's path to an absolute one. Components are kept as
// they are: ".." and links are the view's to resolve.
func (e *environment) path(p steps.Path) (string, error) {
	return e.join(p, func(s string) string { return s })
}

// pattern is path for a place where globs apply: only what the document itself
// wrote can be a metacharacter, not what a directory happens to be called.
func (e *environment) pattern(p steps.Path) (string, error) { return e.join(p, escapeGlob) }

var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`, `}`, `\}`)

func escapeGlob(s string) string { return globEscaper.Replace(s) }

func (e *environment) join(p steps.Path, escape func(string) string) (string, error) {
	rel := e.expandWith(p.Path, escape)
	for _, t := range token.FindAllString(p.Path, -1) {
		name := t[2 : len(t)-2]
		if _, ok := e.tokens[name]; !ok && !slices.Contains(e.layout.Verbatim, name) {
			return "", fmt.Errorf("path %q: token %s has no value here", p.Path, t)
		}
	}
	if strings.ContainsRune(rel, 0) {
		return "", fmt.Errorf("path %q: holds a NUL byte", p.Path)
	}
	dir, err := e.baseDir(p)
	if err != nil {
		return "", err
	}
	if dir == "" {
		if rel == "~" || strings.HasPrefix(rel, "~/") {
			home, ok := e.Dirs["home"]
			if !ok {
				return "", fmt.Errorf("path %q: no home directory is known", p.Path)
			}
			return escape(home) + rel[1:], nil
		}
		if !strings.HasPrefix(rel, "/") {
			return "", fmt.Errorf("path %q: has no base and is not absolute", p.Path)
		}
		return rel, nil
	}
	if rel == "." || rel == "" {
		return escape(dir), nil
	}
	if strings.HasPrefix(rel, "/") {
		return "", fmt.Errorf("path %q: is absolute, but has the base %q", p.Path, p.Base)
	}
	return escape(dir) + "/" + rel, nil
}
