package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"steps.example/signer"
	pipeline "steps.example/signer/registry"
	"steps.example/signer/registry/lookup"
	"steps.example/signer/registry/oci"
	"steps.example/signer/registry/store"
)

var documents = flag.Int("documents", 10_000, "documents in TestRegistry")

// cluster is a registry in processes of its own, with a bucket, a queue and an OCI
// registry between them.
type cluster struct {
	t       *testing.T
	dir     string // keys and policy
	bucket  string // URL
	oci     string // repository
	env     []string
	address string // of the server
	at      []*server
	store   *store.Store
}

// Documents go in by HTTP, and workers, an indexer and a pusher share the rest, through
// servers that others wrote. All of the registry's processes are killed twice at work. In
// the end each document has one bundle, which stayed as it was, is in the index and in the
// OCI registry, and is verified by a client.
func TestRegistry(t *testing.T) {
	c := newCluster(t)
	n := *documents
	before := map[store.Ref][32]byte{}
	for round, until := range []int{n / 4, n / 2} {
		c.start()
		published := make(chan struct{})
		go func() {
			c.publish(0, n*(round+1)/2)
			close(published)
		}()
		for len(c.bundles()) < until {
			time.Sleep(pollInterval)
		}
		c.kill()
		<-published
		before = c.unchanged(before)
	}
	c.start()
	answers := c.publish(0, n)
	if len(answers) != n {
		t.Fatalf("%d answers to %d documents", len(answers), n)
	}
	for _, a := range answers {
		if !strings.Contains(a, `"revision":1`) {
			t.Errorf("answer %s", a)
		}
	}
	for c.left() > 0 {
		time.Sleep(10 * pollInterval)
	}
	if after := c.unchanged(before); len(after) != n {
		t.Errorf("%d bundles of %d documents", len(after), n)
	}
	c.verifyAll(n)
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	bucketServer, err := fakeS3.installed()
	if err != nil {
		t.Skip(err)
	}
	if *command == "" {
		t.Skip("no -steps=FILE; `make e2e` builds the command and names it")
	}
	onPath := func(name string) string {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("needs %s on the PATH (Debian: %s)", name, name)
		}
		return path
	}
	queueServer, ociServer := onPath("nats-server"), onPath("docker-registry")
	c := &cluster{t: t, dir: t.TempDir(), env: []string{"AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret"}}

	_, bucket := serve(t, bucketServer, nil, "/", func(port, _ int) []string {
		return []string{"-host", "127.0.0.1:" + strconv.Itoa(port), "-backend", "memory",
			"-initialbucket", "steps", "-quiet"}
	})
	c.bucket = "s3://steps?" + url.Values{"region": {"none"}, "endpoint": {bucket}, "use_path_style": {"true"}}.Encode()
	var queue string
	serve(t, queueServer, nil, "/healthz", func(port, other int) []string {
		queue = "nats://127.0.0.1:" + strconv.Itoa(other)
		return []string{"-a", "127.0.0.1", "-p", strconv.Itoa(other), "-m", strconv.Itoa(port)}
	})
	c.env = append(c.env, "NATS_SERVER_URL="+queue)
	_, ociBase := serve(t, ociServer, nil, "/v2/", func(port, _ int) []string {
		return []string{"serve", write(t, c.dir, "registry.yml", fmt.Appendf(nil,
			"version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: 127.0.0.1:%d}\n", filepath.Join(c.dir, "oci"), port))}
	})
	c.oci = strings.TrimPrefix(ociBase, "http://") + "/acme/steps"

	for _, e := range c.env {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	c.run("keygen", "steps.key", "--policy", "trust.json", "--registry", registry, "--package", "pkg:generic/acme/*")
	c.run("registry", "init", "--store", c.bucket, "--registry", registry, "--index-keys", "keys", "--bits", "6")
	c.store = must(store.Open(t.Context(), c.bucket, registry))(t)
	t.Cleanup(func() { c.store.Close() })
	return c
}

func (c *cluster) run(args ...string) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), *command, args...)
	cmd.Dir, cmd.Env = c.dir, append([]string{"HOME=" + c.dir, "TMPDIR=" + c.dir}, c.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("steps %v: %v\n%s", args, err, out)
	}
}

// start runs a server, two workers and an indexer.
func (c *cluster) start() {
	c.t.Helper()
	c.at = nil
	part := func(flag string, args ...string) string {
		s, base := serve(c.t, *command, c.env, "/readyz", func(port, _ int) []string {
			return append([]string{"registry", args[0], "--store", c.bucket, "--registry", registry, "--log", "json",
				flag, "127.0.0.1:" + strconv.Itoa(port)}, args[1:]...)
		})
		c.at = append(c.at, s)
		return base
	}
	file := func(name string) string { return filepath.Join(c.dir, name) }
	const queue = "nats://steps?natsv2"
	for range 2 {
		part("--metrics", "work", "--key", file("steps.key"), "--queue", queue, "--oci", c.oci, "--plain-http", "--sweep", "2s")
	}
	part("--metrics", "index", "--index-keys", file("keys"), "--policy", file("trust.json"), "--every", "1s")
	c.address = part("--listen", "serve", "--fast", "--queue", queue)
}

