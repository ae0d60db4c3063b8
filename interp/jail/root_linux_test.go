package jail_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// rootProbes are what a private root and read-only mounts add.
var rootProbes = []probe{
	{"size outside", "ENOENT", func(w world) error { _, err := os.Stat(w.out("file")); return err }},
	{"existence outside", "ENOENT", func(w world) error { return unix.Access(w.Out, unix.F_OK) }},
	{"directory outside", "ENOENT", func(w world) error { return os.Chdir(w.Out) }},
	{"attributes outside", "ENOENT", func(w world) error {
		_, err := unix.Getxattr(w.out("file"), "user.x", nil)
		if err == unix.ENODATA {
			return nil
		}
		return err
	}},
	{"home", "ENOENT", func(world) error { _, err := os.Stat("/root"); return err }},
	{"machine state", "ENOENT", func(world) error { _, err := os.Stat("/proc/sys/kernel/osrelease"); return err }},
	{"device list", "ENOENT", func(world) error { _, err := os.Stat("/dev/kmsg"); return err }},
	{"mode outside", "ENOENT", func(w world) error { return os.Chmod(w.out("file"), 0o600) }},
	{"mode readable", "EROFS", func(w world) error { return os.Chmod(w.ro("file"), 0o600) }},
	{"times readable", "EROFS", func(w world) error { return unix.UtimesNano(w.ro("file"), []unix.Timespec{{}, {}}) }},
	{"owner readable", "EROFS", func(w world) error { return os.Chown(w.ro("file"), os.Getuid(), -1) }},
	{"mode of a directory", "EROFS", func(w world) error { return os.Chmod(w.RO, 0o700) }},
	{"mode of a device", "EROFS EPERM", func(world) error { return sameMode("/dev/null") }},
	{"mode of the root", "EROFS", func(world) error { return sameMode("/") }},
	{"file in the root", "EROFS EACCES", func(world) error {
		const name = "/steps-jail-test"
		defer os.Remove(name)
		return put(name)
	}},
}

// sameMode sets the mode that there is: the control leaves no trace.
func sameMode(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return fmt.Errorf("looking: %v", err)
	}
	return unix.Chmod(path, st.Mode&0o7777)
}

func TestNamesAndMetadata(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	for _, tc := range rootProbes {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if out, err := plain(t, w, tc.name); err != nil {
				t.Skipf("without a jail: %s", out)
			}
			p := policy(t, w.In)
			p.Reads = append(p.Reads, w.RO)
			p.Require = []string{"names", "metadata"}
			res := run(t, p, self(t), "probe", tc.name, w.encode(t))
			if got := firstLine(res.Stdout); res.ExitCode != 1 || !strings.Contains(" "+tc.deny+" ", " "+got+" ") {
				t.Errorf("exit %d, %q, want %s\n%s%s", res.ExitCode, got, tc.deny, res.Stdout, res.Stderr)
			}
		})
	}
}

