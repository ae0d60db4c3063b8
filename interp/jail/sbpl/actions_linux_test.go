package sbpl_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A place is a world of probes on this machine.
type place struct {
	In, RO, Out string
	Port, Other int // on 127.0.0.1, with listeners; Port is the granted one
	UDP         int
	Stream      string // Unix listener outside
	Datagram    string
	Victim      int
}

func (w place) in(name string) string  { return filepath.Join(w.In, name) }
func (w place) ro(name string) string  { return filepath.Join(w.RO, name) }
func (w place) out(name string) string { return filepath.Join(w.Out, name) }

func read(path string) error {
	_, err := os.ReadFile(path)
	return err
}

func list(path string) error {
	_, err := os.ReadDir(path)
	return err
}

func put(path string) error { return os.WriteFile(path, []byte("changed"), 0o644) }

// change opens an existing file for writing and does nothing else.
func change(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func run(path string) error { return exec.Command(path).Run() }

// script is a script that the C library brings along.
const script = "/usr/bin/ldd"

// socket makes a socket and uses it.
func socket(domain, kind, proto int, use func(fd int) error) error {
	fd, err := unix.Socket(domain, kind, proto)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return use(fd)
}

func tcp(port int) error {
	return socket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
		return unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	})
}

func stream(path string) error {
	return socket(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Connect(fd, &unix.SockaddrUnix{Name: path}) })
}

func nothing(int) error { return nil }

