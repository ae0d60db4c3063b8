package steps

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Capabilities are what a document asks for beyond changing files where its layout lets
// every package change them, sorted:
//
//	env:NAME          a run step gets to see this variable of the user's environment
//	network           a run step wants the network, any address and port
//	network:tcp/PORT  a run step wants to connect to this port, at any address
//	ownership         a step changes the owner of files
//	protected:NAME    a step changes, or lets a command change, a protected place
//	run               a step executes a command
//	set-id            a step sets the set-user-id or set-group-id bit
//	sudo              a step wants to be done as root
//	terminate         a step ends processes
//	write:home, …     a step writes where the layout wants this approval
//
// They follow from the fields of the steps alone: guards are not asked, and what a
// command does is not known. That a path leads elsewhere by a symbolic link is for the
// judge of the changes to find.
func Capabilities(d *Document) []string {
	found := map[string]bool{}
	layout := filledLayouts()[d.Layout]
	for _, block := range d.Blocks {
		for _, s := range block.Steps {
			stepCapabilities(s, func(c string, asked bool) {
				if asked {
					found[c] = true
				}
			})
			for _, p := range s.writes() {
				place := p.Path
				if layout != nil {
					place = layout.lexical(p)
					if approval := layout.approvalAt(place); approval != "" {
						found[approval] = true
					}
				}
				if n := schemaProtection.Of(place); n.Name != "" {
					found[CapabilityProtected+n.Name] = true
				}
			}
		}
	}
	var out []string
	for c := range found {
		out = append(out, c)
	}
	slices.Sort(out)
	return out
}

// CapabilityEnv begins the capability to see a variable of the user's environment.
const CapabilityEnv = "env:"

// CapabilityPort is the capability to connect to a TCP port, at any address.
func CapabilityPort(port int) string { return fmt.Sprintf("network:tcp/%d", port) }

func stepCapabilities(s Step, add func(capability string, asked bool)) {
	if _, ok := composites[s.Type()]; ok {
		add("run", true)
	}
	switch s := s.(type) {
	case *Run:
		add("run", true)
		add("network", s.NetworkAccess)
		if s.Network != nil {
			for _, port := range s.Network.TCP {
				add(CapabilityPort(port), true)
			}
		}
		for _, name := range s.PassEnv {
			add(CapabilityEnv+name, true)
		}
		add("sudo", s.Sudo != SudoNever)
	case *SetPermissions:
		add("set-id", setsID(s.Permissions))
	case *SetOwnership:
		add("ownership", true)
		add("sudo", true)
	case *TerminateProcess:
		add("terminate", true)
		add("sudo", s.Sudo != SudoNever)
	case *Remove:
		add("sudo", s.Sudo != SudoNever)
	case *Symlink:
		add("sudo", s.Sudo != SudoNever)
	case *DeleteKeychainCertificate:
		add("sudo", true)
	}
}

// setsID reports whether a mode can set the set-user-id or set-group-id bit. Copied
// permissions, as in g=u, do not.
func setsID(mode string) bool {
	if strings.Trim(mode, "01234567") == "" {
		return len(mode) == 4 && mode[0] != '0' && mode[0] != '1'
	}
	for clause := range strings.SplitSeq(mode, ",") {
		op := byte(0)
		for _, c := range []byte(clause) {
			switch c {
			case '+', '-', '=':
				op = c
			case 's':
				if op == '+' || op == '=' {
					return true
				}
			}
		}
	}
	return false
}

// A filledLayout is what paths are compared with: a layout whose bases stand in each
// other's place, down to its variables.
type filledLayout struct {
	bases                map[Base]string
	tokens, placeholders map[string]string
	home                 string
	grants               []Grant
}

// filledLayouts are all layouts by name.
var filledLayouts = sync.OnceValue(func() map[string]*filledLayout {
	all := map[string]*filledLayout{}
	for _, l := range layouts {
		f := &filledLayout{
			bases: map[Base]string{}, tokens: map[string]string{}, placeholders: map[string]string{},
			home: l.fill("{home}"), grants: slices.Clone(l.Grants),
		}
		for base, template := range l.Bases {
			f.bases[base] = l.fill(template)
		}
		for name, template := range l.Tokens {
			f.tokens[name] = l.fill(template)
		}
		for name, template := range l.Placeholders {
			f.placeholders[name] = l.fill(template)
		}
		for i := range f.grants {
			f.grants[i].Dir = l.fill(f.grants[i].Dir)
		}
		all[l.Name] = f
	}
	return all
})

// approvalAt is the capability that writing to a lexical path needs, as far as can be
// told without looking at the disk; "" if none.
func (f *filledLayout) approvalAt(place string) string {
	best := Grant{}
	length := -1
	for _, g := range f.grants {
		below, ok := strings.CutPrefix(place, g.Dir)
		if ok && (below == "" || below[0] == '/') && len(g.Dir) > length {
			best, length = g, len(g.Dir)
		}
	}
	return best.Approval
}

// lexical is the path with bases and a leading token replaced by their templates, down
// to the layout's variables.
func (f *filledLayout) lexical(p Path) string {
	template, rest := f.bases[p.Base], "/"+p.Path
	if p.Base == "" || p.Base == BaseAbsolute {
		if after, ok := strings.CutPrefix(p.Path, "~"); ok {
			template, rest = f.home, after
		} else if name, after, ok := cutToken(p.Path); ok {
			template, rest = f.tokens[name], after
		} else {
			rest = p.Path
			for placeholder, dir := range f.placeholders {
				if after, ok := strings.CutPrefix(p.Path, placeholder); ok && (after == "" || after[0] == '/') {
					template, rest = dir, after
				}
			}
		}
	}
	return path.Clean(template + rest)
}

var reference = regexp.MustCompile(`\{[a-z_0-9]+\}`)

// fill replaces the bases in a template by theirs, until only variables are left.
func (l *Layout) fill(template string) string {
	return reference.ReplaceAllStringFunc(template, func(ref string) string {
		name := ref[1 : len(ref)-1]
		base, ok := l.Bases[Base(name)]
		if !ok || slices.ContainsFunc(l.Vars, func(v LayoutVar) bool { return v.Name == name }) {
			return ref
		}
		return l.fill(base)
	})
}
