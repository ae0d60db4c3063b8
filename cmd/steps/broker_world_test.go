package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// brokerPlaces names the directory of a brokerWorld to the test's own steps.
const brokerPlaces = "STEPS_TEST_BROKER"

// fakeSudo is the name of the test's own sudo. It has no rights: it asks the test, which
// is root, to start a broker, and hands everything on.
const fakeSudo = "fakesudo"

// inBrokerWorld is steps in the places of a brokerWorld, if there is one.
func inBrokerWorld() {
	if dir := os.Getenv(brokerPlaces); dir != "" {
		brokerConfigDir, brokerStateDir = filepath.Join(dir, "etc"), filepath.Join(dir, "lib")
		sudoPaths = []string{filepath.Join(dir, "bin", fakeSudo)}
	}
}

func runFakeSudo() {
	self, err := os.Executable()
	if err == nil {
		var conn net.Conn
		if conn, err = net.Dial("unix", filepath.Join(filepath.Dir(self), "..", "socket")); err == nil {
			go func() {
				_, _ = io.Copy(conn, os.Stdin)
				_ = conn.(*net.UnixConn).CloseWrite()
			}()
			_, err = io.Copy(os.Stdout, conn)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakesudo:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

const nobody = 65534

// brokerWorld is a directory with a sudo for nobody: bin has the programs, etc and lib
// are root's.
type brokerWorld struct {
	dir string
	// line, if set, is called with each line of a connection before it is handed on: up
	// are those of the caller. What it gives is handed on in its place.
	line func(c *brokerConn, up bool, line []byte) []byte

	listener net.Listener
	done     sync.WaitGroup
}

// brokerConn is a connection that a fake sudo made.
type brokerConn struct {
	caller int // process
	broker *exec.Cmd
}

// newBrokerWorld makes dir, and everything above it that is the test's, fit for nobody.
func newBrokerWorld(dir string) (*brokerWorld, error) {
	w := &brokerWorld{dir: dir}
	for at := dir; at != filepath.Clean(os.TempDir()) && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			return nil, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{"bin", "etc"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"steps", fakeSudo} {
		to := filepath.Join(dir, "bin", name)
		if err := os.Link(self, to); err != nil {
			data, err := os.ReadFile(self)
			if err != nil {
				return nil, err
			}
			if err := os.WriteFile(to, data, 0o755); err != nil {
				return nil, err
			}
		}
	}
	if w.listener, err = net.Listen("unix", filepath.Join(dir, "socket")); err != nil {
		return nil, err
	}
	if err := os.Chmod(filepath.Join(dir, "socket"), 0o666); err != nil {
		return nil, err
	}
	w.done.Go(func() {
		for {
			conn, err := w.listener.Accept()
			if err != nil {
				return
			}
			w.done.Go(func() { w.serve(conn.(*net.UnixConn)) })
		}
	})
	return w, nil
}

func (w *brokerWorld) close() {
	w.listener.Close()
	w.done.Wait()
}

// env are the variables of a steps in this world.
func (w *brokerWorld) env() []string { return []string{brokerPlaces + "=" + w.dir} }

// serve starts a broker as sudo does for nobody.
func (w *brokerWorld) serve(conn *net.UnixConn) {
	defer conn.Close()
	c := &brokerConn{caller: peerOf(conn), broker: exec.Command(filepath.Join(w.dir, "bin", "steps"), "broker")}
	c.broker.Env = append(w.env(), "SUDO_UID="+strconv.Itoa(nobody), "SUDO_GID="+strconv.Itoa(nobody), "GOCOVERDIR="+w.dir)
	c.broker.Stderr = os.Stderr
	in, err := c.broker.StdinPipe()
	if err != nil {
		return
	}
	out, err := c.broker.StdoutPipe()
	if err != nil || c.broker.Start() != nil {
		return
	}
	var up sync.WaitGroup
	up.Go(func() {
		w.pass(c, true, conn, in)
		in.Close()
	})
	w.pass(c, false, out, conn)
	_ = conn.Close()
	up.Wait()
	_ = c.broker.Wait()
}

func (w *brokerWorld) pass(c *brokerConn, up bool, from io.Reader, to io.Writer) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if w.line != nil {
				line = w.line(c, up, line)
			}
			if _, err := to.Write(line); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// asNobody runs steps as nobody, in home, and gives its exit status and what it printed.
func (w *brokerWorld) asNobody(home string, args ...string) (int, string) {
	cmd := exec.Command(filepath.Join(w.dir, "bin", "steps"), args...)
	cmd.Env = append(w.env(), "HOME="+home, "PATH=/usr/bin:/bin", "GOCOVERDIR="+home)
	cmd.Dir = home
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, Setsid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), out.String()
	}
	if err != nil {
		return -2, err.Error()
	}
	return 0, out.String()
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to start brokers for a user who is not")
	}
}

// brokerCommands are those of scripts: "brokers" makes the script's directory a
// brokerWorld, "nobody STATUS steps ..." runs steps there as a user who is not root.
var brokerCommands = map[string]func(*testscript.TestScript, bool, []string){
	"brokers": func(ts *testscript.TestScript, _ bool, _ []string) {
		w, err := newBrokerWorld(ts.Getenv("WORK"))
		ts.Check(err)
		ts.Defer(w.close)
		ts.Setenv(brokerPlaces, w.dir)
	},
	"nobody": func(ts *testscript.TestScript, _ bool, args []string) {
		id := strconv.Itoa(nobody)
		err := ts.Exec("setpriv", append([]string{"--reuid=" + id, "--regid=" + id, "--clear-groups", "--",
			filepath.Join(ts.Getenv("WORK"), "bin", args[1])}, args[2:]...)...)
		code := "0"
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			code = strconv.Itoa(exit.ExitCode())
		} else {
			ts.Check(err)
		}
		if code != args[0] {
			ts.Fatalf("exit status %s, want %s", code, args[0])
		}
	},
}

// parentOf is the parent of a process.
func parentOf(pid int) int {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}
