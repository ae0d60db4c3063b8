package broker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"steps.example/interp"
	"steps.example/interp/broker"
	"steps.example/interp/commit"
	"steps.example/steps"
)

const nobody = 65534

// keeper admits one document to one prefix, as if it had been verified.
type keeper struct {
	document *steps.Document
	dir      string
	within   []string
	caller   int
	accept   error
}

func (k *keeper) Admit(_ context.Context, h *broker.Hello) (interp.Errand, commit.Receipt, func() error, error) {
	if len(h.Bundles) != 1 || string(h.Bundles[0]) != "good" {
		return interp.Errand{}, commit.Receipt{}, nil, errors.New("the signature is not good")
	}
	job := interp.Job{Document: k.document, Phases: h.Target.Phases, Target: interp.Target{
		Layout: "generic", Name: "demo", Version: "1", OS: "linux", Dirs: h.Target.Dirs,
		Approved: []string{"sudo", "ownership"}, Protected: []string{k.dir + "/store"},
	}}
	return interp.Errand{Job: job, Caller: interp.Caller{UID: k.caller, GID: k.caller}, Host: interp.Machine{}},
		commit.Receipt{}, func() error { return k.accept }, nil
}

func (k *keeper) Store() (*commit.Store, error) { return commit.OpenStore(k.dir + "/store") }
func (k *keeper) Within() []string              { return k.within }
func (k *keeper) Kind(error) string             { return "" }

// The steps need root, but for the third.
const document = `{"schema": 1, "layout": "generic", "name": "demo", "version": "1", "post_install_steps": [
  {"type": "symlink", "source": {"base": "relative", "path": "x"}, "target": {"base": "var", "path": "link"}, "sudo": true},
  {"type": "write", "path": {"base": "etc", "path": "demo.conf"}, "content": "x\n"},
  {"type": "write", "path": {"base": "var", "path": "own"}, "content": "x\n"},
  {"type": "run", "command": {"path": "/bin/true"}},
  {"type": "set_permissions", "paths": [{"base": "var", "path": "two"}], "permissions": "0600"}
]}`

