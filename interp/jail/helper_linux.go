package jail

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/cage"
	"steps.example/interp/jail/internal/wire"
)

// openHelper opens the helper for its execution and refuses one that the
// command, or another user, could replace or change for this time or the next.
func openHelper(helper string, p Policy) (*os.File, error) {
	real, err := filepath.EvalSymlinks(helper)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, fmt.Errorf("jail: the helper: %w", err)
	}
	refuse := func(why string) error {
		return fmt.Errorf("jail refused: the jail's helper %q %s", real, why)
	}
	for _, dir := range p.Writes {
		if within(real, dir) {
			return nil, refuse(fmt.Sprintf("is under the writable %q; install steps elsewhere or grant less", dir))
		}
	}
	for _, l := range p.Layers {
		for _, dir := range []string{l.Dir, l.Upper, l.Work} {
			if within(real, dir) {
				return nil, refuse(fmt.Sprintf("is under the layer %q; install steps elsewhere", dir))
			}
		}
	}
	fd, err := unix.Open(real, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("jail: the helper %q: %w", real, err)
	}
	f := os.NewFile(uintptr(fd), real)
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	switch {
	case err != nil:
		err = fmt.Errorf("jail: the helper %q: %w", real, err)
	case st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o111 == 0:
		err = refuse("is not a program; install steps again")
	case st.Mode&0o022 != 0:
		err = refuse(fmt.Sprintf("can be changed by others (mode %#o); chmod go-w it", st.Mode&0o7777))
	case st.Uid != 0 && int(st.Uid) != os.Geteuid() && !foreign(st.Uid):
		err = refuse(fmt.Sprintf("belongs to user %d; it must be root's or yours", st.Uid))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// overflowUID stands for all owners that have no number in a user namespace.
const overflowUID = 65534

// foreign reports whether an owner is one of those outside this process's user
// namespace. In a container the system's files may all be theirs.
func foreign(uid uint32) bool {
	if uid != overflowUID {
		return false
	}
	ids, err := mapped("/proc/self/uid_map")
	return err == nil && !slices.ContainsFunc(ids, func(m syscall.SysProcIDMap) bool {
		return m.ContainerID <= overflowUID && overflowUID < m.ContainerID+m.Size
	})
}

// startHelper starts the opened file as a helper with descriptors as package
// wire numbers them, the file itself last.
func startHelper(helper *os.File, files []*os.File, namespaces bool) (*os.Process, error) {
	// The descriptor, not the name, unless there is no /proc to execute it by,
	// as in another jail; there the name leads to what that jail granted.
	path := "/proc/self/fd/" + strconv.Itoa(wire.HelperFD)
	if _, err := os.Lstat("/proc/self/fd"); err != nil {
		path = helper.Name()
	}
	attr := &os.ProcAttr{
		Dir: "/",
		// Of the helper, not of the command: it does one thing after the other.
		Env:   []string{"GOMAXPROCS=1", "GOGC=off"},
		Files: files,
		// Out of reach of the terminal's signals: it ends by its control pipe,
		// after the tree, and not before.
		Sys: &syscall.SysProcAttr{Setsid: true},
	}
	if namespaces {
		uids, gids, err := identity()
		if err != nil {
			return nil, &noNamespaces{err}
		}
		attr.Sys.Cloneflags = cage.Namespaces
		attr.Sys.UidMappings, attr.Sys.GidMappings = uids, gids
		attr.Sys.AmbientCaps = cage.Capabilities
	}
	process, err := os.StartProcess(path, []string{wire.Arg0, wire.Arg1}, attr)
	if err != nil {
		err = fmt.Errorf("jail: starting the helper %q: %w", helper.Name(), err)
		if namespaces {
			err = &noNamespaces{err}
		}
		return nil, err
	}
	return process, nil
}

// identity maps users and groups to themselves: all that there are for who may
// map them, so that owners of files show as they are, or else just the user's.
func identity() (uids, gids []syscall.SysProcIDMap, err error) {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&head, &have[0]); err != nil {
		return nil, nil, fmt.Errorf("reading capabilities: %w", err)
	}
	const needed = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID
	if have[0].Effective&needed != needed {
		return one(os.Geteuid()), one(os.Getegid()), nil
	}
	if uids, err = mapped("/proc/self/uid_map"); err != nil {
		return nil, nil, err
	}
	gids, err = mapped("/proc/self/gid_map")
	return uids, gids, err
}

func one(id int) []syscall.SysProcIDMap {
	return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
}

// mapped reads which numbers exist in this process's user namespace, see
// user_namespaces(7).
func mapped(path string) ([]syscall.SysProcIDMap, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []syscall.SysProcIDMap
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s: line %q", path, line)
		}
		first, err1 := strconv.Atoi(string(fields[0]))
		size, err2 := strconv.Atoi(string(fields[2]))
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("%s: line %q", path, line)
		}
		out = append(out, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: size})
	}
	return out, nil
}