// actions do on Linux what the probes of the same name do on macOS.
var actions = map[string]func(place) error{
	"read outside":                  func(w place) error { return read(w.out("file")) },
	"list outside":                  func(w place) error { return list(w.Out) },
	"write outside":                 func(w place) error { return change(w.out("file")) },
	"write readable":                func(w place) error { return change(w.ro("file")) },
	"create outside":                func(w place) error { return put(w.out("new")) },
	"create beside readable":        func(w place) error { return put(w.ro("new")) },
	"unlink outside":                func(w place) error { return unix.Unlink(w.out("file")) },
	"truncate outside":              func(w place) error { return os.Truncate(w.out("file"), 0) },
	"open readable with truncation": func(w place) error { return os.Truncate(w.ro("file"), 0) },
	"rename out to in":              func(w place) error { return unix.Rename(w.out("file"), w.in("new")) },
	"rename in to out":              func(w place) error { return unix.Rename(w.in("file"), w.out("new")) },
	"link out to in":                func(w place) error { return unix.Link(w.out("file"), w.in("new")) },
	"link readable to in":           func(w place) error { return unix.Link(w.ro("file"), w.in("new")) },
	"exchange in and out": func(w place) error {
		return unix.Renameat2(unix.AT_FDCWD, w.in("file"), unix.AT_FDCWD, w.out("file"), unix.RENAME_EXCHANGE)
	},
	"rename the writable directory": func(w place) error { return unix.Rename(w.In, w.In+"2") },
	"remove the writable directory": func(w place) error {
		for _, name := range []string{"file", "tool", "dir"} {
			if err := os.Remove(w.in(name)); err != nil {
				return err
			}
		}
		return unix.Rmdir(w.In)
	},
	"read by planted symlink": func(w place) error {
		if err := os.Symlink(w.out("file"), w.in("planted")); err != nil {
			return err
		}
		return read(w.in("planted"))
	},
	"execute outside":  func(w place) error { return run(w.out("tool")) },
	"execute readable": func(w place) error { return run(w.ro("tool")) },
	"execute writable": func(w place) error { return run(w.in("tool")) },
	"fchmod u+s":       func(w place) error { return unix.Chmod(w.in("file"), 0o4755) },
	"chmod u+s":        func(w place) error { return unix.Chmod(w.in("file"), 0o4755) },
	"create u+s": func(w place) error {
		_, err := unix.Open(w.in("new"), unix.O_CREAT|unix.O_WRONLY, 0o4755)
		return err
	},
	"set extended attribute":         func(w place) error { return unix.Setxattr(w.in("file"), "user.x", []byte("y"), 0) },
	"set extended attribute outside": func(w place) error { return unix.Setxattr(w.out("file"), "user.x", []byte("y"), 0) },
	"file flags": func(w place) error {
		fd, err := unix.Open(w.ro("file"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, 0x80) // FS_NOATIME_FL
	},
	"terminal":      func(place) error { return read("/dev/tty") },
	"new terminal":  func(place) error { return change("/dev/ptmx") },
	"chmod outside": func(w place) error { return unix.Chmod(w.out("file"), 0o600) },
	"times outside": func(w place) error { return unix.Utimes(w.out("file"), make([]unix.Timeval, 2)) },

	"tcp connect":                 func(w place) error { return tcp(w.Port) },
	"tcp connect to granted port": func(w place) error { return tcp(w.Port) },
	"tcp connect to another port": func(w place) error { return tcp(w.Other) },
	"tcp bind": func(place) error {
		return socket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
			return unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
		})
	},
	"tcp listen": func(place) error {
		return socket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Listen(fd, 1) })
	},
	"udp send": func(w place) error {
		return socket(unix.AF_INET, unix.SOCK_DGRAM, 0, func(fd int) error {
			return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrInet4{Port: w.UDP, Addr: [4]byte{127, 0, 0, 1}})
		})
	},
	"multipath socket":               func(place) error { return socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, nothing) },
	"routing socket":                 func(place) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE, nothing) },
	"vsock":                          func(place) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0, nothing) },
	"raw kernel socket":              func(place) error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0, nothing) },
	"unix connect":                   func(w place) error { return stream(w.Stream) },
	"docker.sock":                    func(w place) error { return stream(w.Stream) },
	"resolve a name (mDNSResponder)": func(w place) error { return stream(w.Stream) },
	"unix datagram": func(w place) error {
		return socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0, func(fd int) error {
			return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: w.Datagram})
		})
	},
	"unix bind": func(place) error { // by a short relative name
		return socket(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Bind(fd, &unix.SockaddrUnix{Name: "s"}) })
	},

	"signal a process":  func(w place) error { return unix.Kill(w.Victim, 0) },
	"trace a process":   func(w place) error { return unix.PtraceSeize(w.Victim) },
	"inspect a process": func(w place) error { return read(fmt.Sprintf("/proc/%d/status", w.Victim)) },
	"list processes":    func(place) error { return list("/proc") },
	"environment of a process": func(w place) error {
		return read(fmt.Sprintf("/proc/%d/environ", w.Victim))
	},
	"shared memory": func(place) error {
		name := fmt.Sprintf("/dev/shm/steps-sbpl-test-%d", os.Getpid())
		defer os.Remove(name)
		return put(name)
	},
	"system v ipc": func(place) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		if err == nil {
			unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
		return err
	},
	"run a copy of open": func(w place) error {
		from, err := os.Open("/bin/true")
		if err != nil {
			return err
		}
		to, err := os.OpenFile(w.in("open"), os.O_CREATE|os.O_WRONLY, 0o755)
		if err != nil {
			return err
		}
		if _, err := io.Copy(to, from); err != nil {
			return err
		}
		if err := to.Close(); err != nil {
			return err
		}
		return run(w.in("open"))
	},

	"read in":           func(w place) error { return read(w.in("file")) },
	"write in":          func(w place) error { return put(w.in("file")) },
	"rename in":         func(w place) error { return unix.Rename(w.in("file"), w.in("new")) },
	"fifo in":           func(w place) error { return unix.Mkfifo(w.in("fifo"), 0o600) },
	"symlink in":        func(w place) error { return os.Symlink("x", w.in("link")) },
	"list in":           func(w place) error { return list(w.In) },
	"mode and times in": func(w place) error { return unix.Chmod(w.in("file"), 0o600) },
	"read readable":     func(w place) error { return read(w.ro("file")) },
	"run a program":     func(place) error { return run("/bin/true") },
	"run a script":      func(place) error { return exec.Command(script, "--version").Run() },
	"signal an own child": func(place) error {
		cmd := exec.Command("/bin/sleep", "1000")
		if err := cmd.Start(); err != nil {
			return err
		}
		if err := cmd.Process.Kill(); err != nil {
			return err
		}
		cmd.Wait()
		return nil
	},
	"null device":               func(place) error { return put("/dev/null") },
	"rename across directories": func(w place) error { return unix.Rename(w.in("file"), w.in("dir/file")) },
}
