package conformance

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Case is one line of a vectors file.
type Case struct {
	Name    string          `json:"name"`
	Context CaseContext     `json:"context"`
	Phase   string          `json:"phase"` // "install" or "uninstall"
	Before  Tree            `json:"before"`
	Steps   json.RawMessage `json:"steps"`
	Expect  Expectation     `json:"expect"`
}

// CaseContext is the package that the steps belong to.
type CaseContext struct {
	Kind    string `json:"kind"` // "formula" or "cask"
	Name    string `json:"name"`
	Version string `json:"version"`
	OS      string `json:"os"` // "linux" or "macos"
}

// Expectation is what the reference did.
type Expectation struct {
	OK       bool     `json:"ok"`
	After    Tree     `json:"after"`
	Messages []string `json:"messages"`
	Reason   string   `json:"reason"`
}

// rootMark stands for the scratch root in link targets, contents and steps.
const rootMark = "{ROOT}"

// maxLine bounds, in bytes, one case.
const maxLine = 16 << 20

// ReadCases reads the cases of a .jsonl or .jsonl.gz file, or of all such files
// below a directory.
func ReadCases(path string) ([]Case, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return readFile(path)
	}
	var out []Case
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(strings.TrimSuffix(p, ".gz"), ".jsonl") {
			return err
		}
		cases, err := readFile(p)
		out = append(out, cases...)
		return err
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%s: holds no .jsonl or .jsonl.gz file", path)
	}
	return out, err
}

func readFile(path string) ([]Case, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		zr, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		r = zr
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1<<20), maxLine)
	var out []Case
	for n := 1; lines.Scan(); n++ {
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		var c Case
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if c.Name == "" {
			return nil, fmt.Errorf("%s:%d: a case must have a name", path, n)
		}
		out = append(out, c)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

// Stricter reports whether the case is one of those where this project refuses
// on purpose what the reference lets pass: a condition that nobody knows, and an
// unknown token in a path.
func (c *Case) Stricter() bool {
	return c.Name == "guard-unknown" || strings.HasPrefix(c.Name, "guard-on-windows-") ||
		strings.HasSuffix(c.Name, "-unknown-template")
}

// fill puts the scratch root in.
func fill(s, root string) string { return strings.ReplaceAll(s, rootMark, root) }

// sortedPaths gives the paths of a tree, parents first.
func (t Tree) sortedPaths() []string {
	paths := make([]string, 0, len(t))
	for p := range t {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths
}
