package main

import (
	"os/exec"
	"strings"
	"testing"
)

// The helper's start is paid by every run step, so what it links is listed.
func TestDependencies(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		allowed := false
		for _, prefix := range []string{
			"steps.example/cmd/steps-jail", "steps.example/interp/jail",
			"github.com/landlock-lsm/go-landlock/", "golang.org/x/sys/", "kernel.org/pub/linux/libs/security/libcap/psx",
		} {
			allowed = allowed || strings.HasPrefix(path, prefix)
		}
		if !allowed {
			t.Errorf("the helper links %s", path)
		}
	}
}