// scene is a prefix, of which etc is root's and the rest nobody's.
type scene struct {
	*keeper
	opt string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: a broker is root's")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := steps.Decode([]byte(document), steps.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{&keeper{document: doc, dir: dir, within: []string{dir + "/opt"}, caller: nobody}, dir + "/opt"}
	for _, d := range []string{"", "/etc", "/var"} {
		if err := os.Mkdir(s.opt+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"", "/var"} {
		if err := os.Chown(s.opt+d, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// conversation speaks with a broker line by line.
type conversation struct {
	t   *testing.T
	out *io.PipeWriter
	in  *json.Decoder
	end chan error
}

func (s *scene) speak(t *testing.T) *conversation {
	t.Helper()
	theirs, mine := io.Pipe()
	answers, theirOut := io.Pipe()
	c := &conversation{t, mine, json.NewDecoder(answers), make(chan error, 1)}
	go func() {
		err := broker.Serve(context.Background(), theirs, theirOut, s.keeper)
		theirs.Close()
		theirOut.Close()
		c.end <- err
	}()
	return c
}

// ask gives the text of the failure, "" for none.
func (c *conversation) ask(line string) (broker.Answer, string) {
	c.t.Helper()
	var a broker.Answer
	// A broker that ended does not read the rest.
	if _, err := io.WriteString(c.out, line+"\n"); err != nil && err != io.ErrClosedPipe {
		c.t.Fatal(err)
	}
	if err := c.in.Decode(&a); err != nil {
		return a, err.Error()
	}
	if a.Error != nil {
		return a, a.Error.Text
	}
	return a, ""
}

func (c *conversation) close() {
	c.out.Close()
	<-c.end
}

// hello is for steps, with the digest of what they do, as a caller works it out.
func (s *scene) hello(t *testing.T, list []int, change func(*broker.Hello)) string {
	t.Helper()
	h := broker.Hello{
		Version: broker.Version, Bundles: [][]byte{[]byte("good")}, Steps: list, Transaction: "theirs", Store: "/theirs",
		Target: broker.Target{Phases: []steps.Phase{steps.PhasePostInstall}, OS: "linux", Dirs: map[string]string{"prefix_root": s.opt}},
	}
	h.Plan = s.digest(t, list)
	if change != nil {
		change(&h)
	}
	line, err := json.Marshal(map[string]any{"hello": h})
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// digest asks another broker's planning, in a store of its own.
func (s *scene) digest(t *testing.T, list []int) string {
	t.Helper()
	store, err := commit.OpenStore(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	e, _, _, err := s.Admit(t.Context(), &broker.Hello{Bundles: [][]byte{[]byte("good")}, Target: broker.Target{
		Phases: []steps.Phase{steps.PhasePostInstall}, Dirs: map[string]string{"prefix_root": s.opt}}})
	if err != nil {
		t.Fatal(err)
	}
	e.Steps, e.Store, e.Within = list, store, []string{s.opt}
	tx, err := interp.Elevate(t.Context(), e)
	if err != nil {
		return "none"
	}
	defer func() {
		if err := tx.Abort(); err != nil {
			t.Error(err)
		}
	}()
	return tx.Digest()
}

func (s *scene) names(t *testing.T) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(s.opt, func(p string, _ os.DirEntry, err error) error {
		out = append(out, strings.TrimPrefix(p, s.opt))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

func TestServe(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	before := s.names(t)
	hello := s.hello(t, []int{1, 2}, nil)
	var id string
	for _, end := range []string{"abort", "eof", "commit", "commit and abort"} {
		c := s.speak(t)
		a, failed := c.ask(hello)
		if failed != "" {
			t.Fatalf("%s: hello: %s", end, failed)
		}
		for _, step := range []string{`{"do":1}`, `{"do":2}`} {
			if _, failed := c.ask(step); failed != "" {
				t.Fatalf("%s: %s: %s", end, step, failed)
			}
		}
		if now := s.names(t); now != before+" /etc/demo.conf /var/link" && now != " /etc /etc/demo.conf /var /var/link" {
			t.Fatalf("%s: the tree has %s", end, now)
		}
		if end == "abort" {
			if _, failed := c.ask(`{"abort":true}`); failed != "" {
				t.Fatal(failed)
			}
		}
		if strings.HasPrefix(end, "commit") {
			if _, failed := c.ask(`{"commit":true}`); failed != "" {
				t.Fatal(failed)
			}
			id = a.Transaction
		}
		if end == "commit and abort" {
			if _, failed := c.ask(`{"abort":true}`); failed != "" {
				t.Fatal(failed)
			}
		}
		c.close()
		if end != "commit" {
			if now := s.names(t); now != before {
				t.Fatalf("%s: the tree has %s", end, now)
			}
			continue
		}
		// Its receipt is for the transaction that it went with, and no other.
		for _, tc := range []struct{ request, want string }{
			{`{"verify":{"version":1,"receipt":%q,"transaction":"theirs"}}`, ""},
			{`{"undo":{"version":1,"receipt":%q,"transaction":"another"}}`, "does not go with"},
			{`{"undo":{"version":1,"receipt":%q,"transaction":"theirs"}}`, ""},
			{`{"settle":{"version":1,"receipt":%q,"transaction":"theirs"}}`, ""},
		} {
			c := s.speak(t)
			if _, failed := c.ask(fmt.Sprintf(tc.request, id)); tc.want == "" && failed != "" || !strings.Contains(failed, tc.want) {
				t.Errorf("%s: got %q, want %q", tc.request, failed, tc.want)
			}
			c.close()
		}
		if now := s.names(t); now != before {
			t.Fatalf("after undo the tree has %s", now)
		}
	}
}

// What a caller may try. None of it changes anything, and the broker is as good as
// before.
func TestServeAttacks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	before := s.names(t)
	good := s.hello(t, []int{1, 2}, nil)
	for _, tc := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"no hello", []string{`{"do":1}`}, "must say what it is about"},
		{"another bundle", []string{s.hello(t, []int{1}, func(h *broker.Hello) { h.Bundles = [][]byte{[]byte("bad")} })}, "the signature is not good"},
		{"no bundle", []string{s.hello(t, []int{1}, func(h *broker.Hello) { h.Bundles = nil })}, "the signature is not good"},
		{"forged plan digest", []string{s.hello(t, []int{1}, func(h *broker.Hello) { h.Plan = strings.Repeat("a", 64) })}, "something else"},
		{"a step that is not in the document", []string{s.hello(t, []int{6}, nil)}, "the document has 5 steps"},
		{"a negative step", []string{s.hello(t, []int{-1}, nil)}, "step -1"},
		{"a command", []string{s.hello(t, []int{4}, nil)}, "no broker does steps of this type"},
		{"steps in another order", []string{s.hello(t, []int{2, 1}, nil)}, "not in the order"},
		{"a step twice", []string{s.hello(t, []int{1, 1}, nil)}, "not in the order"},
		{"no steps", []string{s.hello(t, nil, nil)}, "not in the order"},
		{"a step that the caller can do", []string{s.hello(t, []int{3}, nil), `{"do":3}`}, "does not need root"},
		{"another step", []string{good, `{"do":3}`}, "not the next"},
		{"the second before the first", []string{good, `{"do":2}`}, "not the next"},
		{"a step again", []string{good, `{"do":1}`, `{"do":1}`}, "not the next"},
		{"commit of a part", []string{good, `{"do":1}`, `{"commit":true}`}, "1 of 2 steps"},
		{"hello in a transaction", []string{good, good}, "out of turn"},
		{"undo in a transaction", []string{good, `{"undo":{"version":1,"receipt":"r","transaction":"t"}}`}, "out of turn"},
		{"a long request", []string{good, `{"do":` + strings.Repeat(" ", broker.MaxRequest) + `1}`}, "more than"},
		{"target outside", []string{s.hello(t, []int{1}, func(h *broker.Hello) { h.Target.Dirs = map[string]string{"prefix_root": s.dir} })}, "outside the directories"},
		{"another directory outside", []string{s.hello(t, []int{1}, func(h *broker.Hello) { h.Target.Dirs["home"] = "/usr" })}, "outside the directories"},
		{"a receipt by path", []string{`{"undo":{"version":1,"receipt":"../../x","transaction":"t"}}`}, ""},
	} {
		c := s.speak(t)
		failed := ""
		for _, line := range tc.lines {
			_, failed = c.ask(line)
		}
		if !strings.Contains(failed, tc.want) || tc.want != "" && failed == "" {
			t.Errorf("%s: got %q, want %q", tc.name, failed, tc.want)
		}
		c.close()
		if now := s.names(t); now != before {
			t.Fatalf("%s: the tree has %s", tc.name, now)
		}
	}
	c := s.speak(t)
	if _, failed := c.ask(good); failed != "" {
		t.Errorf("a good caller afterwards: %s", failed)
	}
	c.close()
}

// What happens to the tree between the plan and the step, and between the messages.
func TestServeMoved(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		bend func(s *scene) error
		want string
	}{
		{"prefix becomes a link", func(s *scene) error {
			if err := os.Rename(s.opt, s.opt+".away"); err != nil {
				return err
			}
			return os.Symlink(s.dir+"/outside", s.opt)
		}, ""},
		{"directory becomes a link", func(s *scene) error {
			if err := os.Rename(s.opt+"/var", s.opt+"/var.away"); err != nil {
				return err
			}
			return os.Symlink(s.dir+"/outside", s.opt+"/var")
		}, "leads out of the directories"},
		{"something is in the place", func(s *scene) error {
			return os.WriteFile(s.opt+"/var/link", []byte("mine"), 0o644)
		}, "file exists"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			if err := os.Mkdir(s.dir+"/outside", 0o755); err != nil {
				t.Fatal(err)
			}
			hello := s.hello(t, []int{1, 2}, nil)
			c := s.speak(t)
			if _, failed := c.ask(hello); failed != "" {
				t.Fatal(failed)
			}
			if err := tc.bend(s); err != nil {
				t.Fatal(err)
			}
			_, failed := c.ask(`{"do":1}`)
			if tc.want != "" && !strings.Contains(failed, tc.want) {
				t.Errorf("got %q, want %q", failed, tc.want)
			}
			c.close()
			// An old hello is for an old tree.
			c = s.speak(t)
			if _, failed := c.ask(hello); failed == "" {
				t.Error("the hello of before is taken again")
			}
			c.close()
			if names, err := os.ReadDir(s.dir + "/outside"); err != nil || len(names) > 0 {
				t.Errorf("outside has %v, %v", names, err)
			}
		})
	}
}

// A file with another name may be anybody's.
func TestServeHardLink(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	secret := s.dir + "/secret"
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(secret, s.opt+"/var/two"); err != nil {
		t.Fatal(err)
	}
	c := s.speak(t)
	if _, failed := c.ask(s.hello(t, []int{5}, nil)); !strings.Contains(failed, "has other names") {
		t.Errorf("got %q", failed)
	}
	c.close()
	if info, err := os.Stat(secret); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// A broker that cannot remember what it accepted takes it back.
func TestServeNotAccepted(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	before := s.names(t)
	s.accept = errors.New("a newer one was accepted meanwhile")
	c := s.speak(t)
	for _, line := range []string{s.hello(t, []int{1, 2}, nil), `{"do":1}`, `{"do":2}`} {
		if _, failed := c.ask(line); failed != "" {
			t.Fatal(failed)
		}
	}
	if _, failed := c.ask(`{"commit":true}`); !strings.Contains(failed, "newer") {
		t.Errorf("got %q", failed)
	}
	if _, failed := c.ask(`{"abort":true}`); failed != "" {
		t.Error(failed)
	}
	c.close()
	if now := s.names(t); now != before {
		t.Errorf("the tree has %s", now)
	}
}

func TestServeLongHello(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var out bytes.Buffer
	err := broker.Serve(t.Context(), io.MultiReader(strings.NewReader(`{"hello":"`), &endless{}), &out, s.keeper)
	if err == nil || !strings.Contains(out.String(), "more than") {
		t.Errorf("got %v, %s", err, out.String())
	}
}

// endless is a line without end.
type endless struct{}

func (*endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
