package jail_test

import (
	"context"
	"os/exec"
	"testing"

	"steps.example/interp/jail"
)

// The price of a jail: its own time, a plain command's, and that of starting
// and ending the helper alone, which is most of the difference.
func BenchmarkTrue(b *testing.B) {
	needJail(b)
	helper := tempDir(b) + "/steps-jail"
	build := exec.Command("go", "build", "-o", helper, "steps.example/cmd/steps-jail")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Skipf("building the helper: %v\n%s", err, out)
	}
	p := policy(b, tempDir(b))
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("helper", func(b *testing.B) {
		for b.Loop() {
			exec.Command(helper).Run() // says that it is not for use by hand
		}
	})
	b.Run("jailed", func(b *testing.B) {
		for b.Loop() {
			if _, err := jail.Run(context.Background(), helper, p, jail.Command{Path: "/bin/true"}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
