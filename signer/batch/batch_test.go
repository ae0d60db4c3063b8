package batch

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"steps.example/signer"
	"steps.example/signer/registry/store"
)

const testRegistry = "https://registry.example"

// asBatch makes the test binary sign a file, for tests that kill it.
const asBatch = "STEPS_TEST_BATCH"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asBatch); dir != "" {
		if err := signFile(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func signFile(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "key"))
	if err != nil {
		return err
	}
	key, err := signer.ParsePrivateKey(text)
	if err != nil {
		return err
	}
	s, err := signer.NewSigner(key, signer.Evidence{})
	if err != nil {
		return err
	}
	st, err := store.Open(context.Background(), "file://"+filepath.ToSlash(filepath.Join(dir, "store")), testRegistry)
	if err != nil {
		return err
	}
	in, err := os.Open(filepath.Join(dir, "in.jsonl"))
	if err != nil {
		return err
	}
	defer in.Close()
	return Run(context.Background(), Lines(in, "in.jsonl"), Options{Store: st, Signer: s, Check: checkDocument})
}

func checkDocument(_ string, document []byte) (*signer.CheckedDocument, error) {
	return signer.CheckDocument(document)
}

func document(name string, n int) string {
	step := `{"type":"mkdir_p","path":{"base":"prefix","path":"etc/dir"}}`
	return fmt.Sprintf(`{"schema":1,"layout":"generic","name":%q,"version":"1.0","post_install_steps":[%s]}`,
		name, strings.TrimSuffix(strings.Repeat(step+",", n), ","))
}

func line(purl, document string) string {
	sum := hex.EncodeToString(bytes.Repeat([]byte{7}, 32))
	return fmt.Sprintf(`{"purl":%q,"artifact_sha256":%q,"document":%s}`, purl, sum, document)
}

func purl(i int) string { return fmt.Sprintf("pkg:generic/acme/p%07d@1.0", i) }

type fixture struct {
	store            *store.Store
	key              *signer.Key
	o                Options
	results, rejects bytes.Buffer
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := new(fixture)
	var err error
	if f.key, err = signer.GenerateKey(); err != nil {
		t.Fatal(err)
	}
	s, err := signer.NewSigner(f.key, signer.Evidence{})
	if err != nil {
		t.Fatal(err)
	}
	if f.store, err = store.Open(t.Context(), "file://"+filepath.ToSlash(t.TempDir()), testRegistry); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.store.Close() })
	f.o = Options{Store: f.store, Signer: s, Check: checkDocument, Results: &f.results, Rejects: &f.rejects, Stats: new(Stats)}
	return f
}

func (f *fixture) run(t *testing.T, input string) {
	t.Helper()
	f.results.Reset()
	f.rejects.Reset()
	f.o.Stats = new(Stats)
	if err := Run(t.Context(), Lines(strings.NewReader(input), "in.jsonl"), f.o); err != nil {
		t.Fatal(err)
	}
}

// rejected is where and why, sorted.
func (f *fixture) rejected(t *testing.T) (list []string) {
	t.Helper()
	for text := range strings.Lines(f.rejects.String()) {
		var r reject
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r.Error)
	}
	slices.Sort(list)
	return list
}

