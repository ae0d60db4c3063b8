//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// content is what each file of the measured document holds.
const content = "# written by a step\nkey = value\n"

// bare makes the tree that document(n) describes below root, one system call
// after the other, and makes it durable by one syncfs: what a program would do
// that needs no plan, no undo and no atomicity.
func bare(root, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	base, err := unix.Open(filepath.Join(root, "var"), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	for i := range n / 4 {
		dir := fmt.Sprintf("d%d", i)
		if err := unix.Mkdirat(base, dir, 0o755); err != nil {
			return err
		}
		fd, err := unix.Openat(base, dir+"/f", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		if _, err := unix.Write(fd, []byte(content)); err != nil {
			return err
		}
		if err := unix.Close(fd); err != nil {
			return err
		}
		if err := unix.Symlinkat("f", base, dir+"/l"); err != nil {
			return err
		}
		if err := unix.Fchmodat(base, dir+"/f", 0o600, 0); err != nil {
			return err
		}
	}
	return unix.Syncfs(base)
}
