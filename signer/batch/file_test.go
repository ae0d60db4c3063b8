package batch

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"steps.example/signer"
)

// fileRun is a batch into one file that can be run again.
type fileRun struct {
	path    string
	o       FileOptions
	rejects bytes.Buffer
}

func newFileRun(t testing.TB) *fileRun {
	t.Helper()
	f := newFixture(t)
	return &fileRun{path: filepath.Join(t.TempDir(), "out.jsonl"), o: FileOptions{
		Registry: testRegistry, By: "key 1", Signer: f.o.Signer, Check: checkDocument, Workers: 3,
	}}
}

func (f *fileRun) run(t testing.TB, input string) error {
	t.Helper()
	out, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	f.rejects.Reset()
	f.o.Stats, f.o.Rejects = new(Stats), &f.rejects
	return RunFile(t.Context(), Lines(strings.NewReader(input), "in.jsonl"), out, f.o)
}

func (f *fileRun) must(t testing.TB, input, want string) {
	t.Helper()
	err := f.run(t, input)
	s := f.o.Stats
	got := fmt.Sprint(s.Signed.Load(), s.Already.Load(), s.Rejected.Load())
	if err != nil || got != want {
		t.Fatalf("signed, signed before, rejected: %s, want %s: %v\n%s", got, want, err, &f.rejects)
	}
}

func (f *fileRun) lines(t testing.TB) []string {
	t.Helper()
	data, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
}

// payloads are the statements in the file, in order.
func (f *fileRun) payloads(t testing.TB) (list []string) {
	t.Helper()
	for _, text := range f.lines(t)[1:] {
		var line struct {
			Bundle struct {
				DsseEnvelope struct{ Payload string }
			}
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		payload, err := base64.StdEncoding.DecodeString(line.Bundle.DsseEnvelope.Payload)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(payload))
	}
	return list
}

func revisionLine(purl, document string, revision int) string {
	return strings.Replace(line(purl, document), `{"purl"`, fmt.Sprintf(`{"revision":%d,"purl"`, revision), 1)
}

