//go:build !light

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"steps.example/interp/broker"
	"steps.example/signer"
	"steps.example/steps"
)

// brokerDocument has steps for both sides: the first and the last four need root.
const brokerDocument = `{"schema": 1, "layout": "generic", "name": "demo", "version": "1.0", "post_install_steps": [
  {"type": "write", "path": {"base": "etc", "path": "demo.conf"}, "content": "x\n"},
  {"type": "mkdir_p", "path": {"base": "var", "path": "demo"}},
  {"type": "write", "path": {"base": "var", "path": "demo/data"}, "content": "data\n"},
  {"type": "set_ownership", "paths": [{"base": "var", "path": "demo/data"}], "user": "1", "group": "1"},
  {"type": "symlink", "source": {"base": "prefix", "path": "demo"}, "target": {"base": "bin", "path": "demo"}, "sudo": true},
  {"type": "mkdir_p", "path": {"base": "etc", "path": "demo.d/sub"}},
  {"type": "write", "path": {"base": "etc", "path": "demo.d/sub/more"}, "content": "more\n"}
]}`

// brokerScene is a brokerWorld with a prefix, a home and a signed document.
type brokerScene struct {
	*brokerWorld
	home, opt string
	apply     []string // the arguments of an apply
	key       *signer.Key
}

