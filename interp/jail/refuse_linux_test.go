package jail_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"steps.example/interp/jail"
	"steps.example/interp/jail/internal/wire"
)

func TestNotExecuted(t *testing.T) {
	t.Parallel()
	needJail(t)
	dir := tempDir(t)
	p := policy(t, dir)
	write(t, filepath.Join(dir, "tool"), "#!/bin/sh\n", 0o755)
	for _, tc := range []struct {
		path string
		want error
	}{
		{"/usr/bin/no-such-program", fs.ErrNotExist},
		{filepath.Join(dir, "tool"), fs.ErrPermission},
		{"/usr", fs.ErrPermission},
	} {
		_, err := jail.Run(context.Background(), self(t), p, jail.Command{Path: tc.path})
		var execErr *jail.ExecError
		if !errors.As(err, &execErr) || !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", tc.path, err)
		}
	}
	p.Execs = append(p.Execs, filepath.Join(dir, "tool"))
	if res := run(t, p, filepath.Join(dir, "tool")); !res.OK() {
		t.Errorf("granted: %+v", res)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	needJail(t)
	dir := tempDir(t)
	if err := os.Symlink(dir, dir+"-link"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(dir + "-link") })
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := jail.Check()
	for _, tc := range []struct {
		name, want string
		change     func(*jail.Policy, *jail.Support)
	}{
		{"no landlock", "cannot keep: writes, reads, exec", func(_ *jail.Policy, s *jail.Support) { *s = jail.Support{Seccomp: true} }},
		{"landlock too old", "cannot keep: writes, reads, exec", func(_ *jail.Policy, s *jail.Support) { s.Landlock = 2 }},
		{"no seccomp", "cannot keep: network", func(_ *jail.Policy, s *jail.Support) { s.Seccomp = false }},
		{"no signal scope", "accept each as a gap", func(_ *jail.Policy, s *jail.Support) { s.Landlock = 5 }},
		{"neither scope nor /proc", "cannot keep: signals, tree-kill", func(p *jail.Policy, s *jail.Support) { s.Landlock, s.Proc = 5, false }},
		{"landlock newer than any", "landlock", func(_ *jail.Policy, s *jail.Support) { s.Landlock = 12 }},
		{"landlock newer than the kernel's", "landlock abi", func(_ *jail.Policy, s *jail.Support) { s.Landlock += 2 }},
		{"gap of no guarantee", "no guarantee has this name", func(p *jail.Policy, _ *jail.Support) { p.Gaps = []string{"wirtes"} }},
		{"gap that matters", "cannot be given up", func(p *jail.Policy, _ *jail.Support) { p.Gaps = []string{"writes"} }},
		{"missing grant", "no such file", func(p *jail.Policy, _ *jail.Support) { p.Reads = []string{dir + "/missing"} }},
		{"grant through a link", "symbolic link", func(p *jail.Policy, _ *jail.Support) { p.Writes = append(p.Writes, dir+"-link") }},
		{"grant below a link", "symbolic link", func(p *jail.Policy, _ *jail.Support) {
			p.Reads = append(p.Reads, dir+"-link/sub")
			os.Mkdir(dir+"/sub", 0o755)
		}},
		{"grant of a fifo", "neither a directory nor a regular file", func(p *jail.Policy, _ *jail.Support) { p.Writes = append(p.Writes, dir+"/fifo") }},
		{"directory under no grant", "under no granted", func(p *jail.Policy, _ *jail.Support) { p.Dir = dir + "-link" }},
		{"directory through a link", "symbolic link", func(p *jail.Policy, _ *jail.Support) {
			os.Symlink("/usr/bin", dir+"/bin")
			p.Dir = dir + "/bin"
		}},
		{"directory is a file", "working directory", func(p *jail.Policy, _ *jail.Support) { p.Dir = "/usr/bin/env" }},
		{"helper below a layer", "under the layer", func(p *jail.Policy, s *jail.Support) {
			s.Namespaces = true
			p.Layers = []jail.Layer{{Dir: dir, Upper: filepath.Dir(self(t)), Work: "/no/such"}}
		}},
		{"helper in a writable directory", "helper", func(p *jail.Policy, _ *jail.Support) { p.Writes = append(p.Writes, filepath.Dir(self(t))) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, s := policy(t, dir), s
			s.Namespaces = false
			tc.change(&p, &s)
			marker := filepath.Join(dir, "ran")
			res, err := jail.RunWith(context.Background(), self(t), p, jail.Command{Path: "/bin/sh", Args: []string{"-c", "echo >" + marker}}, s)
			if err == nil {
				t.Errorf("ran: %+v", res)
			} else if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("refused with %v, want %q", err, tc.want)
			}
			if _, err := os.Lstat(marker); err == nil {
				t.Error("the command ran")
			}
		})
	}
}

func TestHelperByHand(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(self(t))
	cmd.Args = []string{wire.Arg0, wire.Arg1}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "not sealed memory") {
		t.Errorf("%v, %s", err, out)
	}
}

func TestHelperIsFound(t *testing.T) {
	t.Parallel()
	want := self(t)
	if beside := filepath.Join(filepath.Dir(want), "steps-jail"); read(beside) == nil {
		want = beside
	}
	got, err := jail.Helper()
	if err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
}
