package jail_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail"
)

// confined is a process of this test that lacks something, and there runs a
// jail with a probe.
type confined struct {
	Without string // what is taken away first
	Late    bool   // only after the jail has looked at the machine
	Policy  jail.Policy
	Self    string
	Probe   string
	World   string
}

// runConfined prints the mechanisms of the jail, or its error with status 3.
func runConfined(encoded string) int {
	var c confined
	err := json.Unmarshal([]byte(encoded), &c)
	var support jail.Support
	if c.Late {
		support = jail.Check()
	}
	if err == nil {
		err = takeAway(c.Without)
	}
	if err != nil {
		fmt.Println(err)
		return 2
	}
	if !c.Late {
		support = jail.Check()
	}
	res, err := jail.RunWith(context.Background(), c.Self, c.Policy, jail.Command{Path: c.Self, Args: []string{"probe", c.Probe, c.World}}, support)
	if err != nil {
		fmt.Println(err)
		return 3
	}
	for _, g := range jail.Guarantees() {
		fmt.Printf("%s=%s\n", g.Name, res.Mechanisms[g.Name])
	}
	os.Stdout.Write(res.Stdout)
	return res.ExitCode
}

// takeAway confines this whole process.
func takeAway(what string) error {
	const nr = 0
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	jump := func(op uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	ret := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	errno := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	var filter []unix.SockFilter
	switch what {
	case "":
		return nil
	case "user namespaces":
		return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	case "namespaces": // as Docker's default filter does
		filter = []unix.SockFilter{
			load(nr),
			jump(unix.BPF_JEQ, unix.SYS_UNSHARE, 5, 0),
			jump(unix.BPF_JEQ, unix.SYS_CLONE3, 5, 0),
			jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, 2),
			load(16), // the flags
			jump(unix.BPF_JSET, unix.CLONE_NEWUSER, 1, 0),
			ret(unix.SECCOMP_RET_ALLOW),
			ret(errno(unix.EPERM)),
			ret(errno(unix.ENOSYS)),
		}
	case "landlock":
		filter = []unix.SockFilter{
			load(nr),
			jump(unix.BPF_JEQ, unix.SYS_LANDLOCK_CREATE_RULESET, 0, 1),
			ret(errno(unix.ENOSYS)),
			ret(unix.SECCOMP_RET_ALLOW),
		}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return raw(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
}

// inConfined runs a probe in a jail in a process without something.
func inConfined(t *testing.T, without, probe string, wrap func(*exec.Cmd)) (string, error) {
	t.Helper()
	w := newWorld(t)
	p := policy(t, w.In)
	return confined{without, false, p, p.Execs[len(p.Execs)-1], probe, w.encode(t)}.start(t, wrap)
}

// fallback runs a jail where namespaces fail that seemed to work.
func fallback(t *testing.T, p jail.Policy, w world) (string, error) {
	t.Helper()
	return confined{"namespaces", true, p, p.Execs[len(p.Execs)-1], "run a program", w.encode(t)}.start(t, nil)
}

func (c confined) start(t *testing.T, wrap func(*exec.Cmd)) (string, error) {
	t.Helper()
	encoded, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self(t), "confined", string(encoded))
	if wrap != nil {
		wrap(cmd)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestWithoutNamespaces(t *testing.T) {
	t.Parallel()
	needJail(t)
	// In a namespace of its own the process may forbid more of them.
	owner := func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		}
	}
	for _, tc := range []struct {
		without string
		wrap    func(*exec.Cmd)
	}{{"namespaces", nil}, {"user namespaces", owner}} {
		t.Run(tc.without, func(t *testing.T) {
			t.Parallel()
			if tc.wrap != nil {
				needNamespaces(t)
			}
			out, err := inConfined(t, tc.without, "run a program", tc.wrap)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, line := range []string{"names=none", "metadata=none", "signals=landlock scope"} {
				if !strings.Contains(out, line+"\n") {
					t.Errorf("no %q in\n%s", line, out)
				}
			}
			if out, err := inConfined(t, tc.without, "read outside", tc.wrap); err == nil || !strings.Contains(out, "EACCES") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestWithoutLandlock(t *testing.T) {
	t.Parallel()
	needJail(t)
	out, err := inConfined(t, "landlock", "write in", nil)
	if err == nil || !strings.Contains(out, "cannot keep: writes, reads, exec") || !strings.Contains(out, "(landlock is absent") || strings.Count(out, "\n") != 1 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestInBubblewrap(t *testing.T) {
	t.Parallel()
	needJail(t)
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("bwrap is not installed")
	}
	for _, tc := range []struct {
		name string
		args []string
	}{
		{"everything new", []string{"--unshare-all", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc"}},
		{"no /proc", []string{"--unshare-all", "--bind", "/", "/", "--dev", "/dev", "--tmpfs", "/proc"}},
		{"foreign /proc", []string{"--unshare-all", "--bind", "/", "/", "--dev", "/dev"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if out, err := exec.Command(bwrap, append(tc.args, "/bin/true")...).CombinedOutput(); err != nil {
				t.Skipf("bwrap does not work here: %s", out)
			}
			inside := func(cmd *exec.Cmd) {
				cmd.Path, cmd.Args = bwrap, append(append([]string{bwrap}, tc.args...), cmd.Args...)
			}
			if out, err := inConfined(t, "", "run a program", inside); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if out, err := inConfined(t, "", "read outside", inside); err == nil || !strings.Contains(out, "/out/file") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
