package main

import (
	"fmt"
	"strings"

	"steps.example/interp/changeset"
)

// runSuite runs a conformance suite, prints each result, called kind for machines,
// and the sum, and fails with failure where something did.
func runSuite[R, S any](t *terminal, kind string, run func(report func(R)) (S, error), line func(R) string, total func(S) (lines []string, failure error)) error {
	var broken error
	sum, err := run(func(r R) {
		if t.json && broken == nil {
			broken = t.object(kind, r)
		}
		t.say("%s", line(r))
	})
	if err != nil {
		return err
	}
	if broken != nil {
		return broken
	}
	if t.json {
		if err := t.object("summary", sum); err != nil {
			return err
		}
	}
	lines, failure := total(sum)
	for _, l := range lines {
		t.say("%s", l)
	}
	if failure != nil {
		return &exitError{code: exitFailed, err: failure}
	}
	return nil
}

// failures is the failure of a suite in which so many of all failed; nil for none.
func failures(failed, all int, what string) error {
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d %s", failed, all, what)
}

// listScenes prints what can be picked.
func listScenes(t *terminal, names []string) error {
	for _, name := range names {
		if t.json {
			if err := t.object("scene", map[string]string{"name": name}); err != nil {
				return err
			}
		}
		t.say("%s", name)
	}
	return nil
}

// sceneLine is a scene's result, and what there is to say of it below.
func sceneLine(name, counts string, failed int, skipped string, below []string) string {
	if failed == 0 && skipped != "" {
		return "skip " + name + "\n     " + wrapped(changeset.Printable(skipped), 5)
	}
	lines := []string{sceneHead(name, counts, failed)}
	for _, text := range below {
		lines = append(lines, "     "+wrapped(changeset.Printable(text), 5))
	}
	return strings.Join(lines, "\n")
}

// sceneHead is the first line of a scene's result.
func sceneHead(name, counts string, failed int) string {
	mark := "ok"
	if failed > 0 {
		mark = "FAIL"
	}
	return fmt.Sprintf("%-4s %s %4d failed  %s", mark, counts, failed, name)
}
