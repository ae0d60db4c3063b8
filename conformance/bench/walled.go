//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail"
)

// walledArg makes bench, as a child of itself, serve a walled process.
const walledArg = "walled"

// walled is a process that can make no user namespace, as in a container with
// Docker's default profile, and that runs a jailed command for each line it
// gets. It lets such jails take turns with others in one loop.
type walled struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startWalled(bin, dir string) (*walled, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &walled{cmd: exec.Command(self, walledArg, bin, dir)}
	w.cmd.Stderr = os.Stderr
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	w.out = bufio.NewScanner(out)
	return w, w.cmd.Start()
}

func (w *walled) close() {
	w.in.Close()
	_ = w.cmd.Wait()
}

// jailed has one command run with n grants.
func (w *walled) jailed(n int) (sample, error) {
	if _, err := fmt.Fprintln(w.in, n); err != nil {
		return sample{}, err
	}
	if !w.out.Scan() {
		return sample{}, fmt.Errorf("the walled process is gone")
	}
	ns, err := strconv.ParseInt(w.out.Text(), 10, 64)
	if err != nil {
		return sample{}, fmt.Errorf("walled: %s", w.out.Text())
	}
	return sample{wall: time.Duration(ns)}, nil
}

// serveWalled is the walled process.
func serveWalled(bin, dir string) error {
	if err := forbidNamespaces(); err != nil {
		return err
	}
	if jail.Check().Namespaces {
		return fmt.Errorf("the wall does not hold: user namespaces work")
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		n, err := strconv.Atoi(in.Text())
		if err != nil {
			return err
		}
		s, err := jailed(bin, grants(dir, n))
		if err != nil {
			fmt.Println(strings.ReplaceAll(err.Error(), "\n", "; "))
			continue
		}
		fmt.Println(s.wall.Nanoseconds())
	}
	return in.Err()
}

// forbidNamespaces puts all threads of this process under a filter that makes
// unshare, and clone with CLONE_NEWUSER, fail.
func forbidNamespaces() error {
	const nr, arg0 = 0, 16 // offsets in struct seccomp_data, the low half on little-endian
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: nr},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_UNSHARE, Jt: 4},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE, Jf: 2},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: arg0},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_NEWUSER, Jt: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}
