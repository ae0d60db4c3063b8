package jail_test

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
)

// A world is what a probe can try to reach: directories with and without
// grants, listeners and a process, all outside the jail.
type world struct {
	In, RO, Out string // writable; readable; not granted
	TCP, UDP    int    // ports on 127.0.0.1 with a listener
	Stream      string // path of a Unix stream listener, under Out
	Datagram    string // path of a Unix datagram socket, under Out
	Abstract    string // name of an abstract Unix listener, without the NUL
	Shm         string // path of a file in the machine's /dev/shm
	Victim      int    // a process of the same user
}

func (w world) in(name string) string  { return filepath.Join(w.In, name) }
func (w world) ro(name string) string  { return filepath.Join(w.RO, name) }
func (w world) out(name string) string { return filepath.Join(w.Out, name) }

func (w world) encode(t testing.TB) string {
	data, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var worlds atomic.Int64

func newWorld(t *testing.T) world {
	t.Helper()
	base := tempDir(t)
	w := world{In: filepath.Join(base, "in"), RO: filepath.Join(base, "ro"), Out: filepath.Join(base, "out")}
	for _, dir := range []string{w.In, w.RO, w.Out} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "file"), "text of "+dir, 0o644)
		write(t, filepath.Join(dir, "tool"), "#!/bin/sh\nexit 0\n", 0o755)
		if err := os.Mkdir(filepath.Join(dir, "dir"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tcp.Close() })
	w.TCP = tcp.Addr().(*net.TCPAddr).Port
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { udp.Close() })
	w.UDP = udp.LocalAddr().(*net.UDPAddr).Port

	// Socket paths are short; the test's directory need not be.
	sockets, err := os.MkdirTemp("", "j")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	w.Stream, w.Datagram = filepath.Join(sockets, "s"), filepath.Join(sockets, "d")
	w.Abstract = "steps-jail-test-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(worlds.Add(1), 10)
	for _, l := range []struct{ network, address string }{{"unix", w.Stream}, {"unix", "@" + w.Abstract}} {
		listener, err := net.Listen(l.network, l.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
	}
	datagram, err := net.ListenPacket("unixgram", w.Datagram)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { datagram.Close() })

	shm, err := os.CreateTemp("/dev/shm", "steps-jail-test-")
	if err != nil {
		t.Skipf("no /dev/shm: %v", err)
	}
	shm.Close()
	w.Shm = shm.Name()
	t.Cleanup(func() { os.Remove(w.Shm) })

	victim := exec.Command("/bin/sleep", "1000")
	victim.Env = []string{"VICTIM_SECRET=hunter2"}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		victim.Process.Kill()
		victim.Wait()
	})
	w.Victim = victim.Process.Pid
	return w
}
