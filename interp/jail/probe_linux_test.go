package jail_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A probe is one thing to try. Without a jail it succeeds; in the jail it fails
// with one of deny, or, with none, succeeds too.
type probe struct {
	name string
	deny string // space-separated names of error numbers
	try  func(world) error
}

func findProbe(name string) probe {
	for _, list := range [][]probe{fileProbes, socketProbes, processProbes, kernelProbes, allowedProbes, rootProbes} {
		if i := slices.IndexFunc(list, func(p probe) bool { return p.name == name }); i >= 0 {
			return list[i]
		}
	}
	for _, p := range portProbes {
		if p.name == name {
			return p.probe
		}
	}
	return probe{try: func(world) error { return fmt.Errorf("no probe %q", name) }}
}

// hidden are the errors of what namespaces hide or mount read-only; without
// them Landlock says EACCES and EPERM.
var hidden = map[string]string{"EACCES": "ENOENT EROFS EBUSY", "EPERM": "ESRCH"}

func TestProbes(t *testing.T) {
	t.Parallel()
	for _, m := range modes(t) {
		for _, list := range [][]probe{fileProbes, socketProbes, processProbes, kernelProbes, allowedProbes} {
			for _, tc := range list {
				t.Run(m.name+"/"+tc.name, func(t *testing.T) {
					t.Parallel()
					if out, err := plain(t, newWorld(t), tc.name); err != nil {
						if tc.deny != "" {
							t.Skipf("this machine denies it without a jail: %s", out)
						}
						t.Fatalf("without a jail: %v\n%s", err, out)
					}
					w := newWorld(t)
					p := policy(t, w.In)
					p.Reads = append(p.Reads, w.RO)
					res := m.run(t, p, self(t), "probe", tc.name, w.encode(t))
					got := firstLine(res.Stdout)
					if tc.deny == "" {
						if !res.OK() {
							t.Errorf("%+v: %s%s", res.Signal, res.Stdout, res.Stderr)
						}
						return
					}
					want := tc.deny
					if m.support.Namespaces {
						for _, name := range strings.Fields(tc.deny) {
							want += " " + hidden[name]
						}
					}
					if res.ExitCode != 1 || !slices.Contains(strings.Fields(want), got) {
						t.Errorf("exit %d %s, %q, want %s\n%s%s", res.ExitCode, res.Signal, got, want, res.Stdout, res.Stderr)
					}
				})
			}
		}
	}
}

// fsNoAtime is FS_NOATIME_FL of linux/fs.h.
const fsNoAtime = 0x80

func read(path string) error {
	_, err := os.ReadFile(path)
	return err
}

func put(path string) error { return os.WriteFile(path, []byte("changed"), 0o644) }

func execute(path string, args ...string) error { return exec.Command(path, args...).Run() }

