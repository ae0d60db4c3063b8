package interp

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/rubyglob"
	"steps.example/interp/view"
	"steps.example/steps"
)

// defaultOutputSize is the greatest size, in bytes, of an output whose
// declaration gives none.
const defaultOutputSize = 64 << 20

// preparePolicy settles what r may do, and lists everything that needs approval
// and lacks it.
func (m *machine) preparePolicy(s *steps.Run, r *Run) error {
	p := &r.Policy
	p.Network, p.PassEnv = s.NetworkAccess, slices.Compact(slices.Sorted(slices.Values(s.PassEnv)))
	if s.Network != nil {
		for _, port := range slices.Compact(slices.Sorted(slices.Values(s.Network.TCP))) {
			p.Ports = append(p.Ports, uint16(port))
		}
	}
	p.Limits.Timeout = s.Timeout
	if l := s.Limits; l != nil {
		p.Limits = Limits{
			Timeout: s.Timeout, CPU: l.CPU, FileSize: l.FileSize, OpenFiles: l.OpenFiles,
			Processes: l.Processes, Memory: l.Memory, Output: l.Output,
		}
	}
	p.Reads = m.outermost(m.runReads)
	p.Execs = p.Reads
	p.Protect = m.keep
	var lacking []error
	need := func(err error) {
		if err != nil {
			lacking = append(lacking, err)
		}
	}
	if err := m.prepareWrites(s.WritablePaths, r, need); err != nil {
		return err
	}
	if err := m.prepareOutputs(s.Outputs, r); err != nil && len(lacking) == 0 {
		return err
	}
	if s.Sudo != steps.SudoNever {
		need(m.needRoot("run with sudo"))
	}
	if r.Policy.Network {
		need(m.need("network", "run with network_access"))
	}
	for _, port := range r.Policy.Ports {
		need(m.need(steps.CapabilityPort(int(port)), fmt.Sprintf("run that connects to TCP port %d", port)))
	}
	for _, name := range r.Policy.PassEnv {
		need(m.need(steps.CapabilityEnv+name, "run that gets to see your variable "+name))
	}
	for _, name := range r.named {
		need(m.need(steps.CapabilityProtected+name, "run that may change the protected "+name))
	}
	return errors.Join(lacking...)
}

// prepareWrites settles what r may write to: the layout's own directories, and
// what the step declares. What is not approved goes to need.
func (m *machine) prepareWrites(declared []steps.Path, r *Run, need func(error)) error {
	writes := []string{}
	// The layout's directories as they are; not where a link in their place
	// would lead.
	for _, dir := range m.outermost(m.runWrites) {
		if slices.Contains(m.runWrites, dir) {
			writes = append(writes, dir)
		}
	}
	for _, p := range declared {
		dir, err := m.writable(p)
		lacks, unapproved := errors.AsType[*NeedError](err)
		if err != nil && !unapproved {
			return fmt.Errorf("writable_paths: %w", err)
		}
		m.name(r, dir)
		if unapproved {
			need(lacks)
			continue
		}
		exists, err := m.view.Exists(dir)
		if err != nil {
			return err
		}
		within := func(w string) bool { return changeset.Within(dir, w) }
		switch {
		case exists:
			writes = append(writes, dir)
		case !slices.ContainsFunc(writes, within):
			r.Policy.Absent = append(r.Policy.Absent, dir)
		}
	}
	r.Policy.Writes = m.outermost(writes)
	return m.unprotected(r.Policy.Writes)
}

// name notes the protected name that a path which the step declares is for.
func (m *machine) name(r *Run, path string) {
	if name := m.protection.Of(path).Name; name != "" && !slices.Contains(r.named, name) {
		r.named = append(r.named, name)
	}
}

// writable is the physical path of something that a step declares its command
// to write to: it must be the package's to change. With a *[NeedError] the path
// is there too.
func (m *machine) writable(p steps.Path) (string, error) {
	dir, err := m.path(p)
	if err != nil {
		return "", err
	}
	// Where it leads, as far as something is there.
	real, err := m.place(dir, m.view.Real)
	if err != nil {
		return "", err
	}
	rules := m.rules(nil)
	rules.ProtectedName = nil // asked for with everything else
	ok, approval := rules.Allowed(real)
	switch {
	case ok:
		return real, nil
	case approval != "":
		return real, m.need(approval, "letting a command write to "+changeset.Printable(real))
	}
	return "", fmt.Errorf("%s is not the package's to change", changeset.Printable(real))
}

