package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	noticedFile = "conformance/mutants/noticed.txt"
	noticedHead = "# Written by make mutants: syncs and checks of commit, each with a test that notices that\n# it is gone. Of syncs, the tables of TestEverySync in conformance/crash tell as well.\n"
	noticedBy   = " <- "
)

// parseNoticed reads what noticed a mutant, by its key.
func parseNoticed(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if key, by, ok := strings.Cut(strings.TrimSpace(line), noticedBy); ok && !strings.HasPrefix(line, "#") {
			out[key] = by
		}
	}
	return out
}

// writeNoticed adds what was found now to the list, and leaves out mutants that are no
// more, or that nothing notices any more, if all suites were asked.
func writeNoticed(all, picked []Mutant, found []string, whole bool) error {
	text, err := os.ReadFile(filepath.FromSlash(noticedFile))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	list := parseNoticed(string(text))
	there := map[string]bool{}
	for _, m := range all {
		there[m.Key()] = true
	}
	maps.DeleteFunc(list, func(key, _ string) bool { return !there[key] })
	for i, m := range picked {
		if found[i] != "" {
			list[m.Key()] = found[i]
		} else if whole {
			delete(list, m.Key())
		}
	}
	var b strings.Builder
	b.WriteString(noticedHead)
	for _, key := range slices.Sorted(maps.Keys(list)) {
		fmt.Fprintf(&b, "%s%s%s\n", key, noticedBy, list[key])
	}
	return os.WriteFile(filepath.FromSlash(noticedFile), []byte(b.String()), 0o644)
}