var fileProbes = []probe{
	{"read outside", "EACCES", func(w world) error { return read(w.out("file")) }},
	{"list outside", "EACCES", func(w world) error { _, err := os.ReadDir(w.Out); return err }},
	{"list root", "EACCES", func(world) error { _, err := os.ReadDir("/"); return err }},
	{"write outside", "EACCES", func(w world) error { return put(w.out("file")) }},
	{"write readable", "EACCES", func(w world) error { return put(w.ro("file")) }},
	{"append readable", "EACCES", func(w world) error {
		_, err := os.OpenFile(w.ro("file"), os.O_APPEND|os.O_WRONLY, 0)
		return err
	}},
	{"create outside", "EACCES", func(w world) error { return put(w.out("new")) }},
	{"create beside readable", "EACCES", func(w world) error { return put(w.ro("new")) }},
	{"temporary file outside", "EACCES", func(w world) error {
		_, err := unix.Open(w.Out, unix.O_TMPFILE|unix.O_RDWR, 0o600)
		return err
	}},
	{"mkdir outside", "EACCES", func(w world) error { return os.Mkdir(w.out("new"), 0o755) }},
	{"symlink outside", "EACCES", func(w world) error { return os.Symlink("x", w.out("new")) }},
	{"mkfifo outside", "EACCES", func(w world) error { return unix.Mkfifo(w.out("new"), 0o644) }},
	{"unlink outside", "EACCES", func(w world) error { return unix.Unlink(w.out("file")) }},
	{"rmdir outside", "EACCES", func(w world) error { return unix.Rmdir(w.out("dir")) }},
	{"truncate outside", "EACCES", func(w world) error { return os.Truncate(w.out("file"), 0) }},
	{"truncate readable", "EACCES", func(w world) error { return os.Truncate(w.ro("file"), 0) }},
	{"open readable with truncation", "EACCES", func(w world) error {
		_, err := os.OpenFile(w.ro("file"), os.O_RDONLY|os.O_TRUNC, 0)
		return err
	}},
	{"rename out to in", "EACCES EXDEV", func(w world) error { return unix.Rename(w.out("file"), w.in("new")) }},
	{"rename in to out", "EACCES EXDEV", func(w world) error { return unix.Rename(w.in("file"), w.out("new")) }},
	{"exchange in and out", "EACCES EXDEV", func(w world) error {
		return unix.Renameat2(unix.AT_FDCWD, w.in("file"), unix.AT_FDCWD, w.out("file"), unix.RENAME_EXCHANGE)
	}},
	{"rename the writable directory", "EACCES", func(w world) error { return unix.Rename(w.In, w.In+"2") }},
	{"link out to in", "EACCES EXDEV", func(w world) error { return unix.Link(w.out("file"), w.in("new")) }},
	{"link readable to in", "EACCES EXDEV", func(w world) error { return unix.Link(w.ro("file"), w.in("new")) }},
	{"link in to out", "EACCES EXDEV", func(w world) error { return unix.Link(w.in("file"), w.out("new")) }},
	{"read by planted symlink", "EACCES", func(w world) error {
		if err := os.Symlink(w.out("file"), w.in("planted")); err != nil {
			return fmt.Errorf("planting: %v", err)
		}
		return read(w.in("planted"))
	}},
	{"write by planted symlink", "EACCES", func(w world) error {
		if err := os.Symlink(w.out("file"), w.in("planted")); err != nil {
			return fmt.Errorf("planting: %v", err)
		}
		return put(w.in("planted"))
	}},
	{"create by planted directory symlink", "EACCES", func(w world) error {
		if err := os.Symlink(w.Out, w.in("planted")); err != nil {
			return fmt.Errorf("planting: %v", err)
		}
		return put(w.in("planted/new"))
	}},
	{"read by dot-dot", "EACCES", func(w world) error { return read(w.In + "/../out/file") }},
	{"read by /proc/self/root", "EACCES", func(w world) error { return read("/proc/self/root" + w.out("file")) }},
	{"reopen a path descriptor", "EACCES", func(w world) error {
		fd, err := unix.Open(w.out("file"), unix.O_PATH, 0)
		if err != nil {
			return fmt.Errorf("opening: %w", err)
		}
		return read(fmt.Sprintf("/proc/self/fd/%d", fd))
	}},
	{"read below a path descriptor", "EACCES", func(w world) error {
		fd, err := unix.Open(w.Out, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return fmt.Errorf("opening: %w", err)
		}
		_, err = unix.Openat(fd, "file", unix.O_RDONLY, 0)
		return err
	}},
	{"password hashes", "EACCES", func(world) error { return read("/etc/shadow") }},
	{"execute outside", "EACCES", func(w world) error { return execute(w.out("tool")) }},
	{"execute readable", "EACCES", func(w world) error { return execute(w.ro("tool")) }},
	{"execute writable", "EACCES", func(w world) error { return execute(w.in("tool")) }},
	{"execute from memory", "ENOSYS", func(world) error {
		fd, err := unix.MemfdCreate("x", 0)
		if err != nil {
			return err
		}
		code, err := os.ReadFile("/bin/true")
		if err == nil {
			_, err = unix.Write(fd, code)
		}
		if err != nil {
			return fmt.Errorf("writing: %v", err)
		}
		return execute(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd))
	}},
	{"execute by descriptor", "EPERM", func(world) error {
		fd, err := unix.Open("/bin/true", unix.O_RDONLY, 0)
		if err != nil {
			return fmt.Errorf("opening: %w", err)
		}
		empty, _ := unix.BytePtrFromString("")
		argv := [2]*byte{empty, nil}
		_, _, errno := unix.Syscall6(unix.SYS_EXECVEAT, uintptr(fd), uintptr(unsafe.Pointer(empty)),
			uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&argv[1])), unix.AT_EMPTY_PATH, 0)
		return errno
	}},
	{"device node", "EPERM", func(w world) error { return unix.Mknod(w.in("new"), unix.S_IFCHR|0o600, 0x103) }},
	{"socket node", "EACCES", func(w world) error { return unix.Mknod(w.in("new"), unix.S_IFSOCK|0o600, 0) }},
	{"chmod u+s", "EPERM", func(w world) error { return unix.Chmod(w.in("file"), 0o4755) }},
	{"chmod g+s", "EPERM", func(w world) error { return unix.Chmod(w.in("dir"), 0o2755) }},
	{"fchmod u+s", "EPERM", func(w world) error {
		fd, err := unix.Open(w.in("file"), unix.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("opening: %w", err)
		}
		return unix.Fchmod(fd, 0o4755)
	}},
	{"fchmodat2 u+s", "EPERM", func(w world) error {
		return unix.Fchmodat(unix.AT_FDCWD, w.in("file"), 0o4755, unix.AT_SYMLINK_NOFOLLOW)
	}},
	{"create u+s", "EPERM", func(w world) error {
		_, err := unix.Open(w.in("new"), unix.O_CREAT|unix.O_WRONLY, 0o4755)
		return err
	}},
	{"setxattr", "ENOTSUP EOPNOTSUPP", func(w world) error { return unix.Setxattr(w.in("file"), "user.x", []byte("y"), 0) }},
	{"setxattr outside", "ENOTSUP EOPNOTSUPP", func(w world) error { return unix.Setxattr(w.out("file"), "user.x", []byte("y"), 0) }},
	{"file flags", "ENOTTY", func(w world) error {
		fd, err := unix.Open(w.ro("file"), unix.O_RDONLY, 0)
		if err != nil {
			return fmt.Errorf("opening: %w", err)
		}
		return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, fsNoAtime)
	}},
	{"watch outside", "EPERM", func(w world) error {
		fd, err := unix.InotifyInit1(0)
		if err != nil {
			return fmt.Errorf("inotify: %v", err)
		}
		_, err = unix.InotifyAddWatch(fd, w.Out, unix.IN_ALL_EVENTS)
		return err
	}},
	// In the world's directory, as the jail may have a /dev/shm of its own.
	{"shared memory file of another", "EACCES", func(w world) error { return read(w.Shm) }},
}

