package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMutate(t *testing.T) {
	t.Parallel()
	const src = `package commit

const objectFlags = unix.O_PATH | unix.O_NOFOLLOW

func (w *work) f() error {
	if err := w.durable(); err != nil {
		return err
	}
	if a := g(); a != 1 && !sameVersion(a, b) {
		return moved("x")
	}
	if ok {
		return nil
	}
	return unix.Renameat2(1, "a", 2, "b", unix.RENAME_NOREPLACE)
}
`
	const want = `package commit

var   objectFlags = unix.O_PATH | mutantFlag(7, unix.O_NOFOLLOW)

func (w *work) f() error {
	if err := mutantSync(8, func() error { return w.durable() }); err != nil {
		return err
	}
	if a := g(); mutantCheck(9, a != 1 && !mutantIs(10, sameVersion(a, b))) {
		return moved("x")
	}
	if ok {
		return nil
	}
	return unix.Renameat2(1, "a", 2, "b", uint(mutantFlag(11, unix.RENAME_NOREPLACE)))
}
`
	got, mutants, err := mutate("f.go", []byte(src), 7)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	var kinds []string
	for _, m := range mutants {
		kinds = append(kinds, m.Kind)
	}
	if got := strings.Join(kinds, " "); got != "flag sync check identity flag" {
		t.Error(got)
	}
	if key := mutants[1].Key(); key != "f.go work.f sync w.durable()" {
		t.Error(key)
	}
}

// TestSurvivors: each line of the list is about a mutant that there is.
func TestSurvivors(t *testing.T) {
	t.Parallel()
	overlay, mutants, err := mutateAll(filepath.Join("..", "..", commitDir))
	if err != nil {
		t.Fatal(err)
	}
	for name, src := range overlay {
		if _, err := parser.ParseFile(token.NewFileSet(), name, src, 0); err != nil {
			t.Errorf("mutated: %v", err)
		}
	}
	if len(mutants) < 100 {
		t.Errorf("%d mutants", len(mutants))
	}
	known := map[string]bool{}
	for _, m := range mutants {
		known[m.Key()] = true
	}
	text, err := os.ReadFile("survivors.txt")
	if err != nil {
		t.Fatal(err)
	}
	reasons, err := parseSurvivors(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for key := range reasons {
		if !known[key] {
			t.Errorf("survivors.txt: there is no mutant %q", key)
		}
	}
}
