package schema

import (
	"flag"
	"io/fs"
	"os"
	"testing"

	"cuelang.org/go/cue/format"
)

var update = flag.Bool("update", false, "format the CUE files")

func TestFormat(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(files, "*.cue")
	if err != nil || len(names) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := format.Source(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if string(want) == string(text) {
			continue
		}
		if !*update {
			t.Errorf("%s is not formatted: run go test ./schema -run TestFormat -update", name)
		} else if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