// bundles are the store's, by key.
func bundles(t *testing.T, s *store.Store) map[string]string {
	t.Helper()
	got := map[string]string{}
	if err := s.List(t.Context(), "bundles/", func(key string, _ time.Time) error {
		data, err := s.Read(t.Context(), key, 1<<20)
		got[key] = string(data)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	input := strings.Join([]string{
		line(purl(1), document("p1", 1)),
		"",
		line(purl(2), `{"schema":1,"layout":"generic","name":"p2","post_install_steps":[{"type":"mkdir"}]}`),
		line(purl(3), document("p3", 0)),
		`{"purl":"x"`,
		line(purl(1), document("p1", 2)),
		`{"purl":"pkg:generic/acme/a b","artifact_sha256":"` + strings.Repeat("07", 32) + `","document":{}}`,
		line("pkg:generic/acme/%zz@1", document("p", 1)),
		line(purl(4), document("p4", 1)) + strings.Repeat(" ", MaxSubmissionBytes),
		line(purl(5), document("p5", 1)),
	}, "\n")
	f.run(t, input)
	got := fmt.Sprint(f.o.Stats.Signed.Load(), f.o.Stats.Rejected.Load(), f.o.Stats.Already.Load(), f.o.Stats.Failed.Load())
	if got != "4 5 0 0" {
		t.Errorf("signed, rejected, already, failed: %s", got)
	}
	list := f.rejected(t)
	for i, want := range []string{"in.jsonl:3:", "in.jsonl:5:", "in.jsonl:7:", "in.jsonl:8:", "in.jsonl:9: submission has more than"} {
		if i >= len(list) || !strings.HasPrefix(list[i], want) {
			t.Errorf("reject %d of %q does not begin with %q", i, list, want)
		}
	}
	// The position is that in the file: column 159 is where the step stands.
	if col := strings.Index(strings.Split(input, "\n")[2], `{"type"`) + 1; !strings.HasPrefix(list[0], fmt.Sprintf("in.jsonl:3:%d:", col)) {
		t.Errorf("%q does not point at column %d", list[0], col)
	}
	first := bundles(t, f.store)
	if _, ok := first[store.Ref{Package: store.PackageKey(purl(1)), Revision: 2}.BundleKey()]; !ok || len(first) != 4 {
		t.Errorf("%d bundles", len(first))
	}

	// Again: the same input signs nothing.
	f.run(t, input)
	if f.o.Stats.Signed.Load() != 0 || f.o.Stats.Already.Load() != 4 {
		t.Errorf("signed %d again", f.o.Stats.Signed.Load())
	}
	if diff := cmp.Diff(first, bundles(t, f.store)); diff != "" {
		t.Error(diff)
	}
	if got := f.rejected(t); len(got) != len(list) || !strings.Contains(got[3], "refused before: purl") {
		t.Errorf("rejected %q, before %q", got, list)
	}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/1.json": line(purl(1), document("p1", 1)),
		"b.json":   "{\n \"purl\": \"" + purl(2) + "\",\n \"artifact_sha256\": \"" + strings.Repeat("07", 32) + "\",\n \"document\": {\n  \"schema\": 1,\n  \"oops\": 2}}",
		"notes":    "not read",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "endless.json")); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), Directory(t.Context(), dir), f.o); err != nil {
		t.Fatal(err)
	}
	if f.o.Stats.Signed.Load() != 1 || f.o.Stats.Rejected.Load() != 1 {
		t.Errorf("signed %d, rejected %d", f.o.Stats.Signed.Load(), f.o.Stats.Rejected.Load())
	}
	if list := f.rejected(t); len(list) != 1 || !strings.Contains(list[0], filepath.Join(dir, "b.json")+":6:") {
		t.Errorf("%q does not point at line 6", list)
	}
}

// Errors that may pass the next time are told apart, and stop nothing else.
func TestFailedIsTriedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	good := f.o.Signer
	f.o.Signer = failing{}
	f.run(t, line(purl(1), document("p1", 1)))
	if f.o.Stats.Failed.Load() != 1 || !strings.Contains(f.rejects.String(), `"retry":true`) {
		t.Errorf("failed %d: %s", f.o.Stats.Failed.Load(), &f.rejects)
	}
	f.o.Signer = good
	f.run(t, line(purl(1), document("p1", 1)))
	if f.o.Stats.Signed.Load() != 1 {
		t.Errorf("signed %d: %s", f.o.Stats.Signed.Load(), &f.rejects)
	}
}

type failing struct{}

func (failing) Sign(context.Context, signer.Request) ([]byte, error) {
	return nil, &signer.Error{Kind: signer.KindService, Msg: "down", Hint: "wait"}
}

