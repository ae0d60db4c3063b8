package jail_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// The suite passes for ordinary users too: root runs it as one, without what
// takes long and is the same for all.
func TestSuiteAsNobody(t *testing.T) {
	t.Parallel()
	needJail(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	if testing.Short() {
		t.Skip("the suite once is enough in short mode")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "steps-jail-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "test")
	if err := copyProgram(program); err != nil {
		t.Fatal(err)
	}
	tmp := filepath.Join(dir, "tmp")
	for _, do := range []error{os.Chmod(dir, 0o755), os.Mkdir(tmp, 0o700), os.Chown(tmp, nobody, nobody)} {
		if do != nil {
			t.Fatal(do)
		}
	}
	cmd := exec.Command(program, "-test.run=^TestSuite$", "-test.v", "-test.short")
	cmd.Dir = tmp
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "HOME="+tmp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// copyProgram copies this program to where others can execute it.
func copyProgram(path string) error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer self.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, self); err != nil {
		return err
	}
	return out.Close()
}
