//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// document is n steps: mkdir_p, write, symlink and set_permissions in turn.
func document(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"schema": 1, "layout": "homebrew-formula", "name": "bench", "version": "1.0", "post_install_steps": [`)
	for i := range n / 4 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `
{"type": "mkdir_p", "path": {"base": "var", "path": "d%[1]d"}},
{"type": "write", "path": {"base": "var", "path": "d%[1]d/f"}, "content": %[2]q},
{"type": "symlink", "source": {"base": "relative", "path": "f"}, "target": {"base": "var", "path": "d%[1]d/l"}},
{"type": "set_permissions", "paths": [{"base": "var", "path": "d%[1]d/f"}], "permissions": "0600"}`, i, content)
	}
	b.WriteString("]}\n")
	return b.Bytes()
}

// machine names what the figures were measured on.
func machine(dir string) string {
	cpu := "unknown processor"
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	var u unix.Utsname
	_ = unix.Uname(&u)
	var fs unix.Statfs_t
	_ = unix.Statfs(dir, &fs)
	kind := map[int64]string{unix.EXT4_SUPER_MAGIC: "ext4", unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.XFS_SUPER_MAGIC: "xfs"}[int64(fs.Type)]
	if kind == "" {
		kind = fmt.Sprintf("file system %x", fs.Type)
	}
	return fmt.Sprintf("%s, %d CPUs, Linux %s, %s", cpu, numCPU(), unix.ByteSliceToString(u.Release[:]), kind)
}

func write(dir, name string, data []byte) (string, error) {
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, data, 0o644)
}
