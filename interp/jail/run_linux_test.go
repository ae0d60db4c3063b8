package jail_test

import (
	"bytes"
	"context"
	"errors"
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

func TestResult(t *testing.T) {
	t.Parallel()
	needJail(t)
	p := policy(t, tempDir(t))
	for _, tc := range []struct {
		script string
		code   int
		signal string
	}{
		{"exit 0", 0, ""},
		{"exit 7", 7, ""},
		{"kill -TERM $$", -1, "SIGTERM"},
		{"kill -KILL $$", -1, "SIGKILL"},
		{"(exit 3) & wait $!", 3, ""},
	} {
		res := shell(t, p, tc.script)
		if res.ExitCode != tc.code || res.Signal != tc.signal || res.TimedOut || res.OutputCapped {
			t.Errorf("%s: %+v", tc.script, res)
		}
		if res.OK() != (tc.code == 0) {
			t.Errorf("%s: OK is %v", tc.script, res.OK())
		}
	}
}

func TestInputAndOutput(t *testing.T) {
	t.Parallel()
	needJail(t)
	p := policy(t, tempDir(t))
	stdin := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	res, err := jail.Run(context.Background(), self(t), p, jail.Command{
		Path: "/bin/sh", Args: []string{"-c", `cat; printf '%s.' "$0" "$@" >&2`, "a b", "", "\xff"}, Stdin: stdin,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(res.Stdout, stdin) || string(res.Stderr) != "a b..\xff." {
		t.Errorf("%d bytes, stderr %q", len(res.Stdout), res.Stderr)
	}
	if res := shell(t, p, "cat | wc -c"); firstLine(res.Stdout) != "0" {
		t.Errorf("standard input of nothing: %+v", res)
	}
}

// The command finds the standard three descriptors and no other, whatever the

// caller leaves open.

func TestDescriptors(t *testing.T) {
	t.Parallel()
	needJail(t)
	dir := tempDir(t)
	secret := filepath.Join(tempDir(t), "secret")
	write(t, secret, "the secret", 0o600)
	fd, err := unix.Open(secret, unix.O_RDWR, 0) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	const at = 57
	if err := unix.Dup2(fd, at); err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	t.Cleanup(func() { unix.Close(at) })
	script := `for fd in 3 4 5 6 7 8 9 57; do if (eval "exec 99<&$fd") 2>/dev/null; then echo open $fd; fi; done`
	cmd := exec.Command("/bin/bash", "-c", script)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "open 57") {
		t.Skipf("without a jail: %v, %s", err, out)
	}
	if res := run(t, policy(t, dir), "/bin/bash", "-c", script); !res.OK() || len(res.Stdout) > 0 {
		t.Errorf("%s%s", res.Stdout, res.Stderr)
	}
}

func TestEnvironment(t *testing.T) {
	needJail(t)
	t.Setenv("STEPS_JAIL_TEST_SECRET", "hunter2")
	if out, err := exec.Command("/usr/bin/env").Output(); err != nil || !strings.Contains(string(out), "hunter2") {
		t.Fatalf("without a jail: %v, %s", err, out)
	}
	p := policy(t, tempDir(t))
	p.Env = []string{"B=2", "A=1"}
	if res := run(t, p, "/usr/bin/env"); string(res.Stdout) != "B=2\nA=1\n" {
		t.Errorf("%q", res.Stdout)
	}
}

// Every attribute of the process that the policy does not set is a fixed one.
func TestProcessAttributes(t *testing.T) {
	t.Parallel()
	needJail(t)
	dir := tempDir(t)
	p := policy(t, dir)
	p.Limits = jail.Limits{CPU: 1500 * time.Millisecond, FileSize: 512 * 1024, OpenFiles: 33, Processes: 999, Memory: 1 << 30}
	script := `umask; pwd; ulimit -c; ulimit -t; ulimit -f; ulimit -n; ulimit -u; ulimit -v`
	want := "0022\n" + dir + "\n0\n2\n512\n33\n999\n1048576\n"
	if res := run(t, p, "/bin/bash", "-c", script); string(res.Stdout) != want {
		t.Errorf("got %q, want %q\n%s", res.Stdout, want, res.Stderr)
	}
}

// /proc is no default grant, but a test may read one process's status from
// outside while it sleeps.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	for i, m := range modes(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			tag := "1000.0" + strconv.Itoa(i) + strconv.Itoa(os.Getpid())
			dir := tempDir(t)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				_, err := jail.RunWith(ctx, self(t), policy(t, dir), jail.Command{
					Path: "/bin/sh", Args: []string{"-c", "exec sleep " + tag},
				}, m.support)
				done <- err
			}()
			pid := await(t, "sleep\x00"+tag+"\x00")
			status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range []string{
				"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapAmb:\t0000000000000000",
				"NoNewPrivs:\t1", "Seccomp:\t2", "SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000",
			} {
				if !strings.Contains(string(status), line) {
					t.Errorf("no %q in\n%s", line, status)
				}
			}
			if (os.Getuid() == 0 || m.support.Namespaces) && !strings.Contains(string(status), "CapBnd:\t0000000000000000") {
				t.Errorf("the bounding set is not empty:\n%s", status)
			}
			if sid, err := unix.Getsid(pid); err != nil || sid != pid {
				t.Errorf("session %d of process %d, %v", sid, pid, err)
			}
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled run: %v", err)
			}
		})
	}
}

// Where the kernel does not tell of denials, the reason is told.
func TestReport(t *testing.T) {
	t.Parallel()
	needJail(t)
	p := policy(t, tempDir(t))
	p.Report = true
	res := shell(t, p, "cat /usr/bin/env >/dev/null; ls / >/dev/null")
	if res.ReportGap == "" {
		t.Errorf("%+v", res)
	}
	for _, d := range res.Denied {
		if d.What == "" || d.By != "landlock" {
			t.Errorf("%+v", d)
		}
	}
	t.Log(res.ReportGap, res.Denied)
	p.Report = false
	if res := shell(t, p, "true"); res.ReportGap != "" || res.Denied != nil {
		t.Errorf("%+v", res)
	}
}
