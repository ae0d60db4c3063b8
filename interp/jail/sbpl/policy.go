package sbpl

import (
	"errors"
	"fmt"
	"slices"
)

// A Policy says what a profile allows. Everything else is denied; the zero
// value allows what every command needs to start and no more, see [Generate].
//
// Every path is real: absolute, clean, without links, spelled as the file
// system spells it. A grant of a directory is one of all it holds.
type Policy struct {
	// Reads are files and directories to read and list.
	Reads []string
	// Execs are files and directories to read, map as code and execute.
	Execs []string
	// Writes are directories to read and change, and files to read and
	// overwrite. None of them can itself be moved or removed, and what they
	// hold is not executable unless it is in Execs as well.
	Writes []string
	// Temp, if not empty, is the command's own directory for temporary files;
	// it counts as one of Writes.
	Temp string
	// Protect are names under Writes, existing or not, that are never created,
	// changed, moved or removed, with all they hold. The directories between
	// such a name and its writable directory cannot be created, moved or removed
	// either, for that would move the name.
	Protect []string
	// Network allows TCP and UDP with any address and port.
	Network bool
	// Ports allow TCP connections to these ports of any address. Without
	// Network and Ports there is no network at all. Unix sockets are never
	// allowed, and so neither is the system's resolver of names.
	Ports []uint16
}

// Validate reports everything that is wrong with the policy. A policy that it
// accepts has a profile in which no path is without effect for its spelling.
func (p Policy) Validate() error {
	var errs []error
	bad := func(what, name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %q: %w", what, name, err))
		}
	}
	for _, list := range []struct {
		what  string
		names []string
	}{{"reads", p.Reads}, {"execs", p.Execs}, {"writes", p.writes()}} {
		for _, name := range list.names {
			err := checkPath(name)
			if err == nil && name == "/" {
				err = errors.New("never granted; name the directories that the command needs")
			}
			bad(list.what, name, err)
		}
	}
	for _, name := range p.Protect {
		err := checkPath(name)
		if err == nil {
			err = p.checkProtected(name)
		}
		bad("protect", name, err)
	}
	if p.Network && len(p.Ports) > 0 {
		errs = append(errs, errors.New("ports: the whole network is granted already; leave out one of the two"))
	}
	if slices.Contains(p.Ports, 0) {
		errs = append(errs, errors.New("ports: 0 is no port"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("sandbox profile: %w", err)
	}
	return nil
}

// checkProtected refuses a protected name that takes back a grant, or that no
// grant reaches and whose protection would therefore be a mistake elsewhere.
func (p Policy) checkProtected(name string) error {
	under := false
	for _, dir := range p.writes() {
		if within(dir, name) {
			return fmt.Errorf("holds %q, which is granted for writing", dir)
		}
		under = under || within(name, dir)
	}
	if !under {
		return errors.New("under no writable directory, so it needs no protection")
	}
	return nil
}

// writes returns Writes with Temp.
func (p Policy) writes() []string {
	if p.Temp == "" {
		return p.Writes
	}
	return append(slices.Clone(p.Writes), p.Temp)
}

// outermost returns the names that lie under no other, sorted and once each. A
// nested grant adds nothing to the one around it.
func outermost(names []string) []string {
	var out []string
	for _, name := range names {
		inside := func(dir string) bool { return dir != name && within(name, dir) }
		if !slices.ContainsFunc(names, inside) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
