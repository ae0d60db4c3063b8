package main

import (
	"fmt"
	"strings"

	"steps.example/interp/jail"
)

// facts are what a machine says about itself, as far as advice needs it.
type facts struct {
	kernel    string // release
	container string // the kind of container whose mark is here, such as docker
	root      bool
	confined  bool // a seccomp filter is on this process already
	// landlock is why the kernel gives no Landlock version.
	landlock landlockState
	lsm      string // the active security modules, comma-separated; "" if unknown
	// Values of settings, "" where the kernel has none of the name.
	maxUserNamespaces, unprivilegedUserns, apparmorUserns string
}

type landlockState int

const (
	landlockThere     landlockState = iota
	landlockUnknown                 // the system call is not known, or hidden
	landlockDisabled                // in the kernel, and not enabled at boot
	landlockForbidden               // by whatever this process runs in
)

// advice is something that is missing, why, and what a user can do.
type advice struct {
	What string `json:"what"`
	Why  string `json:"why"`
	Do   string `json:"do"`
}

// inside says what this process runs in, "" if nothing is known.
func (f facts) inside() string {
	switch {
	case f.confined && f.container != "":
		return "a container (" + f.container + ")"
	case f.confined:
		return "a sandbox (a seccomp filter is on)"
	}
	return ""
}

// advise explains what s lacks by f.
func advise(f facts, s jail.Support) []advice {
	var out []advice
	add := func(what, why, do string) { out = append(out, advice{what, why, do}) }
	if why, do := f.aboutLandlock(s.Landlock); why != "" {
		add("landlock", why, do)
	}
	if !s.Seccomp && strings.HasPrefix(s.System, "linux/") {
		add("seccomp", "this kernel has no seccomp filters, or they are forbidden here",
			"use a kernel with CONFIG_SECCOMP_FILTER on amd64 or arm64, which every distribution's is")
	}
	if !s.Namespaces && strings.HasPrefix(s.System, "linux/") {
		why, do := f.aboutNamespaces()
		add("namespaces", why, do+"; until then metadata and names are declared gaps, and changes are captured by snapshots")
	}
	if !s.Proc && s.Landlock < 6 && strings.HasPrefix(s.System, "linux/") {
		add("proc", "/proc is not mounted, or hides this process", "mount /proc")
	}
	return out
}

func (f facts) aboutLandlock(abi int) (why, do string) {
	const newer = "use a kernel of Linux 6.12 or later"
	switch {
	case f.landlock == landlockDisabled:
		list := "lsm=landlock," + f.lsm
		if f.lsm == "" {
			list = "lsm=landlock,NAMES, NAMES being those that /sys/kernel/security/lsm lists,"
		}
		return "Landlock is in this kernel and not enabled at boot",
			"add " + list + " to the kernel's command line and boot again"
	case f.landlock == landlockForbidden:
		return "Landlock is forbidden to this process by " + f.confiner(),
			"allow the system calls landlock_create_ruleset, landlock_add_rule and landlock_restrict_self there; Docker's own default profile does"
	case f.landlock == landlockUnknown:
		return fmt.Sprintf("this kernel (%s) has no Landlock, or %s hides it", f.kernel, f.confiner()), newer + ", built with CONFIG_SECURITY_LANDLOCK"
	case abi > 0 && abi < 3:
		return fmt.Sprintf("this kernel (%s) has a Landlock too old to confine writes", f.kernel), newer + " (6.2 is the least)"
	case abi > 0 && abi < 6:
		return fmt.Sprintf("the Landlock of this kernel (%s) does not confine signals", f.kernel), newer + ", or accept that with --allow-gap signals"
	}
	return "", ""
}

// confiner names what forbids things here.
func (f facts) confiner() string {
	if inside := f.inside(); inside != "" {
		return "what it runs in, " + inside
	}
	return "a security module or filter"
}

func (f facts) aboutNamespaces() (why, do string) {
	switch {
	case f.maxUserNamespaces == "0":
		return "user namespaces are turned off here (user.max_user_namespaces is 0)",
			"sysctl -w user.max_user_namespaces=15000, as root"
	case f.unprivilegedUserns == "0" && !f.root:
		return "user namespaces are for root only here (kernel.unprivileged_userns_clone is 0, as Debian had it)",
			"sysctl -w kernel.unprivileged_userns_clone=1, as root"
	case f.apparmorUserns == "1" && !f.root:
		return "AppArmor takes the rights out of user namespaces here (kernel.apparmor_restrict_unprivileged_userns is 1, as Ubuntu has it)",
			"give steps-jail an AppArmor profile that allows userns, or, for all programs, sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, as root"
	case f.confined && f.container != "":
		return "user namespaces are forbidden in this container (" + f.container + "; Docker's default profile does that)",
			"start the container with a seccomp profile that allows unshare, clone and mount, or leave it so"
	case f.confined:
		return "user namespaces are forbidden by the sandbox that this runs in", "run steps outside of it, or leave it so"
	}
	return "this kernel makes no user namespaces for this process", "use a kernel with CONFIG_USER_NS, or leave it so"
}
