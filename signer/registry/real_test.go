package registry

import (
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"steps.example/signer/registry/store"
)

// Through a queue server, each message to one of two workers.
func TestRealQueue(t *testing.T) {
	path, err := exec.LookPath("nats-server")
	if err != nil {
		t.Skip("needs nats-server on the PATH (Debian: nats-server)")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	address := l.Addr().String()
	l.Close()
	host, port, err := net.SplitHostPort(address)
	check(t, err)
	cmd := exec.Command(path, "-a", host, "-p", port)
	check(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	wait(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	t.Setenv("NATS_SERVER_URL", (&url.URL{Scheme: "nats", Host: address}).String())
	f := newFixture(t, "file://"+filepath.ToSlash(t.TempDir()), "nats://steps?natsv2")
	other := &Pool{Worker: f.worker, Queue: f.queue, Log: f.pool.Log, Metrics: NewMetrics(), Sweep: time.Hour}
	inBackground(t, f.pool.Run)
	inBackground(t, other.Run)
	time.Sleep(200 * time.Millisecond) // subscriptions are up; a lost message would wait for an hour
	const n = 40
	f.publish(strings.NewReader(lines(n)))
	wait(t, func() bool { return f.marks(store.Pending) == 0 })
	if f.marks(store.Unindexed) != n {
		t.Errorf("%d of %d are signed", f.marks(store.Unindexed), n)
	}
}
