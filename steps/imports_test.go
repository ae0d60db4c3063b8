package steps

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The client's path knows neither CUE nor files. What the package imports is this list
// and nothing else.
func TestImports(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{
		"bytes": true, "errors": true, "fmt": true, "io": true, "maps": true, "path": true, "regexp": true,
		"slices": true, "strconv": true, "strings": true, "sync": true, "unicode": true, "unicode/utf8": true,
		"github.com/go-json-experiment/json": true, "github.com/go-json-experiment/json/jsontext": true,
		"golang.org/x/text/cases": true, "golang.org/x/text/unicode/norm": true,
	}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); !allowed[path] {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
