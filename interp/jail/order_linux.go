package jail

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// newOrder turns a valid policy and command into what the helper is told.
func newOrder(p Policy, c Command, s Support) wire.Order {
	l := p.Limits.withDefaults()
	o := wire.Order{
		ABI:     uint32(s.Landlock),
		Network: p.Network,
		IPC:     slices.Contains(p.Gaps, "ipc"),
		Dir:     p.Dir,
		Path:    c.Path,
		Args:    append([]string{c.Path}, c.Args...),
		Env:     p.Env,

		CPUSeconds: uint64(min(l.CPU, math.MaxInt64-time.Second)+time.Second-1) / uint64(time.Second),
		FileSize:   uint64(l.FileSize),
		OpenFiles:  uint64(l.OpenFiles),
		Processes:  uint64(l.Processes),
		Memory:     uint64(l.Memory),
	}
	for _, list := range []struct {
		paths  []string
		access wire.Access
	}{{p.Reads, wire.Read}, {p.Execs, wire.Read | wire.Exec}, {p.Writes, wire.Read | wire.Write}} {
		for _, path := range list.paths {
			o.Grants = append(o.Grants, wire.Grant{Path: path, Access: list.access})
		}
	}
	return o
}

// checkHelper refuses a helper that the command could replace for next time.
func checkHelper(helper string, p Policy) error {
	real, err := filepath.EvalSymlinks(helper)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return fmt.Errorf("jail: the helper: %w", err)
	}
	for _, dir := range p.Writes {
		if within(real, dir) {
			return fmt.Errorf("jail refused: the jail's helper %q is under the writable %q; install steps elsewhere or grant less", real, dir)
		}
	}
	return nil
}

// sealed returns a file that holds data and that nobody can change, read from
// its beginning.
func sealed(name string, data []byte) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return nil, fmt.Errorf("jail: memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(data)
	if err == nil {
		_, err = f.Seek(0, 0)
	}
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("jail: memory file: %w", err)
	}
	return f, nil
}
