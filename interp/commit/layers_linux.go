package commit

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

// noUpper are the file systems that the kernel takes no upper directory on.
var noUpper = map[int64]string{
	unix.OVERLAYFS_SUPER_MAGIC: "overlayfs",
	unix.NFS_SUPER_MAGIC:       "NFS",
	unix.SMB_SUPER_MAGIC:       "SMB",
	unix.CIFS_SUPER_MAGIC:      "SMB",
	unix.SMB2_SUPER_MAGIC:      "SMB",
	unix.FUSE_SUPER_MAGIC:      "FUSE",
	unix.V9FS_MAGIC:            "9P",
	unix.AFS_SUPER_MAGIC:       "AFS",
	unix.CEPH_SUPER_MAGIC:      "Ceph",
}

// upperFault says why no upper directory can be in a slot directory.
func (w *work) upperFault(sd *slotDir) error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(sd.fd, &fs); err != nil {
		return fmt.Errorf("cannot be looked at: %w", err)
	}
	if name, ok := noUpper[int64(fs.Type)]; ok {
		return fmt.Errorf("is on %s, where no layer can be", name)
	}
	// What overlayfs has to note about a directory it notes in such attributes.
	const probe = "user.steps-probe"
	err := w.disk.do(on("setxattr", sd.fd, sd.path), func() error { return unix.Fsetxattr(sd.fd, probe, []byte("y"), 0) })
	if err == nil {
		err = w.disk.do(on("removexattr", sd.fd, sd.path), func() error { return unix.Fremovexattr(sd.fd, probe) })
	}
	if err != nil {
		return fmt.Errorf("is on a file system without user extended attributes: %w", err)
	}
	return nil
}

// lowerFault says why the directory dir cannot be below a layer.
func lowerFault(fd int, dir string, st changeset.Stamp) error {
	uid, gid := os.Geteuid(), os.Getegid()
	if uid != 0 && (int(st.UID) != uid || int(st.GID) != gid) {
		return noLayers(dir, "belongs to %d:%d, and a user namespace of yours knows only %d:%d", st.UID, st.GID, uid, gid)
	}
	if _, err := unix.Getxattr(procFD(fd), "system.posix_acl_default", nil); err == nil {
		return noLayers(dir, "has a default access list, which a layer would not pass on")
	}
	mounts, err := mountPoints()
	if err != nil {
		return noLayers(dir, "may have something mounted below it: %v", err)
	}
	for _, m := range mounts {
		if strings.HasPrefix(m, dir+"/") {
			return noLayers(dir, "has another file system below it, at %s", m)
		}
	}
	return nil
}

// mountPoints lists where something is mounted, see proc_pid_mountinfo(5).
func mountPoints() ([]string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			return nil, errors.New("/proc/self/mountinfo: malformed line")
		}
		list = append(list, unescape(fields[4]))
	}
	return list, lines.Err()
}

// unescape undoes the kernel's \ooo for blanks and backslashes.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// isWhiteout reports whether the entry stands for something that was removed.
func isWhiteout(dir int, name string) (bool, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false, err
	}
	return st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0, nil
}

// marksOf reads what overlayfs notes about an open file or directory of an
// upper directory. A directory that is opaque hides the one below it. Whatever
// has a meaning that is not known here is an error. See "overlayfs.rst" in the
// kernel's documentation.
func marksOf(fd int) (opaque bool, err error) {
	names, err := listXattr(fd)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		rest, ours := strings.CutPrefix(name, "user.overlay.")
		switch {
		case strings.HasPrefix(name, "trusted.overlay."):
			return false, fmt.Errorf("has the attribute %s, which only another kind of mount makes", name)
		case !ours:
		case rest == "opaque":
			var value [2]byte
			n, err := unix.Fgetxattr(fd, name, value[:])
			if err != nil {
				return false, err
			}
			if string(value[:n]) != "y" {
				return false, fmt.Errorf("has the attribute %s with the unknown value %q", name, value[:n])
			}
			opaque = true
		case rest == "origin", rest == "impure", rest == "uuid":
			// How it came here, for inode numbers only.
		case strings.HasPrefix(rest, "overlay."):
			// The command's own, of an overlay inside.
		default:
			return false, fmt.Errorf("has the attribute %s, whose meaning is not known", name)
		}
	}
	return opaque, nil
}

func listXattr(fd int) ([]string, error) {
	buf := make([]byte, 1<<16) // the kernel's own limit, XATTR_LIST_MAX
	n, err := unix.Flistxattr(fd, buf)
	if err == unix.ENOTSUP {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(string(buf[:n]), func(r rune) bool { return r == 0 }), nil
}