// Grants may lie in each other; the greater right holds.
func TestGrantsInEachOther(t *testing.T) {
	t.Parallel()
	for _, m := range modes(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			base := tempDir(t)
			for _, dir := range []string{"ro/rw/deep", "rw/ro", "rw/tools"} {
				if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			write(t, base+"/ro/file", "x", 0o644)
			write(t, base+"/rw/tools/tool", "#!/bin/sh\necho ran\n", 0o755)
			p := policy(t, base+"/rw")
			p.Reads = append(p.Reads, base+"/ro", base+"/ro/rw", base+"/rw/ro", base+"/ro/file", "/usr/bin")
			p.Writes = append(p.Writes, base+"/ro/rw", base+"/ro/rw/deep")
			p.Execs = append(p.Execs, base+"/rw/tools")
			res := m.run(t, p, "/bin/sh", "-c", `cd "$0"; set -e
				cat ro/file; echo y >ro/rw/new; echo y >ro/rw/deep/new; mv ro/rw/deep/new ro/rw/moved; echo y >rw/ro/new; rw/tools/tool
				! echo y >ro/new 2>/dev/null; ! echo y >ro/file 2>/dev/null`, base)
			if !res.OK() || string(res.Stdout) != "xran\n" {
				t.Errorf("exit %d\n%s%s", res.ExitCode, res.Stdout, res.Stderr)
			}
			for _, name := range []string{"ro/rw/new", "ro/rw/moved", "rw/ro/new"} {
				if _, err := os.Stat(filepath.Join(base, name)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// /tmp and /dev/shm are the command's own, and gone with it.
func TestScratch(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	p := policy(t, tempDir(t))
	const name = "steps-jail-test-scratch"
	script := "set -e; for d in /tmp /dev/shm; do test ! -e $d/" + name + "; echo x >$d/" + name + "; cat $d/" + name + "; done"
	for range 2 {
		if res := shell(t, p, script); !res.OK() {
			t.Errorf("exit %d\n%s", res.ExitCode, res.Stderr)
		}
	}
	for _, dir := range []string{"/tmp", "/dev/shm"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s/%s is outside", dir, name)
		}
	}
	if res := shell(t, p, "fallocate -l 2G /tmp/big"); res.OK() || !strings.Contains(string(res.Stderr), "No space") {
		t.Errorf("two gigabytes of scratch: exit %d\n%s", res.ExitCode, res.Stderr)
	}
	if res := shell(t, p, "mkfifo /tmp/p && ! python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"/tmp/s\")' 2>/dev/null"); !res.OK() {
		t.Errorf("sockets in scratch: %s", res.Stderr)
	}
}

// The names by which the system's files are known work in a private root.
func TestSystemLinks(t *testing.T) {
	t.Parallel()
	p := policy(t, tempDir(t))
	var names []string
	for _, name := range []string{"/bin/sh", "/lib64", "/sbin", "/etc/localtime", "/etc/resolv.conf", "/etc/os-release", "/etc/ssl/certs", "/dev/fd"} {
		if _, err := os.Stat(name); err == nil {
			names = append(names, name)
		}
	}
	for _, m := range modes(t) {
		res := m.run(t, p, "/bin/sh", "-c", `for f in "$@"; do test -e "$f" || echo "$f"; done; date >/dev/null; exec /bin/sh -c 'exec cat <&0' `, "sh", strings.Join(names, `" "`))
		if !res.OK() || len(res.Stderr) > 0 {
			t.Errorf("%s: %s%s", m.name, res.Stdout, res.Stderr)
		}
		for _, name := range names {
			if res := m.run(t, p, "/usr/bin/test", "-e", name); !res.OK() {
				t.Errorf("%s: no %s", m.name, name)
			}
		}
	}
}

// A start without namespaces is no silent loss.
func TestFallback(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	for _, tc := range []struct{ require, want string }{{"", "names=none"}, {"names", "cannot keep: names"}} {
		w := newWorld(t)
		p := policy(t, w.In)
		if tc.require != "" {
			p.Require = []string{tc.require}
		}
		out, err := fallback(t, p, w)
		if (err == nil) != (tc.require == "") || !strings.Contains(out, tc.want) {
			t.Errorf("require %q: %v\n%s", tc.require, err, out)
		}
	}
}

// Root has a limit on processes too, and the machine's own stays.
func TestProcessLimit(t *testing.T) {
	t.Parallel()
	before, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil {
		t.Skip(err)
	}
	for _, m := range modes(t) {
		if os.Getuid() == 0 && !(m.support.Namespaces && kernelFrom614(t)) {
			continue
		}
		p := policy(t, tempDir(t))
		p.Limits.Processes = 400
		if os.Getuid() != 0 && !m.support.Namespaces {
			continue // counts what else the user runs
		}
		res := m.run(t, p, "/bin/sh", "-c", "for i in $(seq 600); do sleep 5 & done; echo all")
		if res.OK() && strings.Contains(string(res.Stdout), "all") && !strings.Contains(string(res.Stderr), "ork") {
			t.Errorf("%s: 600 processes: exit %d\n%s%s", m.name, res.ExitCode, res.Stdout, res.Stderr)
		}
	}
	if after, err := os.ReadFile("/proc/sys/kernel/pid_max"); err != nil || string(after) != string(before) {
		t.Errorf("pid_max was %s, is %s", before, after)
	}
}

func kernelFrom614(t *testing.T) bool {
	t.Helper()
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return major > 6 || major == 6 && minor >= 14
}