// Killed three times and run again, each submission is signed once.
func TestKilled(t *testing.T) {
	t.Parallel()
	const n = 300
	f := newFixture(t)
	dir := t.TempDir()
	pem, err := f.key.MarshalPEM()
	if err != nil {
		t.Fatal(err)
	}
	var input strings.Builder
	for i := range n {
		fmt.Fprintln(&input, line(purl(i/2), document(fmt.Sprint("p", i), 1)))
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "key"), pem, 0o600), os.WriteFile(filepath.Join(dir, "in.jsonl"), []byte(input.String()), 0o644)); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), "file://"+filepath.ToSlash(filepath.Join(dir, "store")), testRegistry)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	before := map[string]string{}
	for _, until := range []int{30, 90, 200, 0} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), asBatch+"="+dir)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if until > 0 {
			for len(bundles(t, st)) < until && cmd.Process.Signal(syscall.Signal(0)) == nil {
				time.Sleep(time.Millisecond)
			}
			cmd.Process.Kill()
		}
		if err := cmd.Wait(); err != nil && until == 0 {
			t.Fatal(err)
		}
		now := bundles(t, st)
		for key, bundle := range before {
			if now[key] != bundle {
				t.Errorf("%s was signed again", key)
			}
		}
		before = now
	}
	if len(before) != n {
		t.Errorf("%d bundles of %d submissions", len(before), n)
	}
	for i := range n {
		record, err := st.Record(t.Context(), store.Ref{Package: store.PackageKey(purl(i / 2)), Revision: i%2 + 1})
		if err != nil {
			t.Fatal(err)
		}
		want := store.Submission{PURL: purl(i / 2), Artifact: [32]byte(bytes.Repeat([]byte{7}, 32)), Document: []byte(document(fmt.Sprint("p", i), 1))}
		if record.Content != want.Content() {
			t.Errorf("revision %d of %s is not the one of the input", record.Revision, record.PURL)
		}
	}
}

func TestParseSubmission(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("07", 32)
	s, err := ParseSubmission([]byte(`{"purl":"pkg:a/\u0062@1","artifact_sha256":"` + sum + `","revision":3,"subject":"s", "document": {"x": [ "\u00e9" ]} } `))
	if err != nil || s.PURL != "pkg:a/b@1" || s.Revision != 3 || s.Subject != "s" || string(s.Document) != `{"x": [ "\u00e9" ]}` {
		t.Errorf("%+v, %v", s, err)
	}
	for _, text := range []string{
		"", "[]", "{}", "null", line("p", "{}") + "{}", `{"purl":1}`, `{"purl":"a","purl":"b"}`, `{"x":1}`,
		`{"artifact_sha256":"` + strings.ToUpper(strings.Repeat("ab", 32)) + `"}`, `{"revision":0}`, `{"revision":1.5}`, `{"revision":"1"}`,
		`{"purl":"a","artifact_sha256":"` + sum + `"}`, `{"document":{"a":1,"a":2}}`,
		`{"document":` + strings.Repeat("[", 100_000),
	} {
		if _, err := ParseSubmission([]byte(text)); err == nil {
			t.Errorf("%.80s was accepted", text)
		}
	}
}

func FuzzParseSubmission(f *testing.F) {
	f.Add([]byte(line(purl(1), document("p", 1))))
	f.Add([]byte(`{"purl":"a","artifact_sha256":"","revision":1,"subject":"x","document":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSubmission(data)
		if err != nil {
			return
		}
		if !json.Valid(s.Document) || !bytes.Contains(data, s.Document) {
			t.Errorf("%q gave the document %q", data, s.Document)
		}
		lines := bytes.Split(data, []byte("\n"))
		if s.line >= len(lines) || !bytes.HasPrefix(append(lines[s.line][s.column:], bytes.Join(lines[s.line+1:], []byte("\n"))...), s.Document[:1]) {
			t.Errorf("%q: document is not at %d:%d", data, s.line, s.column)
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\n\nb"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var want []string
		for i, text := range strings.Split(string(data), "\n") {
			if strings.TrimSpace(text) != "" {
				want = append(want, fmt.Sprint(i+1, text))
			}
		}
		var got []string
		for item, err := range Lines(bytes.NewReader(data), "x") {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(item.Line, string(item.Data)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