var allowedProbes = []probe{
	{"read system", "", func(world) error { return read("/usr/bin/env") }},
	{"read readable", "", func(w world) error { return read(w.ro("file")) }},
	{"list readable", "", func(w world) error { _, err := os.ReadDir(w.RO); return err }},
	{"write in", "", func(w world) error { return put(w.in("file")) }},
	{"create and remove in", "", func(w world) error {
		if err := put(w.in("new")); err != nil {
			return err
		}
		return os.Remove(w.in("new"))
	}},
	{"tree in", "", func(w world) error {
		if err := os.MkdirAll(w.in("a/b/c"), 0o755); err != nil {
			return err
		}
		return os.RemoveAll(w.in("a"))
	}},
	{"truncate in", "", func(w world) error { return os.Truncate(w.in("file"), 0) }},
	{"rename across directories", "", func(w world) error { return unix.Rename(w.in("file"), w.in("dir/file")) }},
	{"link across directories", "", func(w world) error { return unix.Link(w.in("file"), w.in("dir/file")) }},
	{"symlink in", "", func(w world) error { return os.Symlink("anything", w.in("new")) }},
	{"mkfifo in", "", func(w world) error { return unix.Mkfifo(w.in("new"), 0o644) }},
	{"chmod in", "", func(w world) error { return os.Chmod(w.in("file"), 0o1600) }},
	{"devices", "", func(world) error {
		for _, name := range []string{"/dev/null", "/dev/zero"} {
			if err := put(name); err != nil {
				return err
			}
		}
		f, err := os.Open("/dev/urandom")
		if err != nil {
			return err
		}
		_, err = f.Read(make([]byte, 8))
		return err
	}},
	{"run a program", "", func(world) error { return execute("/bin/sh", "-c", "true | true; (true &) ; exit 0") }},
	{"end an own child", "", func(world) error {
		cmd := exec.Command("/bin/sleep", "1000")
		if err := cmd.Start(); err != nil {
			return err
		}
		if err := cmd.Process.Kill(); err != nil {
			return err
		}
		cmd.Wait()
		return nil
	}},
	{"socket pair", "", func(world) error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		return err
	}},
	{"own limits and niceness", "", func(world) error {
		if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
			return err
		}
		return unix.Setpriority(unix.PRIO_PROCESS, 0, 10)
	}},
}

func TestProbeNamesAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range slices.Concat(fileProbes, socketProbes, processProbes, kernelProbes, allowedProbes, rootProbes) {
		if seen[p.name] {
			t.Errorf("two probes are named %q", p.name)
		}
		seen[p.name] = true
	}
	for _, p := range portProbes {
		if seen[p.name] {
			t.Errorf("two probes are named %q", p.name)
		}
		seen[p.name] = true
	}
}
