package jail_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"steps.example/interp/jail"
)

// The price of a jail: a plain command's time, that of the helper starting one
// without a jail, and that of each kind of jail.
func BenchmarkTrue(b *testing.B) {
	needJail(b)
	dir := tempDir(b)
	helper, bare := dir+"/steps-jail", dir+"/bare"
	for _, build := range [][]string{
		{"build", "-trimpath", "-ldflags=-s", "-o", helper, "steps.example/cmd/steps-jail"},
		{"build", "-trimpath", "-ldflags=-s", "-o", bare, "steps.example/conformance/bench/bareexec"},
	} {
		cmd := exec.Command("go", build...)
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Skipf("building the helper: %v\n%s", err, out)
		}
	}
	if err := os.Mkdir(dir+"/in", 0o755); err != nil {
		b.Fatal(err)
	}
	p := policy(b, dir+"/in")
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bare helper", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command(bare, "/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, m := range modes(b) {
		b.Run(m.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := jail.RunWith(context.Background(), helper, p, jail.Command{Path: "/bin/true"}, m.support); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
