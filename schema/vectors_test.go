package schema

import (
	"bufio"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"steps.example/steps"
)

// Where the conformance vectors are, and data of others that is not part of the project.
const (
	vectorsFolder = "../conformance/testdata/homebrew"
	corpusFolder  = "../../shared/corpus/homebrew"
)

type vector struct {
	Name  string         `json:"name"`
	Steps jsontext.Value `json:"steps"`
}

// readLines calls each with the lines of the files that match; it skips the test where
// there are none.
func readLines(tb testing.TB, pattern string, each func(line []byte)) {
	tb.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		tb.Fatal(err)
	}
	if len(names) == 0 {
		tb.Skipf("no file is there that matches %s", pattern)
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			tb.Fatal(err)
		}
		defer f.Close()
		var r io.Reader = f
		if strings.HasSuffix(name, ".gz") {
			if r, err = gzip.NewReader(f); err != nil {
				tb.Fatal(err)
			}
		}
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			each(slices.Clone(lines.Bytes()))
		}
		if err := lines.Err(); err != nil {
			tb.Fatal(err)
		}
	}
}

func readVectors(tb testing.TB, pattern string) []vector {
	var out []vector
	readLines(tb, pattern, func(line []byte) {
		var v vector
		if err := json.Unmarshal(line, &v); err != nil {
			tb.Fatal(err)
		}
		out = append(out, v)
	})
	return out
}

// refused are the vectors whose steps no validator accepts: the reference runner fails
// at them, or they are among the named stricter ones.
var refused = []string{
	"base-unknown", "guard-on-windows-when-linux", "guard-on-windows-when-macos", "guard-unknown",
	"init_data_dir-unknown", "mkdir_p-unknown-template", "no-type", "perm-invalid", "write-no-content",
}

// Both validators accept every vector but the refused ones, and what is accepted
// survives encoding.
func TestVectors(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{filepath.Join(vectorsFolder, "*.jsonl*"), filepath.Join(corpusFolder, "vectors.jsonl")} {
		t.Run(filepath.Base(pattern), func(t *testing.T) {
			t.Parallel()
			count := 0
			for _, v := range readVectors(t, pattern) {
				count++
				err := CrossCheckSteps(v.Steps)
				if err != nil && strings.HasPrefix(err.Error(), "BUG") || (err != nil) != slices.Contains(refused, v.Name) {
					t.Errorf("%s: %v\n%s", v.Name, err, v.Steps)
				}
				if err == nil {
					roundTrip(t, v.Name, v.Steps)
				}
			}
			t.Logf("%d vectors", count)
		})
	}
}

func roundTrip(t *testing.T, name string, text []byte) {
	t.Helper()
	before, err := steps.DecodeSteps(text, steps.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	text, err = steps.EncodeSteps(before)
	if err != nil {
		t.Fatal(err)
	}
	after, err := steps.DecodeSteps(text, steps.Limits{})
	if err != nil {
		t.Fatalf("%s: canonical form: %v", name, err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("%s: changed by encoding (-before +after):\n%s", name, diff)
	}
}

// Both validators accept every block that is in use.
func TestCorpus(t *testing.T) {
	t.Parallel()
	count := 0
	readLines(t, filepath.Join(corpusFolder, "steps.jsonl"), func(line []byte) {
		count++
		if err := CrossCheck(line); err != nil {
			t.Errorf("%v\n%s", err, line)
			return
		}
		doc, err := steps.Decode(line, steps.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := doc.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := CrossCheck(text); err != nil {
			t.Errorf("native form: %v\n%s", err, text)
		}
	})
	t.Logf("%d documents", count)
}
