package jail

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/seccomp"
	"steps.example/interp/jail/internal/wire"
)

// newOrder turns a valid policy and command into what the helper is told.
func newOrder(p Policy, c Command, s Support) wire.Order {
	l := p.Limits.withDefaults()
	o := wire.Order{
		ABI:        uint32(s.Landlock),
		Namespaces: s.Namespaces,
		Network:    p.Network,
		Ports:      p.Ports,
		Filter:     filter(p),
		Dir:        p.Dir,
		Path:       c.Path,
		Args:       append([]string{c.Path}, c.Args...),
		Env:        p.environment(),

		CPUSeconds: uint64(min(l.CPU, math.MaxInt64-time.Second)+time.Second-1) / uint64(time.Second),
		FileSize:   uint64(l.FileSize),
		OpenFiles:  uint64(l.OpenFiles),
		Processes:  uint64(l.Processes),
		Memory:     uint64(l.Memory),
	}
	at := map[string]int{} // path → its place among the grants
	for _, list := range []struct {
		paths  []string
		access wire.Access
	}{{p.Reads, wire.Read}, {p.Execs, wire.Read | wire.Exec}, {p.Writes, wire.Read | wire.Write}} {
		for _, path := range list.paths {
			if i, ok := at[path]; ok {
				o.Grants[i].Access |= list.access
				continue
			}
			at[path] = len(o.Grants)
			o.Grants = append(o.Grants, wire.Grant{Path: path, Access: list.access})
		}
	}
	if s.Namespaces {
		o.Links = links(p, c)
		for _, l := range p.Layers {
			o.Layers = append(o.Layers, wire.Layer(l))
		}
	}
	return o
}

// filter is the system call filter for p, in the kernel's form.
func filter(p Policy) []uint64 {
	program := seccomp.Filter(seccomp.Options{
		Network: p.Network,
		Ports:   len(p.Ports) > 0,
		IPC:     slices.Contains(p.Gaps, "ipc"),
	})
	return unsafe.Slice((*uint64)(unsafe.Pointer(&program[0])), len(program))
}

// environment is Env, with what the policy implies. Without UDP the C library
// can ask name servers by TCP only.
func (p Policy) environment() []string {
	const name, dns = "RES_OPTIONS=", 53
	set := slices.ContainsFunc(p.Env, func(v string) bool { return strings.HasPrefix(v, name) })
	if !slices.Contains(p.Ports, dns) || set {
		return p.Env
	}
	return append(slices.Clone(p.Env), name+"use-vc")
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
