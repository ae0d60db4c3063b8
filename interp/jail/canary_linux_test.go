package jail_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"steps.example/interp/jail"
	"steps.example/interp/jail/internal/wire"
)

func TestCanary(t *testing.T) {
	for _, m := range modes(t) {
		dir := tempDir(t)
		t.Setenv("TMPDIR", dir)
		report, err := jail.CanaryOn(context.Background(), self(t), m.support)
		if err != nil || !report.OK || len(report.Surprises) > 0 || report.Mechanisms["writes"] == "" {
			t.Errorf("%s: %+v, %v", m.name, report, err)
		}
		if names, _ := filepath.Glob(dir + "/*"); len(names) > 0 {
			t.Errorf("%s: left behind: %v", m.name, names)
		}
	}
}

// Without a jail the canary notices that there is none.
func TestCanaryNotices(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	for _, side := range []string{"in", "out"} {
		if err := os.Mkdir(filepath.Join(dir, side), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, side, "file"), "#!/bin/sh\n", 0o644)
		write(t, filepath.Join(dir, side, "tool"), "#!/bin/sh\n", 0o755)
	}
	out, err := exec.Command(self(t), wire.Canary, dir, strconv.Itoa(os.Getpid()), "metadata", "names").CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"read outside", "list outside", "write outside", "move from outside", "execute what it can write",
		"internet socket", "unix socket", "signal the caller", "limit the caller", "set-user-id", "mode outside",
	} {
		if !strings.Contains(string(out), name+": not denied\n") {
			t.Errorf("%s is not noticed in\n%s", name, out)
		}
	}
}
