package jail

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/cage"
	"steps.example/interp/jail/internal/wire"
	"steps.example/interp/jail/sbpl"
)

// newOrder turns a valid policy and command into what the helper is told inside
// the sandbox.
func newOrder(p Policy, c Command) wire.Order {
	l := p.Limits.withDefaults()
	return wire.Order{
		Dir:  p.Dir,
		Path: c.Path,
		Args: append([]string{c.Path}, c.Args...),
		Env:  p.Env,

		CPUSeconds: uint64(min(l.CPU, math.MaxInt64-time.Second)+time.Second-1) / uint64(time.Second),
		FileSize:   uint64(l.FileSize),
		OpenFiles:  uint64(l.OpenFiles),
		Processes:  uint64(l.Processes),
		Memory:     uint64(l.Memory),
	}
}

// newStart is what the helper is told outside: to start itself in the sandbox.
func newStart(helper string, profile sbpl.Program) wire.Order {
	args := append([]string{cage.SandboxExec}, profile.Args()...)
	return wire.Order{Path: cage.SandboxExec, Args: append(args, helper, cage.ConfineArg)}
}

// findHelper returns the helper's real path and refuses one that the command,
// or another user, could replace or change for this time or the next.
func findHelper(helper string, p Policy) (string, error) {
	real, err := filepath.EvalSymlinks(helper)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err == nil {
		real, err = realPath(real)
	}
	var st unix.Stat_t
	if err == nil {
		err = unix.Lstat(real, &st)
	}
	if err != nil {
		return "", fmt.Errorf("jail: the helper %q: %w", helper, err)
	}
	refuse := func(why string) (string, error) {
		return "", fmt.Errorf("jail refused: the jail's helper %q %s", real, why)
	}
	for _, dir := range p.Writes {
		if within(real, dir) {
			return refuse(fmt.Sprintf("is under the writable %q; install steps elsewhere or grant less", dir))
		}
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o111 == 0:
		return refuse("is not a program; install steps again")
	case st.Mode&0o022 != 0:
		return refuse(fmt.Sprintf("can be changed by others (mode %#o); chmod go-w it", st.Mode&0o7777))
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return refuse(fmt.Sprintf("belongs to user %d; it must be root's or yours", st.Uid))
	}
	return real, nil
}
