//go:build !light && !noregistry

package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"steps.example/signer"
	"steps.example/signer/registry/lookup"
)

// 10,000 are the acceptance test: go test -run TestRegistryKilled -registry.documents 10000.
var registryDocuments = flag.Int("registry.documents", 200, "documents in TestRegistryKilled")

const (
	killRegistry = "https://registry.example"
	killVersion  = "1.0"
)

// registryProcess is a whole registry in one process, with embedded defaults.
type registryProcess struct {
	t       *testing.T
	dir     string
	cmd     *exec.Cmd
	address string
}

func (p *registryProcess) steps(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asSteps+"=1", "GOCOVERDIR="+p.dir)
	cmd.Dir = p.dir
	return cmd
}

func (p *registryProcess) start() {
	p.t.Helper()
	p.cmd = p.steps("registry", "serve", "--all", "--fast", "--store", "store", "--registry", killRegistry, "--log", "json",
		"--key", "steps.key", "--index-keys", "keys", "--listen", "127.0.0.1:0", "--every", "100ms", "--sweep", "500ms")
	out, err := p.cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			p.address = line.Address
			go io.Copy(io.Discard, out)
			return
		}
		p.t.Log(lines.Text())
	}
	p.t.Fatal("the registry did not start")
}

// kill ends the process without any chance to clean up.
func (p *registryProcess) kill() {
	p.t.Helper()
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// publish sends submissions, and returns what was answered until the process died.
func (p *registryProcess) publish(from, to int) (answers []string, err error) {
	var body bytes.Buffer
	for i := from; i < to; i++ {
		fmt.Fprintf(&body, `{"purl":%q,"artifact_sha256":"%x","document":%s}`+"\n", killPURL(i), killArtifact(i), killDocument(i))
	}
	resp, err := http.Post("http://"+p.address+"/v1/submissions", "application/x-ndjson", &body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		answers = append(answers, lines.Text())
	}
	return answers, lines.Err()
}

func killPURL(i int) string { return fmt.Sprintf("pkg:generic/acme/p%d@%s", i, killVersion) }

func killArtifact(i int) [32]byte { return sha256.Sum256(fmt.Append(nil, "file ", i)) }

func killDocument(i int) string {
	return fmt.Sprintf(`{"schema":1,"layout":"generic","name":"p%d","version":%q,"post_install_steps":[{"type":"mkdir_p","path":{"base":"prefix","path":"etc/p%[1]d"}}]}`, i, killVersion)
}

// bundles are the signed revisions, by name in the store.
func (p *registryProcess) bundles() map[string]string {
	p.t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(filepath.Join(p.dir, "store", "bundles"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		got[entry.Name()] = string(data)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	return got
}

// left counts the marks of work to be done.
func (p *registryProcess) left() (n int) {
	for _, mark := range []string{"pending", "unindexed"} {
		filepath.WalkDir(filepath.Join(p.dir, "store", mark), func(_ string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				n++
			}
			return nil
		})
	}
	return n
}

// Documents go in by HTTP; the process that signs and indexes them is killed twice at
// work. In the end each has one bundle, which stayed as it was, is in the index, and is
// verified by a client.
func TestRegistryKilled(t *testing.T) {
	t.Parallel()
	n := *registryDocuments
	p := &registryProcess{t: t, dir: t.TempDir()}
	for _, args := range [][]string{
		{"keygen", "steps.key", "--policy", "trust.json", "--registry", killRegistry, "--package", "pkg:generic/acme/*"},
		{"registry", "init", "--store", "store", "--registry", killRegistry, "--index-keys", "keys", "--bits", "4"},
	} {
		if out, err := p.steps(args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	before := map[string]string{}
	for round, until := range []int{n / 4, n / 2} {
		p.start()
		published := make(chan struct{})
		go func() {
			p.publish(0, n*(round+1)/2)
			close(published)
		}()
		for len(p.bundles()) < until {
			time.Sleep(5 * time.Millisecond)
		}
		p.kill()
		<-published
		before = sameBundles(t, before, p.bundles())
	}
	p.start()
	defer p.kill()
	answers, err := p.publish(0, n)
	if err != nil || len(answers) != n {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	for _, a := range answers {
		if !strings.Contains(a, `"revision":1`) {
			t.Errorf("answer %s", a)
		}
	}
	for p.left() > 0 {
		time.Sleep(20 * time.Millisecond)
	}
	if after := sameBundles(t, before, p.bundles()); len(after) != n {
		t.Errorf("%d bundles of %d documents", len(after), n)
	}
	p.verifyAll(n)

	// A stop by signal is orderly: it gives the lease back.
	p.cmd.Process.Signal(os.Interrupt)
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("interrupted: %v", err)
	}
}

// sameBundles insists that none of before has changed.
func sameBundles(t *testing.T, before, now map[string]string) map[string]string {
	t.Helper()
	for name, bundle := range before {
		if now[name] != bundle {
			t.Errorf("%s was signed again", name)
		}
	}
	return now
}

// verifyAll is a client of all packages.
func (p *registryProcess) verifyAll(n int) {
	p.t.Helper()
	check := func(err error) {
		p.t.Helper()
		if err != nil {
			p.t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(p.dir, "trust.json"))
	check(err)
	policy, err := signer.ParsePolicy(text)
	check(err)
	root, err := os.ReadFile(filepath.Join(p.dir, "keys", "root.json"))
	check(err)
	c, err := lookup.Open(lookup.Config{Root: root, BaseURL: "http://" + p.address, Dir: filepath.Join(p.dir, "client")})
	check(err)
	for i := range n {
		entry, err := c.Lookup(p.t.Context(), killPURL(i))
		check(err)
		bundle, err := c.Bundle(p.t.Context(), entry)
		check(err)
		v, err := signer.Verify(bundle, policy, signer.Expectation{
			PURL: killPURL(i), Registry: killRegistry, ArtifactSHA256: killArtifact(i), Now: time.Now(), Listed: entry.Mark(), State: c,
		})
		check(err)
		if string(v.Document) != killDocument(i) || v.Revision != 1 || !entry.StepsRequired {
			p.t.Errorf("%s: revision %d, document %s", v.PURL, v.Revision, v.Document)
		}
		if i%10 == 0 {
			check(c.Accept(entry, v))
		}
	}
	sum := sha256.Sum256([]byte(killPURL(n)))
	if _, err := c.Lookup(p.t.Context(), killPURL(n)); err == nil {
		p.t.Errorf("the index has %s, which was never published", hex.EncodeToString(sum[:]))
	}
}
