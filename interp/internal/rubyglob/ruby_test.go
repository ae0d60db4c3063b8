package rubyglob

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// osFS is the real file system.
type osFS struct{}

func kindOfMode(mode os.FileMode) Kind {
	switch {
	case mode.IsRegular():
		return File
	case mode.IsDir():
		return Dir
	case mode&os.ModeSymlink != 0:
		return Symlink
	}
	return Other
}

func osKind(info os.FileInfo, err error) (Kind, error) {
	for _, missing := range []error{os.ErrNotExist, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG} {
		if errors.Is(err, missing) {
			return None, nil
		}
	}
	if err != nil {
		return None, err
	}
	return kindOfMode(info.Mode()), nil
}

func (osFS) Lstat(path string) (Kind, error) { return osKind(os.Lstat(path)) }
func (osFS) Stat(path string) (Kind, error)  { return osKind(os.Stat(path)) }

func (osFS) ReadDir(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Reverse(names) // any order will do
	return names, err
}

const rubyProgram = `
require "json"; $VERBOSE = nil
STDIN.each_line do |line|
  begin
    out = Dir.glob(JSON.parse(line))
  rescue ArgumentError
    out = nil
  end
  puts JSON.generate(out)
end
`

// runRuby returns what Dir.glob answers to each pattern; nil is an error.
func runRuby(t *testing.T, patterns []string) [][]string {
	t.Helper()
	ruby, err := exec.LookPath("ruby")
	if err != nil {
		t.Skip("no ruby on this machine")
	}
	var in bytes.Buffer
	enc := json.NewEncoder(&in)
	for _, p := range patterns {
		if err := enc.Encode(p); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(ruby, "-e", rubyProgram)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	cmd.Stdin = &in
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ruby: %v\n%s", err, stderr.String())
	}
	var results [][]string
	dec := json.NewDecoder(bytes.NewReader(out))
	for dec.More() {
		var r []string
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	if len(results) != len(patterns) {
		t.Fatalf("ruby answered %d of %d patterns", len(results), len(patterns))
	}
	return results
}

// makeTree creates a tree described one entry a string: "a/" is a directory,
// "a/l => t" a link, anything else an empty file.
func makeTree(t *testing.T, root string, entries []string) {
	t.Helper()
	for _, e := range entries {
		name, target, isLink := strings.Cut(e, " => ")
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case isLink:
			err = os.Symlink(target, path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func compareWithRuby(t *testing.T, root string, patterns []string) {
	t.Helper()
	full := make([]string, len(patterns))
	for i, p := range patterns {
		full[i] = root + "/" + p
	}
	refused, found, failures := 0, 0, 0
	for i, want := range runRuby(t, full) {
		got, err := Glob(osFS{}, full[i])
		var pattern *PatternError
		if errors.As(err, &pattern) {
			refused++
			continue
		}
		if len(got) > 0 {
			found++
		}
		if (err != nil || want == nil || !slices.Equal(got, want)) && failures < 20 {
			failures++
			t.Errorf("%q\n got %q, %v\nwant %q", patterns[i], got, err, want)
		}
	}
	t.Logf("%d patterns, %d found something, %d refused", len(patterns), found, refused)
}

// randomPattern strings tokens together, so that all quirks of unbalanced
// brackets come up too.
func randomPattern(r *rand.Rand) string {
	tokens := []string{"a", "b", "c", ".h", ".", "..", "/", "/", "/", "*", "**/", "**", "?", "[ab]", "[^a]", "[!a-b]", "{a,b}", "{,b}", "{", "}", ",", "[", "]", `\`, "l", "d", "é", "{a/b,c}", "{*,.h}", "-", "[", "*/", "[a-é]"}
	var s strings.Builder
	for range 1 + r.IntN(7) {
		s.WriteString(tokens[r.IntN(len(tokens))])
	}
	return s.String()
}

var quirkyTree = []string{
	"a/b/c", "a/b/a", "a/c", "a/.h/a", "a/a/a/", "a/b/.h", ".h/a/b", ".h/c", ".a", "b", "c/a/b", "c/é", "c/ab", "c/[", "c/{", "c/a,b", "c/]", `c/\`, "c/-",
	"la => a", "d => nowhere", "lb => b", "a/up => ..", "c/la => ../a", "é", "ab/c/a", "c/d => ../d",
}

func TestAgainstRuby(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	makeTree(t, root, quirkyTree)
	seed, n := uint64(1), 5_000
	if s := os.Getenv("RUBYGLOB_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
		n = 50_000
	}
	r := rand.New(rand.NewPCG(seed, 1))
	var patterns []string
	for range n {
		patterns = append(patterns, randomPattern(r))
	}
	compareWithRuby(t, root, patterns)
}
