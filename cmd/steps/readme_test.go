package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"steps.example/interp"
)

// commandDir is a directory with this test binary under the name steps.
func commandDir(t *testing.T) string {
	t.Helper()
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "steps")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func runScript(t *testing.T, dir, script string, env ...string) string {
	t.Helper()
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), asSteps+"=1"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestReadme runs the commands that the README shows, in their order.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, use, found := strings.Cut(string(text), "\n## Use\n")
	if !found {
		t.Fatal("README.md has no section Use")
	}
	use, _, _ = strings.Cut(use, "\n## ")
	var script strings.Builder
	noJail := interp.Machine{}.CanRun(nil)
	for line := range strings.Lines(use) {
		command, ok := strings.CutPrefix(line, "    ")
		if !ok {
			continue
		}
		if noJail != nil && (strings.HasPrefix(command, "steps exec ") || strings.HasPrefix(command, "steps doctor")) {
			t.Logf("not run, as there is no jail here (%v): %s", noJail, command)
			continue
		}
		script.WriteString(command)
	}
	if strings.Count(script.String(), "steps ") < 8 {
		t.Fatalf("the section Use shows too few commands: %s", script.String())
	}
	example, err := filepath.Abs(filepath.Join("testdata", "example"))
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	bin := commandDir(t)
	prepare := `sh "$EXAMPLE/keg.sh" brew; cp "$EXAMPLE/hello.json" .; echo package >hello.tar.gz
`
	out := runScript(t, work, prepare+script.String(), "EXAMPLE="+example, "PATH="+bin+":"+os.Getenv("PATH"),
		"XDG_STATE_HOME="+filepath.Join(work, "state"), "HOME="+work)
	if !strings.Contains(out, "path(s) put back") {
		t.Errorf("it did not end with an undo:\n%s", out)
	}
}

// TestDemo runs what make demo runs.
func TestDemo(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs(filepath.Join("testdata", "example", "demo.sh"))
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	out := runScript(t, work, `sh "$DEMO"`, "DEMO="+script, "BIN="+commandDir(t), "TMPDIR="+work, "HOME="+work)
	if !strings.Contains(out, "hello from hello 1.0.0") || !strings.Contains(out, "The tree is as it was before.") {
		t.Error(out)
	}
}