func TestFile(t *testing.T) {
	t.Parallel()
	f := newFileRun(t)
	input := strings.Join([]string{
		line(purl(1), document("a", 1)),
		line(purl(1), document("b", 1)),
		line(purl(1), `{"schema":1,"layout":"generic","name":"b","post_install_steps":[{"type":"mkdir"}]}`),
		line(purl(1), document("c", 0)),
		line(purl(2), `{`),
		revisionLine(purl(3), document("a", 2), 7),
		line(purl(3), document("b", 2)),
		revisionLine(purl(3), document("c", 2), 8),
		line("pkg:generic/acme/p0000003@1.0!", document("a", 1)),
		line(purl(4), document("a", 1)),
	}, "\n")
	f.must(t, input, "6 0 4")
	for _, where := range []string{"in.jsonl:3:", "in.jsonl:5:", "in.jsonl:8: ", "in.jsonl:9:"} {
		if !strings.Contains(f.rejects.String(), `"error":"`+where) {
			t.Errorf("%s is not among\n%s", where, &f.rejects)
		}
	}
	var got []string
	var before [32]byte
	for _, text := range f.payloads(t) {
		var s struct {
			Predicate struct {
				PURL     string
				Revision int
				Previous struct{ SHA256 string }
			}
		}
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		chained := s.Predicate.Previous.SHA256 == fmt.Sprintf("%x", before)
		got = append(got, fmt.Sprint(s.Predicate.PURL, " ", s.Predicate.Revision, " ", chained))
		before = sha256.Sum256([]byte(text))
	}
	want := []string{purl(1) + " 1 false", purl(1) + " 2 true", purl(1) + " 3 true", purl(3) + " 7 false", purl(3) + " 8 true", purl(4) + " 1 false"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// Again, and with more at the end: what is there stays.
	first := f.lines(t)
	f.must(t, input, "0 6 4")
	f.must(t, input+"\n"+line(purl(4), document("b", 1)), "1 6 4")
	if now := f.lines(t); strings.Join(now[:len(first)], "") != strings.Join(first, "")+"\n" {
		t.Error("a line has changed")
	}
}

// Cut off anywhere, the file is completed with the same statements.
func TestFileCutOff(t *testing.T) {
	t.Parallel()
	f := newFileRun(t)
	var input strings.Builder
	for i := range 12 {
		fmt.Fprintln(&input, line(purl(i/2), document(fmt.Sprint("d", i), i%2)))
		if i%3 == 0 {
			fmt.Fprintln(&input, line(purl(i/2), `{}`))
		}
	}
	f.must(t, input.String(), "12 0 4")
	whole, want := f.lines(t), f.payloads(t)
	data, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	for size := 0; size < len(data); size += 1 + len(data)/40 {
		if err := os.Truncate(f.path, int64(size)); err != nil {
			t.Fatal(err)
		}
		if err := f.run(t, input.String()); err != nil {
			t.Fatalf("cut off at %d: %v", size, err)
		}
		// Before the head was written, there is no time to keep to.
		if size < len(whole[0]) {
			whole, want = f.lines(t), f.payloads(t)
		}
		if got := f.payloads(t); fmt.Sprint(got) != fmt.Sprint(want) || f.o.Stats.Rejected.Load() != 4 {
			t.Errorf("cut off at %d: other statements", size)
		}
		if n := strings.Count(string(data[:size]), "\n"); n > 0 && strings.Join(f.lines(t)[:n], "") != strings.Join(whole[:n], "") {
			t.Errorf("cut off at %d: a line was made again", size)
		}
		whole = f.lines(t)
		if data, err = os.ReadFile(f.path); err != nil {
			t.Fatal(err)
		}
	}
}

// What a file has is not of another input, registry or signer, and nothing of it is lost
// by asking.
func TestFileOfAnother(t *testing.T) {
	t.Parallel()
	f := newFileRun(t)
	a, b, c := line(purl(1), document("a", 1)), line(purl(2), document("b", 1)), line(purl(3), document("c", 1))
	f.must(t, a+"\n"+b, "2 0 0")
	before := f.lines(t)
	for name, tc := range map[string]struct {
		input  string
		change func(*FileOptions)
		want   string
	}{
		"changed":  {line(purl(1), document("x", 1)) + "\n" + b, nil, "the input has changed"},
		"shorter":  {a, nil, "which the input does not have any more"},
		"between":  {a + "\n" + line(purl(1), document("x", 1)) + "\n" + b, nil, "the input has changed"},
		"revision": {strings.Replace(a, `{"purl"`, `{"revision":2,"purl"`, 1) + "\n" + b, nil, "the input has changed"},
		"unsorted": {a + "\n" + b + "\n" + c + "\n" + a, nil, "sort the submissions"},
		"registry": {a, func(o *FileOptions) { o.Registry = "https://other.example" }, "is of registry https://registry.example"},
		"signer":   {a, func(o *FileOptions) { o.By = "key 2" }, "signed by key 1"},
	} {
		good := f.o
		if tc.change != nil {
			tc.change(&f.o)
		}
		if err := f.run(t, tc.input); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
		f.o = good
		if now := f.lines(t); !strings.HasPrefix(strings.Join(now, ""), strings.Join(before, "")) {
			t.Errorf("%s: the file has changed", name)
		}
	}
	for _, text := range []string{"secret", "{\"batch\":", "{}\n", "\n"} {
		if err := os.WriteFile(f.path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		err := f.run(t, a)
		if begun := strings.HasPrefix(text, headBegins); begun != (err == nil) {
			t.Errorf("over %q: %v", text, err)
		}
		if now := strings.Join(f.lines(t), ""); err != nil && !strings.HasPrefix(text, strings.TrimSpace(now)) {
			t.Errorf("%q has become %q", text, now)
		}
	}
}

// A service that fails ends the batch, after what came before; a later run goes on.
func TestFileFailure(t *testing.T) {
	t.Parallel()
	f := newFileRun(t)
	good := f.o.Signer
	a := line(purl(1), document("a", 1))
	f.must(t, a, "1 0 0")
	f.o.Signer = failing{}
	input := a + "\n" + line(purl(2), document("b", 1)) + "\n" + line(purl(2), document("c", 1))
	err := f.run(t, input)
	if e, ok := errors.AsType[*signer.Error](err); !ok || e.Kind != signer.KindService || len(f.lines(t)) != 2 {
		t.Errorf("got %v, %d lines", err, len(f.lines(t)))
	}
	f.o.Signer = good
	f.must(t, input, "2 1 0")
}

func FuzzJournal(f *testing.F) {
	want := head{1, testRegistry, "k", "2026-11-30T00:00:00Z"}
	begin := `{"batch":1,"registry":"` + testRegistry + `","signed_by":"k","issued_at":"2026-11-30T00:00:00Z"}` + "\n"
	f.Add([]byte(begin + `{"purl":"p","revision":1,"content":"c","bundle":{}}` + "\n" + `{"purl`))
	f.Add([]byte(begin[:20]))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		j, err := readJournal(file, want)
		for err == nil && j.more() {
			_, err = j.has(j.next.Content)
		}
		now, _ := os.ReadFile(path)
		if err != nil && !bytes.Equal(now, data) {
			t.Errorf("%q is refused (%v) but has become %q", data, err, now)
		}
		if whole := data[:bytes.LastIndexByte(data, '\n')+1]; err == nil && !bytes.HasPrefix(now, whole) {
			t.Errorf("%q has become %q", data, now)
		}
	})
}
