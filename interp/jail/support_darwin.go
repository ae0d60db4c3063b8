package jail

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"

	"steps.example/interp/jail/internal/cage"
)

// nestedStatus is the exit status of sandbox-exec when the kernel refuses the
// profile, as it does for every process that is in a sandbox already.
const nestedStatus = 71

// trySandbox is tried once: it costs about as much as starting two programs.
var trySandbox = sync.OnceValue(func() error {
	info, err := os.Stat(cage.SandboxExec)
	if err != nil {
		return fmt.Errorf("sandbox-exec, which is part of macOS, is not there: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is no program", cage.SandboxExec)
	}
	cmd := exec.Command(cage.SandboxExec, "-p", "(version 1)(allow default)", "/usr/bin/true")
	cmd.Env = []string{}
	out, err := cmd.CombinedOutput()
	var status *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &status) && status.ExitCode() == nestedStatus:
		// No test can show that the outer sandbox is enough: the caller of the
		// jail is in it too, and processes of one sandbox reach each other.
		return errors.New("this process is in a sandbox of macOS, and there can be none inside it; run steps outside of it")
	default:
		return fmt.Errorf("sandbox-exec does not work: %v: %s", err, Printable(out))
	}
})

// Check reports what this machine offers. It changes nothing, here or
// elsewhere, and needs no rights.
func Check() Support {
	s := Support{System: runtime.GOOS + "/" + runtime.GOARCH}
	if err := trySandbox(); err != nil {
		s.Missing = append(s.Missing, err.Error())
	} else {
		s.Seatbelt = true
	}
	return s
}
