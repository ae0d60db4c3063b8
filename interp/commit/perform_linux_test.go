package commit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func mountLayer(l *Layer) error {
	return unix.Mount("overlay", l.Dir, "overlay", 0,
		fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,userxattr", l.Dir, l.Upper, l.Work))
}

// dropRights gives up all capabilities, on the one thread that it stays on.
func dropRights() error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&head, &none[0])
}

// perform runs a script in a user namespace, as the jail does.
func perform(t testing.TB, s script) string {
	t.Helper()
	out, err := performErr(s)
	if err != nil {
		t.Fatalf("script: %v", err)
	}
	return out
}

func performErr(s script) (string, error) {
	in, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), scriptEnv+"=1")
	cmd.Stdin = bytes.NewReader(in)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
		// What overlayfs does by itself it does with the rights at the mount.
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN, unix.CAP_FSETID},
	}
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return string(out), err
}

var overlayWorks = sync.OnceValue(func() error {
	dir, err := os.MkdirTemp("", "steps-overlay")
	if err != nil {
		return err
	}
	defer func() { loosen(dir); os.RemoveAll(dir) }()
	l := &Layer{Dir: filepath.Join(dir, "l"), Upper: filepath.Join(dir, "u"), Work: filepath.Join(dir, "w")}
	for _, d := range []string{l.Dir, l.Upper, l.Work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	_, err = performErr(script{Dir: l.Dir, Layer: l})
	return err
})

func needOverlay(t testing.TB) {
	t.Helper()
	if err := overlayWorks(); err != nil {
		t.Skipf("needs overlayfs with userxattr (Linux 5.11) in a user namespace: %v", err)
	}
}