// place is the physical path of a place that need not be there, nor what is
// above it. resolve says what of an existing path counts.
func (m *machine) place(p string, resolve func(string) (string, error)) (string, error) {
	real, err := resolve(p)
	if !view.IsAbsent(err) {
		return real, err
	}
	p = strings.TrimRight(p, "/")
	slash := strings.LastIndexByte(p, '/')
	name := p[slash+1:]
	if slash < 1 || name == "." || name == ".." {
		return "", err
	}
	dir, err := m.place(p[:slash], m.view.Real)
	return filepath.Join(dir, name), err
}

// unprotected insists that no command may write to, or above, a directory that
// is protected, such as the store of transactions itself.
func (m *machine) unprotected(writes []string) error {
	for _, w := range writes {
		for _, p := range m.protected {
			if changeset.Within(w, p) || changeset.Within(p, w) {
				return fmt.Errorf("a command may not write to %s, which holds %s", w, p)
			}
		}
	}
	return nil
}

// prepareOutputs settles where the outputs are; each must be where the command
// may write.
func (m *machine) prepareOutputs(declared []steps.Output, r *Run) error {
	if declared != nil {
		r.Policy.Outputs = []Output{}
	}
	for _, d := range declared {
		o, err := m.output(d)
		if err != nil {
			return fmt.Errorf("outputs: %w", err)
		}
		m.name(r, o.Path)
		if !slices.ContainsFunc(r.Policy.Writes, func(w string) bool { return changeset.Within(o.within, w) }) {
			hint := "declare a directory that is there and holds it in writable_paths"
			return fmt.Errorf("outputs: %s is below no path that the command may write to; %s", changeset.Printable(o.Path), hint)
		}
		r.Policy.Outputs = append(r.Policy.Outputs, o)
	}
	return nil
}

func (m *machine) output(d steps.Output) (Output, error) {
	o := Output{Any: d.Count == steps.CountAny, Kind: d.Kind, MaxSize: d.MaxSize, Executable: d.Executable}
	if o.Kind == "" {
		o.Kind = steps.OutputFile
	}
	if o.MaxSize == 0 && o.Kind == steps.OutputFile {
		o.MaxSize = defaultOutputSize
	}
	plain, err := m.path(d.Path)
	if err != nil {
		return o, err
	}
	pattern := escapeGlob(plain)
	if o.Any {
		if pattern, err = m.pattern(d.Path); err != nil {
			return o, err
		}
	}
	// What stands before the first component with glob characters is looked up
	// now; the rest is matched with what the command made.
	fixed, rest := "", ""
	for part := range strings.SplitSeq(strings.TrimPrefix(pattern, "/"), "/") {
		if literal, ok := unescapeGlob(part); ok && rest == "" {
			fixed += "/" + literal
		} else {
			rest += "/" + part
		}
	}
	if last := path.Base(plain); strings.HasSuffix(plain, "/") || last == "." || last == ".." {
		return o, fmt.Errorf("path %q: the last component must be a name", d.Path.Path)
	}
	if rest == "" {
		// The object itself counts: an output may be a link.
		if o.Path, err = m.place(fixed, m.view.Physical); err != nil {
			return o, err
		}
		o.within = o.Path
		if o.Any {
			o.Path = escapeGlob(o.Path)
		}
		return o, nil
	}
	if o.within, err = m.place(cmp.Or(fixed, "/"), m.view.Real); err != nil {
		return o, err
	}
	o.Path = escapeGlob(o.within) + rest
	return o, rubyglob.Check(o.Path)
}

// unescapeGlob undoes escapeGlob; it reports false where there are glob
// characters that nobody escaped.
func unescapeGlob(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case strings.IndexByte("*?[{", c) >= 0:
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}
