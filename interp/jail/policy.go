package jail

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Policy says what one command may reach. Whatever it does not name is
// denied. The zero value grants nothing and is refused, for want of a working
// directory.
//
// Every path is absolute, clean, exists, and passes through no symbolic link:
// a link could lead elsewhere by the time the command runs. Grants are by
// file, not by name: what is granted is the object that the path names when
// the jail is built.
type Policy struct {
	// Reads are files, and directories with all they hold, that the command
	// may read and list.
	Reads []string
	// Execs are files and directories that it may read and execute.
	Execs []string
	// Writes are directories in which it may create, change, rename and remove
	// anything but device nodes and sockets, and regular files that it may read
	// and overwrite. It may not execute what it finds there unless the same
	// path is in Execs.
	Writes []string
	// Network lets the command use TCP and UDP over IP with any address and
	// port. Without it no socket can be made, Unix sockets included.
	Network bool
	// Ports are TCP ports, at any address, to which the command may connect.
	// Together with Network they are an error.
	Ports []uint16
	// Env is the whole environment, each entry NAME=VALUE. With port 53 granted
	// RES_OPTIONS=use-vc is added, which makes the C library look names up by
	// TCP, unless Env sets that variable.
	Env []string
	// Dir is the working directory. It is under some Reads, Execs or Writes.
	Dir string
	// Limits bound the command; see [DefaultLimits].
	Limits Limits
	// Gaps are names of guarantees that the user accepts to miss.
	Gaps []string
	// Require are names of optional guarantees that must be kept all the same.
	Require []string
	// Layers redirect what the command writes, see [Layer].
	Layers []Layer
	// Protect are files and directories that the command must leave as they
	// are, see [TamperError].
	Protect []string
	// Report asks for [Result.Denied]. The kernel tells only root, and only with
	// its audit turned on.
	Report bool
}

// A Layer makes what the command writes below Dir go to Upper, so that Dir
// itself stays as it was: an overlay file system over Dir, with the grants of
// the policy for the paths below it. Dir is one of the policy's Writes or holds
// some. Upper and Work are empty directories of the caller, on one file system
// and out of reach of every grant; how Upper is read is overlayfs' format with
// the option userxattr.
type Layer struct {
	Dir, Upper, Work string
}

// Limits bound a command. A zero field takes its value from [DefaultLimits].
// All but Wall and OutputBytes hold for each process by itself, and none is
// ever above what the caller's own hard limits allow.
type Limits struct {
	Wall        time.Duration // from start to end, then the tree is killed
	OutputBytes int64         // bytes of standard output, and of standard error, then the tree is killed
	CPU         time.Duration // processor time, in whole seconds, rounded up
	FileSize    int64         // bytes of the largest file
	OpenFiles   int64         // descriptors
	Processes   int64         // processes and threads; the package's comment says what is counted
	Memory      int64         // bytes of address space; zero here and in the defaults means no limit
}

// DefaultLimits returns the limits of a policy that sets none.
func DefaultLimits() Limits {
	return Limits{
		Wall:        10 * time.Minute,
		OutputBytes: 8 << 20,
		CPU:         10 * time.Minute,
		FileSize:    4 << 30,
		OpenFiles:   4096,
		Processes:   8192,
	}
}

// withDefaults returns l with each zero field replaced by its default.
func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	l.Wall = cmp.Or(l.Wall, d.Wall)
	l.OutputBytes = cmp.Or(l.OutputBytes, d.OutputBytes)
	l.CPU = cmp.Or(l.CPU, d.CPU)
	l.FileSize = cmp.Or(l.FileSize, d.FileSize)
	l.OpenFiles = cmp.Or(l.OpenFiles, d.OpenFiles)
	l.Processes = cmp.Or(l.Processes, d.Processes)
	l.Memory = cmp.Or(l.Memory, d.Memory)
	return l
}

// A Command is what to run. Nothing is looked up: Path is the absolute path of
// a file under the policy's Execs, and becomes argument zero.
type Command struct {
	Path  string
	Args  []string // after argument zero
	Stdin []byte   // empty: /dev/null
}