// kill ends all of them without any chance to clean up.
func (c *cluster) kill() {
	for _, s := range c.at {
		s.stop(c.t, false)
	}
}

// publish sends documents, and returns what was answered until the server died.
func (c *cluster) publish(from, to int) (answers []string) {
	var body bytes.Buffer
	for i := from; i < to; i++ {
		fmt.Fprintf(&body, `{"purl":%q,"artifact_sha256":"%x","document":%s}`+"\n", packageURL(i), packageFile(i), packageSteps(i))
	}
	resp, err := http.Post(c.address+"/v1/submissions", "application/x-ndjson", &body)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		answers = append(answers, lines.Text())
	}
	return answers
}

func packageURL(i int) string    { return fmt.Sprintf("pkg:generic/acme/p%d@1.0", i) }
func packageFile(i int) [32]byte { return sha256.Sum256(fmt.Append(nil, "file ", i)) }
func packageSteps(i int) string {
	return fmt.Sprintf(`{"schema":1,"layout":"generic","name":"p%d","version":"1.0","post_install_steps":[{"type":"mkdir_p","path":{"base":"prefix","path":"etc/p%[1]d"}}]}`, i)
}

// bundles are the signed revisions.
func (c *cluster) bundles() (list []store.Ref) {
	c.t.Helper()
	err := c.store.List(c.t.Context(), "bundles/", func(key string, _ time.Time) error {
		ref, err := store.ParseRef(strings.TrimSuffix(filepath.Base(key), ".json"))
		list = append(list, ref)
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return list
}

// unchanged insists that none of the bundles of before has changed, and returns those of
// now.
func (c *cluster) unchanged(before map[store.Ref][32]byte) map[store.Ref][32]byte {
	c.t.Helper()
	now := make(map[store.Ref][32]byte)
	for _, ref := range c.bundles() {
		now[ref] = sha256.Sum256(must(c.store.Bundle(c.t.Context(), ref))(c.t))
	}
	for ref, sum := range before {
		if now[ref] != sum {
			c.t.Errorf("%s was signed again", ref)
		}
	}
	return now
}

// left counts the marks of work to be done.
func (c *cluster) left() (n int) {
	c.t.Helper()
	for _, mark := range []store.Mark{store.Pending, store.Unindexed, store.Unpushed} {
		if err := c.store.Marked(c.t.Context(), mark, func(store.Ref, time.Time) error { n++; return nil }); err != nil {
			c.t.Fatal(err)
		}
	}
	return n
}

// verifyAll is a client of all packages, which also finds some in the OCI registry.
func (c *cluster) verifyAll(n int) {
	t := c.t
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	policy := must(signer.ParsePolicy(must(os.ReadFile(filepath.Join(c.dir, "trust.json")))(t)))(t)
	client := must(lookup.Open(lookup.Config{
		Root: must(os.ReadFile(filepath.Join(c.dir, "keys", "root.json")))(t), BaseURL: c.address, Dir: filepath.Join(c.dir, "client"),
	}))(t)
	repository, _, err := oci.Open(c.oci, oci.Options{PlainHTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	for i := range n {
		entry := must(client.Lookup(ctx, packageURL(i)))(t)
		bundle := must(client.Bundle(ctx, entry))(t)
		v, err := signer.Verify(bundle, policy, signer.Expectation{
			PURL: packageURL(i), Registry: registry, ArtifactSHA256: packageFile(i), Now: time.Now(), Listed: entry.Mark(), State: client,
		})
		if err != nil {
			t.Fatal(err)
		}
		if string(v.Document) != packageSteps(i) || v.Revision != 1 {
			t.Errorf("%s: revision %d, document %s", v.PURL, v.Revision, v.Document)
		}
		if i%50 == 0 {
			tag := pipeline.Tag(store.Ref{Package: store.PackageKey(packageURL(i)), Revision: 1})
			if pushed := must(repository.Tagged(ctx, tag, oci.DefaultLimits))(t); !bytes.Equal(pushed, bundle) {
				t.Errorf("%s: another bundle in the OCI registry", v.PURL)
			}
		}
	}
	var tags struct{ Tags []string }
	list := must(get("http://" + strings.Replace(c.oci, "/", "/v2/", 1) + "/tags/list"))(t)
	if err := json.Unmarshal(list, &tags); err != nil || len(tags.Tags) != n {
		t.Errorf("%d of %d bundles in the OCI registry (%v)", len(tags.Tags), n, err)
	}
}
