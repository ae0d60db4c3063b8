package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail"
)

// readFacts asks the kernel. What cannot be read stays empty.
func readFacts() facts {
	f := facts{root: os.Geteuid() == 0, container: container()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		f.kernel = unix.ByteSliceToString(u.Release[:])
	}
	f.landlock = askLandlock()
	f.lsm = setting("/sys/kernel/security/lsm")
	f.maxUserNamespaces = setting("/proc/sys/user/max_user_namespaces")
	f.unprivilegedUserns = setting("/proc/sys/kernel/unprivileged_userns_clone")
	f.apparmorUserns = setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
	mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	f.confined = err == nil && mode != 0
	return f
}

func setting(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// container is the kind of container that leaves its mark here.
func container() string {
	for _, mark := range []struct{ file, kind string }{
		{"/.dockerenv", "docker"}, {"/run/.containerenv", "podman"}, {"/run/systemd/container", ""},
	} {
		if _, err := os.Stat(mark.file); err != nil {
			continue
		}
		if mark.kind == "" {
			return setting(mark.file)
		}
		return mark.kind
	}
	return ""
}

func askLandlock() landlockState {
	_, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch errno {
	case 0:
		return landlockThere
	case unix.ENOSYS:
		return landlockUnknown
	case unix.EOPNOTSUPP:
		return landlockDisabled
	}
	return landlockForbidden
}

const overlayCapture = "overlay"

// capture tries how changes under the prefix would be captured. It makes a
// directory of its own beside the prefix's state, and removes it. Blocked says
// why nothing can be run at all.
func capture(ctx context.Context, helper string, where storeFlags, blocked string) (*captureResult, error) {
	prefix, err := filepath.EvalSymlinks(where.prefix)
	if err == nil {
		prefix, err = filepath.Abs(prefix)
	}
	if err != nil {
		return nil, fmt.Errorf("--prefix %s: %w", where.prefix, errors.Unwrap(err))
	}
	state, err := where.path()
	if err != nil {
		return nil, err
	}
	c := &captureResult{Prefix: prefix, Mechanism: "snapshot", Copies: copies(prefix), Why: blocked}
	if blocked == "" {
		if err := tryOverlay(ctx, helper, prefix, state); err != nil {
			c.Why = err.Error()
		} else {
			c.Mechanism = overlayCapture
		}
	}
	return c, nil
}

func tryOverlay(ctx context.Context, helper, prefix, state string) error {
	place := filepath.Dir(state)
	for !isDir(place) {
		place = filepath.Dir(place)
	}
	scratch, err := os.MkdirTemp(place, "steps-doctor-")
	if err != nil {
		return err
	}
	defer removeTree(scratch)
	layer := jail.Layer{Dir: prefix, Upper: filepath.Join(scratch, "upper"), Work: filepath.Join(scratch, "work")}
	if err := errors.Join(os.Mkdir(layer.Upper, 0o700), os.Mkdir(layer.Work, 0o700)); err != nil {
		return err
	}
	policy := jail.Policy{
		Reads: jail.SystemReads(), Execs: jail.SystemExecs(), Writes: []string{prefix}, Dir: prefix, Layers: []jail.Layer{layer},
	}
	program, err := findCommand("true", prefix, searchPath(), policy.Execs)
	if err != nil {
		return err
	}
	res, err := jail.Run(ctx, helper, policy, jail.Command{Path: program})
	if err == nil && !res.OK() {
		err = fmt.Errorf("%s failed under it", program)
	}
	return err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// copies says how the file system of dir copies a file, tried with files that
// have no name.
func copies(dir string) string {
	var fds [2]int
	for i := range fds {
		fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return "copy or reflink, not known: " + err.Error()
		}
		defer unix.Close(fd)
		fds[i] = fd
	}
	if _, err := unix.Write(fds[0], []byte("x")); err != nil {
		return "copy or reflink, not known: " + err.Error()
	}
	if unix.IoctlFileClone(fds[1], fds[0]) != nil {
		return "copy"
	}
	return "reflink"
}