// Validate reports everything that is wrong with the policy by itself, without
// a look at the file system.
func (p Policy) Validate() error {
	var errs []error
	for _, list := range []struct {
		name  string
		paths []string
	}{{"reads", p.Reads}, {"execs", p.Execs}, {"writes", p.Writes}} {
		for _, path := range list.paths {
			err := checkPath(path)
			if err == nil {
				err = checkGrant(path, list.name == "writes")
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s %q: %w", list.name, path, err))
			}
		}
	}
	if err := checkPath(p.Dir); err != nil {
		errs = append(errs, fmt.Errorf("dir %q: %w", p.Dir, err))
	} else if !p.covers(p.Dir) {
		errs = append(errs, fmt.Errorf("dir %q: under no granted directory; add it to reads or writes", p.Dir))
	}
	errs = append(errs, checkEnv(p.Env)...)
	errs = append(errs, p.Limits.validate()...)
	if p.Network && len(p.Ports) > 0 {
		errs = append(errs, errors.New("network and ports: ports are a smaller grant than network; give one of the two"))
	}
	if slices.Contains(p.Ports, 0) {
		errs = append(errs, errors.New("port 0: no service has this port"))
	}
	errs = append(errs, p.checkLayers()...)
	for _, path := range p.Protect {
		if err := checkPath(path); err != nil {
			errs = append(errs, fmt.Errorf("protect %q: %w", path, err))
		}
	}
	for _, name := range p.Gaps {
		if g, ok := findGuarantee(name); !ok {
			errs = append(errs, fmt.Errorf("gap %q: no guarantee has this name", name))
		} else if !g.Waivable {
			errs = append(errs, fmt.Errorf("gap %q: this guarantee cannot be given up", name))
		}
	}
	for _, name := range p.Require {
		if _, ok := findGuarantee(name); !ok {
			errs = append(errs, fmt.Errorf("require %q: no guarantee has this name", name))
		} else if slices.Contains(p.Gaps, name) {
			errs = append(errs, fmt.Errorf("require %q: also accepted as a gap", name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("jail policy: %w", err)
	}
	return nil
}

func (p Policy) checkLayers() []error {
	var errs []error
	add := func(l Layer, text string) { errs = append(errs, fmt.Errorf("layer %q: %s", l.Dir, text)) }
	for i, l := range p.Layers {
		for _, path := range []string{l.Dir, l.Upper, l.Work} {
			if err := checkPath(path); err != nil {
				errs = append(errs, fmt.Errorf("layer %q: %q: %w", l.Dir, path, err))
			}
		}
		if !slices.ContainsFunc(p.Writes, func(w string) bool { return within(w, l.Dir) }) {
			add(l, "neither writable nor above a writable path")
		}
		for _, private := range []string{l.Upper, l.Work} {
			if p.covers(private) || within(private, l.Dir) {
				add(l, fmt.Sprintf("%q is within reach of the command", private))
			}
		}
		if within(l.Upper, l.Work) || within(l.Work, l.Upper) {
			add(l, "upper and work lie in each other")
		}
		for _, other := range p.Layers[:i] {
			if within(l.Dir, other.Dir) || within(other.Dir, l.Dir) {
				add(l, fmt.Sprintf("overlaps the layer of %q", other.Dir))
			}
		}
	}
	return errs
}

// covers reports whether path is a granted directory or lies under one.
func (p Policy) covers(path string) bool {
	for _, list := range [][]string{p.Reads, p.Execs, p.Writes} {
		if slices.ContainsFunc(list, func(dir string) bool { return within(path, dir) }) {
			return true
		}
	}
	return false
}

// within reports whether path is dir or lies under it; both are clean.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

func checkPath(path string) error {
	switch {
	case path == "":
		return errors.New("empty path")
	case strings.ContainsRune(path, 0):
		return errors.New("contains a NUL byte")
	case !filepath.IsAbs(path):
		return errors.New("not an absolute path")
	case filepath.Clean(path) != path:
		return fmt.Errorf("not a clean path; write %q", filepath.Clean(path))
	}
	return nil
}

// checkGrant refuses places that hold more than any one step can need: the
// state of other processes, devices, sockets of services, other users' files.
func checkGrant(path string, write bool) error {
	if path == "/" || within(path, "/proc") {
		return errors.New("never granted; name the directories that the command needs")
	}
	if !write {
		return nil
	}
	for _, whole := range []string{"/sys", "/dev"} {
		if within(path, whole) {
			return errors.New("never granted for writing")
		}
	}
	if slices.Contains([]string{"/run", "/var/run", "/tmp", "/var/tmp"}, path) {
		return errors.New("shared with other programs; grant a directory of your own in it")
	}
	return nil
}

func checkEnv(env []string) []error {
	var errs []error
	seen := make(map[string]bool, len(env))
	for _, entry := range env {
		name, _, ok := strings.Cut(entry, "=")
		switch {
		case !ok || name == "":
			// The entry itself may be a secret without its name: not shown.
			errs = append(errs, errors.New("environment: an entry is not NAME=VALUE"))
		case strings.ContainsRune(entry, 0):
			errs = append(errs, fmt.Errorf("environment %q: contains a NUL byte", name))
		case seen[name]:
			errs = append(errs, fmt.Errorf("environment %q: given twice", name))
		}
		seen[name] = true
	}
	return errs
}

func (l Limits) validate() []error {
	var errs []error
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"wall", int64(l.Wall)}, {"output bytes", l.OutputBytes}, {"cpu", int64(l.CPU)}, {"file size", l.FileSize},
		{"open files", l.OpenFiles}, {"processes", l.Processes}, {"memory", l.Memory},
	} {
		if limit.value < 0 {
			errs = append(errs, fmt.Errorf("limit on %s: %d is negative", limit.name, limit.value))
		}
	}
	return errs
}

func (c Command) validate() error {
	if err := checkPath(c.Path); err != nil {
		return fmt.Errorf("jail command %q: %w", c.Path, err)
	}
	for i, arg := range c.Args {
		if strings.ContainsRune(arg, 0) {
			return fmt.Errorf("jail command %q: argument %d contains a NUL byte", c.Path, i+1)
		}
	}
	return nil
}