func newBrokerScene(t *testing.T) *brokerScene {
	t.Helper()
	needRoot(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w, err := newBrokerWorld(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	s := &brokerScene{brokerWorld: w, home: filepath.Join(dir, "home"), opt: filepath.Join(dir, "opt")}
	for _, d := range []string{s.home, s.opt, s.opt + "/etc", s.opt + "/var", s.opt + "/bin"} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if d != s.opt+"/etc" {
			if err := os.Chown(d, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s.key, err = signer.GenerateKey(); err != nil {
		t.Fatal(err)
	}
	policy, err := json.Marshal(firstPolicy("https://registry.example", "pkg:generic/acme/*",
		[]whoText{{Key: firstKey(s.key.ID(), string(s.key.PublicPEM()))}}))
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "etc/trust.json", policy)
	s.configure(t, s.opt, "sudo", "ownership")
	s.write(t, "demo.bundle", s.sign(t, brokerDocument, 2))
	s.write(t, "demo.tar", []byte("the package"))
	s.apply = []string{
		"apply", filepath.Join(dir, "demo.bundle"), "--policy", filepath.Join(dir, "etc/trust.json"), "--purl", statePURL,
		"--artifact", filepath.Join(dir, "demo.tar"), "--prefix", s.opt, "--state", s.home + "/state", "--approve", "sudo,ownership",
	}
	return s
}

func (s *brokerScene) write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func (s *brokerScene) configure(t *testing.T, within string, capabilities ...string) {
	t.Helper()
	data, err := json.Marshal(brokerConfig{Version: 1, Within: []string{within}, Capabilities: capabilities})
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "etc/broker.json", data)
}

func (s *brokerScene) sign(t *testing.T, document string, revision int) []byte {
	t.Helper()
	doc, err := steps.Decode([]byte(document), steps.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := signer.Sign(t.Context(), s.key, signer.Request{
		Registry: "https://registry.example", PURL: statePURL, Revision: revision, IssuedAt: time.Now(),
		Document: []byte(document), ArtifactSHA256: sha256.Sum256([]byte("the package")),
		Capabilities: steps.Capabilities(doc),
	})
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

// tree lists the prefix with owners.
func (s *brokerScene) tree(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(s.opt, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(p)
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		fmt.Fprintf(&out, "%s %v %d:%d", p, info.Mode(), st.Uid, st.Gid)
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, " %q", data)
		}
		out.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestBrokerCrash ends the caller, the broker or the line between them before each
// message. Recovery then leaves all or nothing of both parts.
func TestBrokerCrash(t *testing.T) {
	t.Parallel()
	for _, victim := range []string{"caller", "broker"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			s := newBrokerScene(t)
			var count, at atomic.Int32
			s.line = func(c *brokerConn, _ bool, line []byte) []byte {
				if count.Add(1) == at.Load() {
					pid := parentOf(c.caller)
					if victim == "broker" {
						pid = c.broker.Process.Pid
					}
					_ = syscall.Kill(pid, syscall.SIGKILL)
					time.Sleep(20 * time.Millisecond) // until it is gone: nothing depends on it
				}
				return line
			}
			before := s.tree(t)
			// One dies before odd messages, the other before even ones: all would take
			// twice as long.
			start := int32(1)
			if victim == "broker" {
				start = 2
			}
			for n := start; n < 100; n += 2 {
				count.Store(0)
				at.Store(n)
				code, out := s.asNobody(s.home, s.apply...)
				reached := count.Load() >= n
				at.Store(0)
				if !reached {
					if code != 0 || n < 10 {
						t.Fatalf("message %d: exit status %d: %s", n, code, out)
					}
					after := s.tree(t)
					if !strings.Contains(after, "bin/demo") || !strings.Contains(after, "data -rw-r--r-- 1:1") {
						t.Fatalf("after the apply: %s", after)
					}
					return
				}
				if code, again := s.asNobody(s.home, "recover", "--prefix", s.opt, "--state", s.home+"/state"); code != 0 {
					t.Fatalf("message %d: recover ends with %d: %s\nafter %s", n, code, again, out)
				}
				if s.tree(t) == before {
					continue
				}
				// It was committed: then verify is content, and undo gives the old tree.
				for _, verb := range []string{"verify", "undo"} {
					if code, out := s.asNobody(s.home, verb, "--prefix", s.opt, "--state", s.home+"/state"); code != 0 {
						t.Fatalf("message %d: %s ends with %d: %s", n, verb, code, out)
					}
				}
				if now := s.tree(t); now != before {
					t.Fatalf("message %d: the tree is\n%swant\n%s", n, now, before)
				}
			}
			t.Fatal("it never ends")
		})
	}
}

// Without sudo, an interrupted transaction says what is to be done, and stays.
func TestBrokerRecoverWithoutSudo(t *testing.T) {
	t.Parallel()
	s := newBrokerScene(t)
	var killed atomic.Bool
	s.line = func(c *brokerConn, up bool, line []byte) []byte {
		if up && bytes.Contains(line, []byte(`"commit"`)) && !killed.Swap(true) {
			_ = syscall.Kill(parentOf(c.caller), syscall.SIGKILL)
			time.Sleep(20 * time.Millisecond)
		}
		return line
	}
	before := s.tree(t)
	if code, out := s.asNobody(s.home, s.apply...); code != -1 {
		t.Fatalf("exit status %d: %s", code, out)
	}
	sudo := filepath.Join(s.dir, "bin", fakeSudo)
	if err := os.Rename(sudo, sudo+".away"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"recover", "--prefix", s.opt, "--state", s.home + "/state"}, s.apply} {
		code, out := s.asNobody(s.home, args...)
		if args[0] == "recover" && (code != exitRecover || !strings.Contains(out, "sudo is not there") || !strings.Contains(out, "nothing here is applied or recovered before that")) {
			t.Errorf("recover ends with %d: %s", code, out)
		}
		if args[0] == "apply" && code == 0 {
			t.Errorf("apply is done: %s", out)
		}
	}
	if err := os.Rename(sudo+".away", sudo); err != nil {
		t.Fatal(err)
	}
	if code, out := s.asNobody(s.home, "recover", "--prefix", s.opt, "--state", s.home+"/state"); code != 0 || !strings.Contains(out, "the broker took back its part") {
		t.Errorf("recover ends with %d: %s", code, out)
	}
	if now := s.tree(t); now != before {
		t.Errorf("the tree is\n%swant\n%s", now, before)
	}
}

// forged is a line of a caller with another request in it.
func forged(t *testing.T, line []byte, change func(*broker.Request)) []byte {
	t.Helper()
	var r broker.Request
	if err := json.Unmarshal(line, &r); err != nil {
		t.Error(err)
	}
	change(&r)
	out, err := json.Marshal(r)
	if err != nil {
		t.Error(err)
	}
	return append(out, '\n')
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
