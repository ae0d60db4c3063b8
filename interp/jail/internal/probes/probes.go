//go:build linux

package probes

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// Names below the canary's directory: of what is granted for writing and of
// what is not granted, each with a file.
const (
	In, Out, File = "in", "out", "file"
	Tool          = "tool" // an executable script in In
)

// A world is what the canary tries to reach.
type world struct {
	self   string
	dir    string
	caller int
}

func (w world) in(name string) string  { return w.dir + "/" + In + "/" + name }
func (w world) out(name string) string { return w.dir + "/" + Out + "/" + name }

// A probe is one thing to try.
type probe struct {
	name string
	try  func(world) error
}

// denials are the errors by which a jail denies. Any other failure of a probe
// says nothing about the jail and counts as a surprise.
var denials = []error{unix.EACCES, unix.EPERM, unix.ENOENT, unix.ESRCH, unix.EROFS, unix.EXDEV, unix.ENOSYS, unix.EOPNOTSUPP}

var denied = []probe{
	{"read outside", func(w world) error { return read(w.out(File)) }},
	{"list outside", func(w world) error { _, err := os.ReadDir(w.dir + "/" + Out); return err }},
	{"write outside", func(w world) error { return open(w.out(File), unix.O_WRONLY|unix.O_TRUNC) }},
	{"create outside", func(w world) error { return open(w.out("new"), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }},
	{"move from outside", func(w world) error { return unix.Rename(w.out(File), w.in("moved")) }},
	{"read by a planted link", func(w world) error {
		if err := unix.Symlink(w.out(File), w.in("planted")); err != nil {
			return fmt.Errorf("planting it: %v", err)
		}
		return read(w.in("planted"))
	}},
	{"execute what it can write", func(w world) error { return start(w.in(Tool)) }},
	{"internet socket", func(world) error { return socket(unix.AF_INET, unix.SOCK_STREAM) }},
	{"unix socket", func(world) error { return socket(unix.AF_UNIX, unix.SOCK_DGRAM) }},
	{"signal the caller", func(w world) error { return unix.Kill(w.caller, 0) }},
	{"limit the caller", func(w world) error { return unix.Prlimit(w.caller, unix.RLIMIT_CORE, nil, &unix.Rlimit{}) }},
	{"set-user-id", func(w world) error { return unix.Chmod(w.in(File), 0o4755) }},
}

// optional are the probes of optional guarantees.
var optional = map[string]probe{
	"metadata": {"mode outside", func(w world) error { return unix.Chmod(w.out(File), 0o777) }},
	"names":    {"name outside", func(w world) error { return unix.Access(w.out(File), unix.F_OK) }},
}

var allowed = []probe{
	{"read the system", func(world) error { _, err := os.ReadDir("/usr"); return err }},
	{"create, move and remove", func(w world) error {
		if err := open(w.in("new"), unix.O_RDWR|unix.O_CREAT|unix.O_EXCL); err != nil {
			return err
		}
		if err := unix.Rename(w.in("new"), w.in("newer")); err != nil {
			return err
		}
		return unix.Unlink(w.in("newer"))
	}},
	{"run a program", func(w world) error { return start(w.self, wire.Canary) }},
	{"pair of sockets", func(world) error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		return err
	}},
}

// Main tries everything and prints each surprise on a line, and at last how
// many things it tried. args are the directory, the caller's process number, and
// the names of optional guarantees to try; without any it does nothing, as a
// program that the canary can run.
func Main(args []string) int {
	if len(args) == 0 {
		return 0
	}
	caller, err := strconv.Atoi(args[1])
	if err != nil {
		return 2
	}
	w := world{self: os.Args[0], dir: args[0], caller: caller}
	var mustFail []probe
	for _, name := range args[2:] {
		mustFail = append(mustFail, optional[name])
	}
	mustFail = append(mustFail, denied...)
	for _, p := range mustFail {
		err := p.try(w)
		switch {
		case err == nil:
			fmt.Printf("%s: not denied\n", p.name)
		case !slices.ContainsFunc(denials, func(d error) bool { return errors.Is(err, d) }):
			fmt.Printf("%s: neither done nor denied: %v\n", p.name, err)
		}
	}
	for _, p := range allowed {
		if err := p.try(w); err != nil {
			fmt.Printf("%s: denied: %v\n", p.name, err)
		}
	}
	fmt.Println(len(mustFail) + len(allowed))
	return 0
}

// Tries returns the last line that a canary with n optional guarantees prints.
func Tries(n int) string { return strconv.Itoa(len(denied) + n + len(allowed)) }

func read(path string) error {
	_, err := os.ReadFile(path)
	return err
}

func open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o644)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func socket(domain, kind int) error {
	fd, err := unix.Socket(domain, kind, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func start(path string, args ...string) error {
	p, err := os.StartProcess(path, append([]string{path}, args...), &os.ProcAttr{})
	if err != nil {
		return err
	}
	state, err := p.Wait()
	if err == nil && !state.Success() {
		err = errors.New(state.String())
	}
	return err
}
