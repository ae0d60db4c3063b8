package jail_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail"
)

// The test binary is several programs: the tests, the jail's helper, and the
// command in the jail, which tries one thing and exits 0 if it could, or makes
// the next jail.
func TestMain(m *testing.M) {
	if jail.IsHelper() {
		jail.Main()
	}
	if len(os.Args) == 4 && os.Args[1] == "probe" {
		var w world
		if err := json.Unmarshal([]byte(os.Args[3]), &w); err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
		if err := findProbe(os.Args[2]).try(w); err != nil {
			var errno unix.Errno
			if errors.As(err, &errno) {
				fmt.Println(unix.ErrnoName(errno))
			}
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == "nested" {
		os.Exit(runNested(os.Args[2]))
	}
	if len(os.Args) == 3 && os.Args[1] == "confined" {
		os.Exit(runConfined(os.Args[2]))
	}
	os.Exit(m.Run())
}

// self is the test binary.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// needJail skips where the kernel cannot keep what the jail promises.
func needJail(t testing.TB) {
	t.Helper()
	if _, err := jail.Check().Judge(jail.Policy{Reads: []string{"/usr"}, Dir: "/usr"}); err != nil {
		t.Skip(err)
	}
}

// tempDir is t.TempDir without links in its path.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// policy grants the system, the test binary, and dir for writing.
func policy(t testing.TB, dir string) jail.Policy {
	t.Helper()
	exe, err := filepath.EvalSymlinks(self(t))
	if err != nil {
		t.Fatal(err)
	}
	return jail.Policy{
		Reads:  jail.SystemReads(),
		Execs:  append(jail.SystemExecs(), exe),
		Writes: []string{dir},
		Env:    []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C"},
		Dir:    dir,
	}
}

// A mode is a way in which the jail can work on this machine.
type mode struct {
	name    string
	support jail.Support
}

// modes are those that work here.
func modes(t testing.TB) []mode {
	t.Helper()
	needJail(t)
	s := jail.Check()
	without := s
	without.Namespaces = false
	all := []mode{{"landlock", without}}
	if s.Namespaces {
		all = append(all, mode{"namespaces", s})
	}
	return all
}

// run runs a command in the jail, with no error from the jail itself.
func (m mode) run(t testing.TB, p jail.Policy, path string, args ...string) *jail.Result {
	t.Helper()
	res, err := jail.RunWith(context.Background(), self(t), p, jail.Command{Path: path, Args: args}, m.support)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// run runs a command in the jail, with no error from the jail itself.
func run(t testing.TB, p jail.Policy, path string, args ...string) *jail.Result {
	t.Helper()
	res, err := jail.Run(context.Background(), self(t), p, jail.Command{Path: path, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// shell runs a script in the jail.
func shell(t testing.TB, p jail.Policy, script string) *jail.Result {
	t.Helper()
	return run(t, p, "/bin/sh", "-c", script)
}

// tool finds a program that the jail's default grants let run, or skips.
func tool(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/go/bin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	t.Skipf("no %s under /usr", name)
	return ""
}

// plain runs a probe without a jail and returns what it printed.
func plain(t testing.TB, w world, name string) (string, error) {
	t.Helper()
	cmd := exec.Command(self(t), "probe", name, w.encode(t))
	cmd.Dir = w.In
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func write(t testing.TB, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func firstLine(out []byte) string {
	line, _, _ := strings.Cut(string(bytes.TrimSpace(out)), "\n")
	return line
}
