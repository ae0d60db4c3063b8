package jail

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	rootMounts   = "only root mounts"
	noUserSpaces = "user namespaces are switched off"
)

var kernelProbes = []probe{
	denied(57, "unshare a user namespace", "kernel", "EPERM", func(*world) error {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWUSER}
		return cmd.Run()
	}).butHard(noUserSpaces),
	denied(58, "clone into a user namespace", "kernel", "EPERM", func(*world) error {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		return cmd.Run()
	}).butHard(noUserSpaces),
	denied(58, "clone3, with hidden flags", "kernel", "ENOSYS", func(*world) error {
		// Refused for its size where the call is let through.
		if err := raw(unix.SYS_CLONE3, 0, 0); err != unix.EINVAL {
			return err
		}
		return nil
	}).butHard("no clone3"),
	denied(59, "mount", "kernel", "EPERM", func(w *world) error {
		if err := unix.Mount("none", w.in("dir"), "tmpfs", 0, ""); err != nil {
			return err
		}
		return unix.Unmount(w.in("dir"), 0)
	}).butHard(rootMounts),
	denied(59, "mount by descriptor", "kernel", "EPERM", func(*world) error {
		fd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}).butHard(rootMounts),
	denied(60, "chroot", "kernel", "EPERM", func(w *world) error { return unix.Chroot(w.In) }).butHard("only root does"),
	denied(61, "name a file by handle", "kernel", "EPERM", func(w *world) error {
		_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, w.out("file"), 0)
		return err
	}).butHard("this file system has no handles"),
	denied(61, "open a file by handle", "kernel", "EPERM", func(w *world) error {
		// A handle that leads nowhere is as good: the permission comes first.
		dir, err := unix.Open(w.In, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return fmt.Errorf("opening: %v", err)
		}
		handle := unix.NewFileHandle(1, make([]byte, 8))
		if _, err := unix.OpenByHandleAt(dir, handle, unix.O_RDONLY); err != unix.ESTALE {
			return err
		}
		return nil
	}).butHard("only root does"),
	denied(62, "read the session keyring", "kernel", "EPERM ENOSYS", func(*world) error {
		id, err := unix.KeyctlSearch(unix.KEY_SPEC_SESSION_KEYRING, "user", secretKey, 0)
		if err != nil {
			return err
		}
		buf := make([]byte, 64)
		n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, buf, 0)
		if err == nil && string(buf[:n]) != secretValue {
			return outcome("without")
		}
		return err
	}).butHard("the caller has no keyring"),
	denied(62, "add a key", "kernel", "EPERM ENOSYS", func(*world) error {
		_, err := unix.AddKey("user", "steps", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	}).butHard("no keyrings here"),
	denied(63, "bpf", "kernel", "EPERM", func(*world) error {
		// BPF_MAP_CREATE of an array of one.
		return raw(unix.SYS_BPF, 0, ref(&[18]uint32{2, 4, 4, 1}), 72)
	}).butHard("only root uses it"),
	denied(63, "perf events", "kernel", "EPERM", func(*world) error {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: unix.PERF_COUNT_SW_DUMMY}
		_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
		return err
	}).butHard("only root uses them"),
	denied(63, "userfaultfd", "kernel", "EPERM", func(*world) error { return raw(unix.SYS_USERFAULTFD, 1) }).
		butHard("it is switched off"),
	denied(63, "watch files outside", "kernel", "EPERM ENOENT", func(w *world) error {
		fd, err := unix.InotifyInit1(0)
		if err != nil {
			return err
		}
		_, err = unix.InotifyAddWatch(fd, w.Out, unix.IN_ALL_EVENTS)
		return err
	}),
	denied(68, "read shared memory", "reads", noRead, func(w *world) error { return read(w.Shm) }).
		butHard("no /dev/shm here"),
	denied(68, "make shared memory", "ipc", noWrite+" private", func(w *world) error {
		if err := put(w.Shm + "-new"); err != nil {
			return err
		}
		defer os.Remove(w.Shm + "-new")
		// In a directory of the jail's own the caller's file is not there.
		if _, err := os.Lstat(w.Shm); err != nil {
			return outcome("private")
		}
		return nil
	}).butHard("no /dev/shm here"),
	denied(69, "system v memory", "ipc", "EPERM", func(*world) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		if err != nil {
			return err
		}
		_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		return err
	}),
	denied(69, "system v messages", "ipc", "EPERM", func(*world) error {
		id, _, errno := unix.Syscall(unix.SYS_MSGGET, unix.IPC_PRIVATE, unix.IPC_CREAT|0o600, 0)
		if errno != 0 {
			return errno
		}
		return raw(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0)
	}),
	denied(69, "system v semaphores", "ipc", "EPERM", func(*world) error {
		id, _, errno := unix.Syscall(unix.SYS_SEMGET, unix.IPC_PRIVATE, 1, unix.IPC_CREAT|0o600)
		if errno != 0 {
			return errno
		}
		return raw(unix.SYS_SEMCTL, id, 0, unix.IPC_RMID)
	}),
	denied(69, "message queue", "ipc", "EPERM", func(w *world) error {
		name := text(w.Abstract)
		fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, name, unix.O_CREAT|unix.O_RDWR, 0o600, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		unix.Close(int(fd))
		return raw(unix.SYS_MQ_UNLINK, name)
	}).butHard("this kernel has no message queues"),
}
