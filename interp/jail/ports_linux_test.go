package jail_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail"
)

func tcp(fd int, w world) error { return unix.Connect(fd, localhost(w.TCP)) }

// portProbes are tried with one port granted, that of the world's listener.
var portProbes = []struct {
	probe
	other bool // with another port granted instead
}{
	{probe{"port granted", "", func(w world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return tcp(fd, w) })
	}}, false},
	{probe{"port by tcp alone", "", func(w world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP, func(fd int) error { return tcp(fd, w) })
	}}, false},
	{probe{"port not granted", "EACCES", func(w world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return tcp(fd, w) })
	}}, true},
	{probe{"port by ipv6", "EACCES", func(w world) error {
		return socketThen(unix.AF_INET6, unix.SOCK_STREAM, 0, func(fd int) error {
			return unix.Connect(fd, &unix.SockaddrInet6{Port: w.TCP, Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}})
		})
	}}, true},
	{probe{"port by fast open", "EOPNOTSUPP ENOTSUP", func(w world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
			return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, localhost(w.TCP))
		})
	}}, true},
	{probe{"port by fast open message", "EOPNOTSUPP ENOTSUP", func(w world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
			return unix.Sendmsg(fd, []byte("x"), nil, localhost(w.TCP), unix.MSG_FASTOPEN)
		})
	}}, true},
	{probe{"port by fast open connect", "EOPNOTSUPP ENOTSUP", func(w world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
			if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1); err != nil {
				return err
			}
			return tcp(fd, w)
		})
	}}, true},
	{probe{"port by multipath tcp", "EPERM", func(w world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, func(fd int) error { return tcp(fd, w) })
	}}, false},
	{probe{"port by udp", "EPERM", func(w world) error {
		return socketThen(unix.AF_INET, unix.SOCK_DGRAM, 0, func(fd int) error { return unix.Sendto(fd, []byte("x"), 0, localhost(w.UDP)) })
	}}, false},
	{probe{"port to serve", "EPERM", func(world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Bind(fd, localhost(0)) })
	}}, false},
	{probe{"port to serve unbound", "EPERM", func(world) error {
		return socketThen(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Listen(fd, 1) })
	}}, false},
	{probe{"port by unix socket", "EPERM", func(w world) error {
		return socketThen(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Connect(fd, &unix.SockaddrUnix{Name: w.Stream}) })
	}}, false},
}

func TestPorts(t *testing.T) {
	t.Parallel()
	for _, m := range modes(t) {
		if m.support.Landlock < 4 {
			t.Skip("no landlock control of ports")
		}
		for _, tc := range portProbes {
			t.Run(m.name+"/"+tc.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				if out, err := plain(t, w, tc.name); err != nil {
					t.Skipf("without a jail: %s", out)
				}
				p := policy(t, w.In)
				p.Ports = []uint16{uint16(w.TCP)}
				if tc.other {
					p.Ports[0] ^= 1
				}
				res := m.run(t, p, self(t), "probe", tc.name, w.encode(t))
				if got := firstLine(res.Stdout); (tc.deny == "") != res.OK() || !strings.Contains(" "+tc.deny+" ", " "+got+" ") {
					t.Errorf("exit %d, %q, want %q\n%s%s", res.ExitCode, got, tc.deny, res.Stdout, res.Stderr)
				}
			})
		}
	}
}

func TestPortsNeedLandlock(t *testing.T) {
	t.Parallel()
	p := jail.Policy{Reads: []string{"/usr"}, Dir: "/usr", Ports: []uint16{443}}
	s := jail.Support{Landlock: 3, Seccomp: true, Namespaces: true}
	if _, err := s.Judge(p); err == nil || !strings.Contains(err.Error(), "cannot keep: network (the grant of single ports needs landlock abi 4") {
		t.Error(err)
	}
	s.Landlock = 4
	if kept, err := s.Judge(p); err != nil || kept["network"] != "seccomp, landlock abi 4" {
		t.Errorf("%v, %v", kept["network"], err)
	}
}

// Names are looked up by TCP where only TCP is granted: the C library is told
// to, and does.
func TestNamesByTCP(t *testing.T) {
	t.Parallel()
	needJail(t)
	if jail.Check().Landlock < 4 {
		t.Skip("no landlock control of ports")
	}
	p := policy(t, tempDir(t))
	p.Ports = []uint16{53, 443}
	if res := shell(t, p, "echo $RES_OPTIONS"); firstLine(res.Stdout) != "use-vc" {
		t.Errorf("RES_OPTIONS is %q", res.Stdout)
	}
	p.Env = append(p.Env, "RES_OPTIONS=timeout:1")
	if res := shell(t, p, "echo $RES_OPTIONS"); firstLine(res.Stdout) != "timeout:1" {
		t.Errorf("RES_OPTIONS is %q", res.Stdout)
	}
	p = policy(t, p.Dir)
	p.Ports = []uint16{443}
	if res := shell(t, p, "echo $RES_OPTIONS"); firstLine(res.Stdout) != "" {
		t.Errorf("RES_OPTIONS is %q", res.Stdout)
	}
}

// A program of the system uses the grant.
func TestPortsWithProgram(t *testing.T) {
	t.Parallel()
	needJail(t)
	if jail.Check().Landlock < 4 {
		t.Skip("no landlock control of ports")
	}
	python := tool(t, "python3")
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("hello"))
			c.Close()
		}
	}()
	port := l.Addr().(*net.TCPAddr).Port
	p := policy(t, tempDir(t))
	p.Ports = []uint16{uint16(port)}
	res, err := jail.Run(context.Background(), self(t), p, jail.Command{Path: python, Args: []string{"-c",
		`import socket; print(socket.create_connection(("localhost", ` + strconv.Itoa(port) + `)).recv(9).decode())`}})
	if err != nil || firstLine(res.Stdout) != "hello" {
		t.Errorf("%v, %+v", err, res)
	}
}
