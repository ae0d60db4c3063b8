package e2e

import (
	"os/exec"
	"syscall"
)

// withParent has the kernel end a process with this one, even if this one is killed or
// runs into go test's time limit.
func withParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
