//go:build linux || darwin

package cage

import (
	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// A resourceLimit is one for setrlimit, soft and hard alike.
type resourceLimit struct {
	name     string
	resource int
	value    unix.Rlimit
}

// resourceLimits are those of an order, none above the hard limit that the
// helper was born with. No core files are left in any case.
func resourceLimits(order wire.Order) ([]resourceLimit, error) {
	limits := []resourceLimit{{name: "core files", resource: unix.RLIMIT_CORE}}
	for _, l := range []struct {
		name     string
		resource int
		value    uint64
	}{
		{"processor time", unix.RLIMIT_CPU, order.CPUSeconds},
		{"file size", unix.RLIMIT_FSIZE, order.FileSize},
		{"open files", unix.RLIMIT_NOFILE, order.OpenFiles},
		{"processes", unix.RLIMIT_NPROC, order.Processes},
		{"memory", unix.RLIMIT_AS, order.Memory},
	} {
		if l.value == 0 {
			continue
		}
		var now unix.Rlimit
		if err := unix.Getrlimit(l.resource, &now); err != nil {
			return nil, refuse(err, "reading the limit on %s", l.name)
		}
		value := min(l.value, now.Max)
		limits = append(limits, resourceLimit{l.name, l.resource, unix.Rlimit{Cur: value, Max: value}})
	}
	return limits, nil
}
