package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long a server may take to answer, on a machine that has other things
// to do.
const patience = 2 * time.Minute

const pollInterval = 50 * time.Millisecond

// server is a process, and where it writes what it does.
type server struct {
	cmd   *exec.Cmd
	log   string
	ended chan struct{} // closed when it has
}

// start runs a program that serves on a port of 127.0.0.1 until the test ends, and
// waits until GET health is answered. args gets the port, and another free one. The
// result is the base URL.
func start(t *testing.T, p program, health string, args func(port, other int) []string) string {
	t.Helper()
	file, err := p.installed()
	if err != nil {
		t.Fatal(err)
	}
	_, base := serve(t, file, nil, health, args)
	return base
}

// serve does so with a program's file and more environment, and gives the process too.
func serve(t *testing.T, file string, env []string, health string, args func(port, other int) []string) (*server, string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(pollInterval) {
		port, other := freePorts(t)
		base := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		s := launch(t, file, env, args(port, other))
		err := s.ready(base+health, deadline)
		if err == nil {
			t.Cleanup(func() { s.stop(t, t.Failed()) })
			return s, base
		}
		// A free port may be somebody else's by the time that the server wants it.
		taken := strings.Contains(s.output(t), "address already in use") && time.Now().Before(deadline)
		s.stop(t, !taken)
		if !taken {
			t.Fatalf("%s: %v", filepath.Base(file), err)
		}
	}
}

func launch(t *testing.T, file string, env, args []string) *server {
	t.Helper()
	dir := t.TempDir()
	s := &server{cmd: exec.Command(file, args...), log: filepath.Join(dir, "log"), ended: make(chan struct{})}
	log, err := os.Create(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	// Nothing of the user's reaches it: no configuration, no proxy, no credentials.
	s.cmd.Dir, s.cmd.Env = dir, append([]string{"HOME=" + dir, "TMPDIR=" + dir}, env...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	withParent(s.cmd)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait() // how it ended is in the log
		close(s.ended)
	}()
	return s
}

// ready waits until the server answers.
func (s *server) ready(url string, deadline time.Time) error {
	var last error
	for time.Now().Before(deadline) {
		select {
		case <-s.ended:
			return errors.New("ended before it answered")
		case <-time.After(pollInterval):
		}
		if _, last = get(url); last == nil {
			return nil
		}
	}
	return fmt.Errorf("no answer in time: %w", last)
}

// stop kills the process and waits for its end.
func (s *server) stop(t *testing.T, show bool) {
	_ = s.cmd.Process.Kill() // it may have ended by itself
	<-s.ended
	if show {
		const most = 8 << 10
		out := s.output(t)
		t.Logf("%s:\n%s", filepath.Base(s.cmd.Path), out[max(0, len(out)-most):])
	}
}

func (s *server) output(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// freePorts finds two ports that nobody listens on now.
func freePorts(t *testing.T) (port, other int) {
	t.Helper()
	var ports [2]int
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports[0], ports[1]
}

var client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func get(url string) ([]byte, error) {
	resp, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, resp.Status)
	}
	return body, err
}
