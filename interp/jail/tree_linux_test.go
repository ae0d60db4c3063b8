package jail_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail"
)

func await(t testing.TB, cmdline string) int {
	t.Helper()
	for range 2000 {
		if pids := find(cmdline); len(pids) > 0 {
			return pids[0]
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("no process %q", cmdline)
	return 0
}

func find(cmdline string) []int {
	var pids []int
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil && string(data) == cmdline {
			pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

const daemons = `
for n in 1 2 3; do setsid sh -c "setsid sleep $TAG & setsid sleep $TAG & sleep $TAG" & done
nohup sleep $TAG >/dev/null 2>&1 &
(trap '' TERM HUP INT; sleep $TAG) &
setsid sh -c 'while :; do setsid sleep '$TAG' & sleep 0.05; done' &
sleep 0.5
`

func TestDaemonsDieWithTheCommand(t *testing.T) {
	t.Parallel()
	needJail(t)
	bystander := newWorld(t).Victim
	t.Cleanup(func() {
		if err := unix.Kill(bystander, 0); err != nil {
			t.Errorf("a process outside died too: %v", err)
		}
	})
	for i, tc := range []struct {
		name, end string
		limits    jail.Limits
		support   func(jail.Support) jail.Support
		gaps      []string
		check     func(*jail.Result) bool
	}{
		{"exit", "exit 0", jail.Limits{}, nil, nil, func(r *jail.Result) bool { return r.OK() }},
		{"timeout", "sleep $TAG", jail.Limits{Wall: 2 * time.Second}, nil, nil, func(r *jail.Result) bool {
			return r.TimedOut && r.Signal == "SIGKILL" && !r.OK()
		}},
		{"flood", "exec cat /dev/zero", jail.Limits{OutputBytes: 1 << 20}, nil, nil, func(r *jail.Result) bool {
			return r.OutputCapped && len(r.Stdout) == 1<<20 && !r.OK()
		}},
		{"exit without namespaces", "exit 0", jail.Limits{}, func(s jail.Support) jail.Support { s.Namespaces = false; return s }, nil,
			func(r *jail.Result) bool { return r.OK() && r.Mechanisms["signals"] != "pid namespace" }},
		{"exit without scopes", "exit 0", jail.Limits{}, abi(5), []string{"signals"}, func(r *jail.Result) bool {
			return r.OK() && r.Mechanisms["signals"] == "accepted gap"
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tag := "1000." + strconv.Itoa(i) + strconv.Itoa(os.Getpid())
			p := policy(t, tempDir(t))
			p.Env = append(p.Env, "TAG="+tag)
			p.Limits = tc.limits
			p.Gaps = tc.gaps
			s := jail.Check()
			if tc.support != nil {
				s = tc.support(s)
			}
			res, err := jail.RunWith(context.Background(), self(t), p, jail.Command{Path: "/bin/sh", Args: []string{"-c", daemons + tc.end}}, s)
			if err != nil {
				t.Fatal(err)
			}
			if left := find("sleep\x00" + tag + "\x00"); len(left) > 0 {
				t.Errorf("processes left: %v", left)
			}
			if !tc.check(res) {
				t.Errorf("%d %q timed out %v capped %v, %d bytes, %s", res.ExitCode, res.Signal, res.TimedOut, res.OutputCapped, len(res.Stdout), res.Stderr)
			}
		})
	}
	// The control: without a jail the same script leaves processes behind.
	t.Run("control", func(t *testing.T) {
		t.Parallel()
		tag := "1000.9" + strconv.Itoa(os.Getpid())
		cmd := exec.Command("/bin/sh", "-c", "setsid sleep "+tag+" & exit 0")
		if err := cmd.Run(); err != nil {
			t.Skip(err)
		}
		unix.Kill(await(t, "sleep\x00"+tag+"\x00"), unix.SIGKILL)
	})
}

func abi(n int) func(jail.Support) jail.Support {
	return func(s jail.Support) jail.Support {
		s.Landlock, s.Namespaces = min(s.Landlock, n), false
		return s
	}
}

func TestForkBomb(t *testing.T) {
	t.Parallel()
	for _, m := range modes(t) {
		t.Run(m.name, func(t *testing.T) {
			if m.support.Landlock < scopeABI && !m.support.Namespaces {
				t.Skip("no landlock signal scope and no namespaces")
			}
			p := policy(t, tempDir(t))
			p.Limits.Wall = time.Second
			tag := "1000.7" + strconv.Itoa(os.Getpid())
			p.Limits.Processes = 2000
			res := m.run(t, p, "/bin/sh", "-c", `while :; do (setsid sleep `+tag+` & setsid sh -c 'setsid sleep `+tag+` & sleep `+tag+`' &); done`)
			if !res.TimedOut {
				t.Errorf("%+v", res)
			}
			if left := find("sleep\x00" + tag + "\x00"); len(left) > 0 {
				t.Errorf("processes left: %v", left)
			}
		})
	}
}

// scopeABI is the first Landlock version that confines signals.
const scopeABI = 6

func TestHelperKilled(t *testing.T) {
	t.Parallel()
	for i, m := range modes(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			tag := "1000.8" + strconv.Itoa(i) + strconv.Itoa(os.Getpid())
			done := make(chan error, 1)
			go func() {
				_, err := jail.RunWith(context.Background(), self(t), policy(t, tempDir(t)), jail.Command{Path: "/bin/sleep", Args: []string{tag}}, m.support)
				done <- err
			}()
			pid := await(t, "/bin/sleep\x00"+tag+"\x00")
			stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			if err != nil {
				t.Fatal(err)
			}
			helper, _ := strconv.Atoi(strings.Fields(string(stat))[3])
			unix.Kill(helper, unix.SIGKILL)
			if err := <-done; err == nil || !strings.Contains(err.Error(), "without a report") {
				t.Errorf("run with a killed helper: %v", err)
			}
			awaitEnd(t, "/bin/sleep\x00"+tag+"\x00")
		})
	}
}

// With a pid namespace the whole tree goes with the helper, not just the
// command.
func TestHelperKilledWithDaemons(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	tag := "1000.5" + strconv.Itoa(os.Getpid())
	done := make(chan error, 1)
	p := policy(t, tempDir(t))
	go func() {
		_, err := jail.Run(context.Background(), self(t), p, jail.Command{Path: "/bin/sh", Args: []string{"-c",
			"setsid sh -c 'setsid sleep " + tag + " &' & exec sleep " + tag + "0"}})
		done <- err
	}()
	pid := await(t, "sleep\x00"+tag+"0\x00")
	await(t, "sleep\x00"+tag+"\x00")
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	helper, _ := strconv.Atoi(strings.Fields(string(stat))[3])
	unix.Kill(helper, unix.SIGKILL)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "and the command with it") {
		t.Errorf("run with a killed helper: %v", err)
	}
	// The end of the helper is told after that of its namespace.
	if left := find("sleep\x00" + tag + "\x00"); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
}

func TestCallerKilled(t *testing.T) {
	t.Parallel()
	for i, m := range modes(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			tag := "1000.6" + strconv.Itoa(i) + strconv.Itoa(os.Getpid())
			caller := exec.Command(self(t), "-test.run=^TestRunForever$")
			caller.Env = append(os.Environ(), "STEPS_JAIL_TEST_FOREVER="+tag, "STEPS_JAIL_TEST_DIR="+tempDir(t), "STEPS_JAIL_TEST_MODE="+m.name)
			if err := caller.Start(); err != nil {
				t.Fatal(err)
			}
			await(t, "sleep\x00"+tag+"\x00")
			caller.Process.Kill()
			caller.Wait()
			awaitEnd(t, "sleep\x00"+tag+"\x00")
		})
	}
}

func awaitEnd(t testing.TB, cmdline string) {
	t.Helper()
	for range 2000 {
		if len(find(cmdline)) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("%q lives on", cmdline)
}

func TestRunForever(t *testing.T) {
	tag := os.Getenv("STEPS_JAIL_TEST_FOREVER")
	if tag == "" {
		t.Skip("part of TestCallerKilled")
	}
	p := policy(t, os.Getenv("STEPS_JAIL_TEST_DIR"))
	for _, m := range modes(t) {
		if m.name == os.Getenv("STEPS_JAIL_TEST_MODE") {
			m.run(t, p, "/bin/sh", "-c", "setsid sh -c 'setsid sleep "+tag+" & sleep "+tag+"' & sleep "+tag)
		}
	}
}
