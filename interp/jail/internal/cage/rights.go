//go:build linux

package cage

import (
	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// limits adds the resource limits.
func (p *program) limits(order wire.Order) error {
	limits, err := resourceLimits(order)
	if err != nil {
		return err
	}
	for _, l := range limits {
		p.add("limiting "+l.name, unix.SYS_PRLIMIT64, 0, uintptr(l.resource), ref(p, &l.value))
	}
	return nil
}

// Bits of the securebits flags (linux/securebits.h): user 0 is nobody special,
// and none of it can be changed back.
const secureBits = 1<<0 | 1<<1 | // no root, locked
	1<<2 | 1<<3 | // no fix-up on change of user, locked
	1<<5 | // keep-capabilities, locked off
	1<<6 | 1<<7 // no raising of ambient capabilities, locked

// dropCapabilities empties every capability set. The bounding set and the
// secure bits need a capability to change; without it there is nothing to
// change them for, as no_new_privs keeps exec from giving any.
func (p *program) dropCapabilities() error {
	head := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(head, &have[0]); err != nil {
		return refuse(err, "reading capabilities")
	}
	if have[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		for c := uintptr(0); ; c++ {
			in, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
			if err != nil {
				break // past the last one that the kernel knows
			}
			if in == 1 {
				p.add("dropping capabilities for good", unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c)
			}
		}
		p.add("making root nobody special", unix.SYS_PRCTL, unix.PR_SET_SECUREBITS, secureBits)
	}
	p.add("dropping ambient capabilities", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)
	p.add("dropping capabilities", unix.SYS_CAPSET,
		ref(p, &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}), ref(p, new([2]unix.CapUserData)))
	return nil
}
