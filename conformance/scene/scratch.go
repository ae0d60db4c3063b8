package scene

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Scratch makes a directory for worlds that are made and removed many times: in
// memory where there is such a place and TMPDIR does not name another one. The caller
// removes it, with [RemoveAll]. A command in a jail is never granted what is in
// memory, so the worlds of scenes with one need slow.
func Scratch(name string, slow bool) (string, error) {
	const memory = "/dev/shm"
	dir := os.TempDir()
	if !slow && os.Getenv("TMPDIR") == "" && unix.Access(memory, unix.W_OK|unix.X_OK) == nil {
		dir = memory
	}
	base, err := os.MkdirTemp(dir, name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(base)
}
