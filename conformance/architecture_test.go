package conformance_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module   = "steps.example"
	cue      = "cuelang.org"
	sigstore = "github.com/sigstore"
	cobra    = "github.com/spf13"
)

// repository is the root of the repository; tests run in their package's folder.
const repository = ".."

// mayImport are exceptions of single packages from what holds for their folder.
var mayImport = map[string][]string{
	// It is a command of its own, which nothing imports, and measures the signer in its
	// process, against what the signer cannot do without.
	"conformance/bench": {sigstore, module + "/signer"},
}

// TestImportsPointOneWay holds every package to the design's folders: what one
// folder imports, over packages of the module on the way, is not on its list.
// Both systems and all builds count.
func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		from string // a package, or with /... all packages of a folder
		not  []string
	}{
		{"steps", []string{
			cue, sigstore, cobra, "os", "io/fs", "path/filepath", "net", "net/http", "syscall", "golang.org/x/sys",
			module + "/schema", module + "/interp", module + "/signer", module + "/cmd", module + "/conformance",
		}},
		{"interp/...", []string{cue, sigstore, cobra, module + "/schema", module + "/signer", module + "/cmd", module + "/conformance"}},
		{"signer", []string{
			cue, cobra, "os", "io/fs", "io/ioutil", "path/filepath", "net", "net/http", "syscall", "golang.org/x/sys",
			module + "/schema", module + "/interp", module + "/cmd", module + "/conformance",
		}},
		{"schema/...", []string{sigstore, cobra, module + "/interp", module + "/signer", module + "/cmd", module + "/conformance"}},
		{"conformance/...", []string{sigstore, cobra, module + "/cmd", module + "/signer"}},
		{"interp/changeset", []string{"os", "io/fs", "syscall", "golang.org/x/sys", module + "/steps", module + "/interp"}},
		{"interp/internal/fsroot", []string{module + "/steps", module + "/interp/view", module + "/interp/commit", module + "/interp/jail"}},
		{"interp/view", []string{module + "/steps", module + "/interp/commit", module + "/interp/jail"}},
		{"interp/commit", []string{module + "/steps", module + "/interp/view", module + "/interp/jail"}},
		{"interp/jail", []string{module + "/steps", module + "/interp/view", module + "/interp/commit", module + "/interp/changeset"}},
	} {
		t.Run(tc.from, func(t *testing.T) {
			t.Parallel()
			for _, pkg := range packages(t, tc.from) {
				for path, by := range imports(t, pkg) {
					if path == module+"/"+pkg {
						continue
					}
					i := slices.IndexFunc(tc.not, func(not string) bool { return within(path, not) })
					if i >= 0 && !slices.Contains(mayImport[pkg], tc.not[i]) {
						t.Errorf("%s may not import %s, but does: %s", pkg, tc.not[i], by)
					}
				}
			}
		})
	}
}

// within reports whether the import path is not, or below it. What the standard
// library has below a package is another one.
func within(path, not string) bool {
	if !strings.Contains(not, ".") {
		return path == not
	}
	return path == not || strings.HasPrefix(path, not+"/")
}

// packages lists the folders, relative to the repository, that hold Go code.
func packages(t *testing.T, pattern string) []string {
	t.Helper()
	dir, below := strings.CutSuffix(pattern, "/...")
	if !below {
		return []string{dir}
	}
	var out []string
	err := filepath.WalkDir(filepath.Join(repository, dir), func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if d.Name() == "testdata" {
			return fs.SkipDir
		}
		if files := sources(t, p); len(files) > 0 {
			rel, err := filepath.Rel(repository, p)
			out = append(out, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%s: %d packages, %v", pattern, len(out), err)
	}
	return out
}

// sources lists the Go files in dir that are no tests.
func sources(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
}

// imports maps what pkg imports, itself or through packages of the module, to
// the way there. Packages of other modules are not looked into.
func imports(t *testing.T, pkg string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, goos := range []string{"linux", "darwin"} {
		for _, tags := range [][]string{nil, {"light"}, {"noregistry"}} {
			ctx := build.Context{GOOS: goos, GOARCH: "amd64", Compiler: "gc", BuildTags: tags, ReleaseTags: build.Default.ReleaseTags}
			follow(t, &ctx, pkg, module+"/"+pkg, all, map[string]bool{})
		}
	}
	return all
}

func follow(t *testing.T, ctx *build.Context, pkg, way string, all map[string]string, seen map[string]bool) {
	t.Helper()
	if seen[pkg] {
		return
	}
	seen[pkg] = true
	found, err := ctx.ImportDir(filepath.Join(repository, pkg), 0)
	var none *build.NoGoError
	if err != nil && !errors.As(err, &none) {
		t.Fatal(err)
	}
	for _, path := range found.Imports {
		there := way + " -> " + path
		if _, known := all[path]; !known {
			all[path] = there
		}
		if own, ok := strings.CutPrefix(path, module+"/"); ok {
			follow(t, ctx, own, there, all, seen)
		}
	}
}

// TestBinaries asks the go command for everything that a binary links, other
// modules' packages included.
func TestBinaries(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pkg, tags string
		not       []string
	}{
		{"cmd/steps", "light", []string{cue, sigstore}},
		{"cmd/steps", "noregistry", []string{"gocloud.dev", "oras.land", "github.com/aws", "github.com/nats-io"}},
		{"cmd/steps-jail", "", []string{cue, sigstore, cobra, "github.com/go-json-experiment", "encoding/json", module + "/steps", module + "/interp/commit"}},
		{"interp", "", []string{cue, sigstore, cobra}},
	} {
		t.Run(tc.pkg+" "+tc.tags, func(t *testing.T) {
			t.Parallel()
			for _, path := range linked(t, tc.pkg, tc.tags) {
				if i := slices.IndexFunc(tc.not, func(not string) bool { return within(path, not) }); i >= 0 {
					t.Errorf("links %s", path)
				}
			}
		})
	}
}

// linked lists the dependencies of a package by import path.
func linked(t *testing.T, pkg, tags string) []string {
	t.Helper()
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Skipf("there is no go command to ask: %v", err)
	}
	cmd := exec.Command(goCommand, "list", "-deps", "-tags", tags, "./"+pkg)
	cmd.Dir = repository
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly", "GOTOOLCHAIN=local", "GOWORK=off", "CGO_ENABLED=0", "GOCACHE="+t.TempDir())
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && strings.Contains(stderr.String(), "GOPROXY=off") {
		t.Skipf("this user's module cache lacks a module: %s", stderr.String())
	}
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	paths := strings.Fields(string(out))
	if !slices.Contains(paths, module+"/"+pkg) {
		t.Fatalf("go list gives %q", paths)
	}
	return paths
}

// writers are the functions that change a file system, or get hold of something
// that can, by package.
var writers = map[string]string{
	"os": `Chmod Chown Chtimes CopyFS Create CreateTemp Lchown Link Mkdir MkdirAll MkdirTemp OpenFile OpenRoot
		OpenInRoot Remove RemoveAll Rename StartProcess Symlink Truncate WriteFile`,
	"io/ioutil": "TempDir TempFile WriteFile",
	"golang.org/x/sys/unix": `Chmod Chown Creat Chroot CopyFileRange Fallocate Fchmod Fchmodat Fchown Fchownat Fremovexattr
		Fsetxattr Ftruncate Futimes Futimesat Lchown Link Linkat Lremovexattr Lsetxattr Lutimes Mkdir Mkdirat Mkfifo
		Mkfifoat Mknod Mknodat Mount MoveMount OpenTree PivotRoot Pwrite Pwritev Removexattr Rename Renameat Renameat2
		RenameatxNp RenamexNp Rmdir Sendfile Setxattr Splice Symlink Symlinkat Truncate Umask Unlink Unlinkat Unmount
		Utime Utimes UtimesNano UtimesNanoAt Write Writev Clonefile Clonefileat Fclonefileat Exec
		Syscall Syscall6 RawSyscall RawSyscall6 SyscallNoError
		O_WRONLY O_RDWR O_CREAT O_TRUNC O_APPEND O_TMPFILE`,
	"syscall": `Chmod Chown Creat Chroot Fallocate Fchmod Fchmodat Fchown Fchownat Ftruncate Futimes Futimesat Lchown Link
		Mkdir Mkdirat Mkfifo Mknod Mknodat Mount PivotRoot Pwrite Removexattr Rename Renameat Rmdir Sendfile Setxattr
		Splice Symlink Truncate Umask Unlink Unlinkat Unmount Utime Utimes UtimesNano UtimesNanoAt Write
		ForkExec StartProcess Exec Syscall Syscall6 RawSyscall RawSyscall6
		O_WRONLY O_RDWR O_CREAT O_TRUNC O_APPEND`,
}

// use is a mention of one of the writers.
type use struct{ file, name string }

// writes finds every mention of a writer in the files of dir, called or not.
func writes(t *testing.T, dir string) []use {
	t.Helper()
	var out []use
	for _, name := range sources(t, filepath.Join(repository, dir)) {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(repository, name)
		if err != nil {
			t.Fatal(err)
		}
		called := map[string]string{} // what the file calls a package → its path
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			as := path[strings.LastIndexByte(path, '/')+1:]
			if spec.Name != nil {
				as = spec.Name.Name
			}
			if _, known := writers[path]; known && as == "." {
				t.Errorf("%s: a dot import of %s hides what is called", files.Position(spec.Pos()), path)
			}
			called[as] = path
		}
		ast.Inspect(file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if id, ok := sel.X.(*ast.Ident); ok && slices.Contains(strings.Fields(writers[called[id.Name]]), sel.Sel.Name) {
				out = append(out, use{filepath.ToSlash(rel), called[id.Name] + "." + sel.Sel.Name})
			}
			return true
		})
	}
	return out
}

// TestOnlyCommitWrites: of all that apply goes through, nothing but commit can
// change a file system.
func TestOnlyCommitWrites(t *testing.T) {
	t.Parallel()
	const unix = "golang.org/x/sys/unix."
	allowed := map[use]string{
		{"interp/host_run.go", "os.MkdirTemp"}: "the scratch directory of a run, private to it",
		{"interp/host_run.go", "os.RemoveAll"}: "the same one",

		{"interp/jail/helper_linux.go", "os.StartProcess"}:              "starts the helper",
		{"interp/jail/run_darwin.go", "os.StartProcess"}:                "starts the helper",
		{"interp/jail/support_linux.go", unix + "RawSyscall"}:           "asks the kernel what its filters can do",
		{"interp/jail/internal/cage/fork.go", unix + "RawSyscall"}:      "forks, where no other call is safe",
		{"interp/jail/internal/cage/fork.go", unix + "RawSyscall6"}:     "forks, where no other call is safe",
		{"interp/jail/internal/cage/main.go", unix + "Write"}:           "reports over a pipe",
		{"interp/jail/internal/cage/main_darwin.go", unix + "Write"}:    "reports over a pipe",
		{"interp/jail/internal/cage/main_darwin.go", "os.StartProcess"}: "starts sandbox-exec",
		{"interp/jail/internal/cage/confine_darwin.go", unix + "Write"}: "reports over a pipe",
		{"interp/jail/internal/cage/confine_darwin.go", unix + "Umask"}: "the command's own",
		{"interp/jail/internal/cage/confine_darwin.go", "syscall.Exec"}: "becomes the command",
		// The private root is made of mounts and of names in a tmpfs, in a mount
		// namespace that ends with the command.
		{"interp/jail/internal/cage/mount.go", unix + "OpenTree"}:      "the private root",
		{"interp/jail/internal/cage/mount.go", unix + "MoveMount"}:     "the private root",
		{"interp/jail/internal/cage/namespaces.go", unix + "O_WRONLY"}: "the namespace's own limits in /proc",
		{"interp/jail/internal/cage/namespaces.go", unix + "Write"}:    "the namespace's own limits in /proc",
		{"interp/jail/internal/cage/root.go", unix + "Umask"}:          "the private root",
		{"interp/jail/internal/cage/root.go", unix + "PivotRoot"}:      "the private root",
		{"interp/jail/internal/cage/root.go", unix + "Unmount"}:        "the private root",
		{"interp/jail/internal/cage/root.go", unix + "Symlinkat"}:      "the private root",
		{"interp/jail/internal/cage/root.go", unix + "Mknodat"}:        "the private root",
		{"interp/jail/internal/cage/root.go", unix + "Mkdirat"}:        "the private root",
		{"interp/jail/internal/cage/furniture.go", unix + "Fchmodat"}:  "the private root",
		// What a command broke outside of what is captured is put back at once, by
		// the one who saw it.
		{"interp/jail/protect_linux.go", "os.OpenFile"}:               "puts a protected file back",
		{"interp/jail/protect_linux.go", unix + "O_CREAT"}:            "puts a protected file back",
		{"interp/jail/protect_linux.go", unix + "O_WRONLY"}:           "puts a protected file back",
		{"interp/jail/protect_linux.go", unix + "Renameat"}:           "puts a protected file back",
		{"interp/jail/protect_linux.go", unix + "Unlinkat"}:           "puts a protected file back",
		{"interp/jail/protect_linux.go", unix + "Chown"}:              "puts a protected file back",
		{"interp/jail/protect_linux.go", unix + "Chmod"}:              "puts a protected file back",
		{"interp/jail/protect_linux.go", unix + "UtimesNanoAt"}:       "puts a protected file back",
		{"interp/jail/canary_linux.go", "os.MkdirTemp"}:               "the canary's own directory",
		{"interp/jail/canary_linux.go", "os.RemoveAll"}:               "the canary's own directory",
		{"interp/jail/canary_linux.go", "os.Mkdir"}:                   "the canary's own directory",
		{"interp/jail/canary_linux.go", "os.WriteFile"}:               "the canary's own directory",
		{"interp/jail/canary_darwin.go", "os.MkdirTemp"}:              "the canary's own directory",
		{"interp/jail/canary_darwin.go", "os.RemoveAll"}:              "the canary's own directory",
		{"interp/jail/canary_darwin.go", "os.Mkdir"}:                  "the canary's own directory",
		{"interp/jail/canary_darwin.go", "os.WriteFile"}:              "the canary's own directory",
		{"interp/jail/internal/probes/probes.go", unix + "O_WRONLY"}:  "what the canary tries, inside the jail",
		{"interp/jail/internal/probes/probes.go", unix + "O_TRUNC"}:   "what the canary tries, inside the jail",
		{"interp/jail/internal/probes/probes.go", unix + "O_RDWR"}:    "what the canary tries, inside the jail",
		{"interp/jail/internal/probes/probes.go", unix + "O_CREAT"}:   "what the canary tries, inside the jail",
		{"interp/jail/internal/probes/probes.go", unix + "Rename"}:    "what the canary tries, inside the jail",
		{"interp/jail/internal/probes/probes.go", unix + "Symlink"}:   "what the canary tries, inside the jail",
		{"interp/jail/internal/probes/probes.go", unix + "Chmod"}:     "what the canary tries, inside the jail",
		{"interp/jail/internal/probes/probes.go", unix + "Unlink"}:    "what the canary tries, inside the jail",
		{"interp/jail/internal/probes/probes.go", "os.StartProcess"}:  "what the canary tries, inside the jail",
		{"interp/jail/internal/seccomp/table.go", unix + "O_CREAT"}:   "what the filter looks for",
		{"interp/jail/internal/seccomp/table.go", unix + "O_TMPFILE"}: "what the filter looks for",
	}
	used := map[use]bool{}
	dirs := slices.Concat(packages(t, "steps/..."), packages(t, "signer"), packages(t, "interp/..."))
	for _, dir := range dirs {
		if dir == "interp/commit" {
			continue
		}
		for _, w := range writes(t, dir) {
			if allowed[w] == "" {
				t.Errorf("%s mentions %s; only interp/commit writes", w.file, w.name)
			}
			used[w] = true
		}
	}
	for w, why := range allowed {
		if !used[w] {
			t.Errorf("%s no longer mentions %s (%s): take it off the list", w.file, w.name, why)
		}
	}
	// The scan would find something if there were something.
	found := writes(t, "interp/commit")
	for _, name := range []string{"Renameat", "Mkdirat", "Unlinkat", "Symlinkat", "O_CREAT"} {
		if !slices.ContainsFunc(found, func(u use) bool { return strings.HasPrefix(u.name, unix+name) }) {
			t.Errorf("no %s is found in interp/commit, which proves the scan blind", name)
		}
	}
}

// TestFilesGetNoAttributes covers what the scan for functions cannot see: methods
// of an open file, in the packages that open some.
func TestFilesGetNoAttributes(t *testing.T) {
	t.Parallel()
	methods := strings.Fields("Chmod Chown Truncate Write WriteAt WriteString ReadFrom Sync SetDeadline SyscallConn")
	for _, dir := range []string{"interp/internal/fsroot"} {
		for _, name := range sources(t, filepath.Join(repository, dir)) {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(methods, sel.Sel.Name) {
					t.Errorf("%s uses a method %s", name, sel.Sel.Name)
				}
				return true
			})
		}
	}
}

// TestOnlyTheJailExecutes: what starts programs is the jail's business, and on
// systems without pidfds the end of a process.
func TestOnlyTheJailExecutes(t *testing.T) {
	t.Parallel()
	allowed := []string{"interp/host_terminate_other.go"}
	for _, dir := range slices.Concat(packages(t, "steps/..."), packages(t, "signer/..."), packages(t, "interp/...")) {
		if within("x/"+dir, "x/interp/jail") || strings.HasPrefix(dir, "interp/jail") {
			continue
		}
		for _, name := range sources(t, filepath.Join(repository, dir)) {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			rel, err := filepath.Rel(repository, name)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range file.Imports {
				if spec.Path.Value == `"os/exec"` && !slices.Contains(allowed, filepath.ToSlash(rel)) {
					t.Errorf("%s imports os/exec", rel)
				}
			}
		}
	}
}

// TestTopLevel: the folders are the architecture, and there are no others.
func TestTopLevel(t *testing.T) {
	t.Parallel()
	known := strings.Fields("schema interp signer steps cmd conformance go.mod go.sum Makefile README.md LICENSE bin")
	entries, err := os.ReadDir(repository)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(known, e.Name()) && !strings.HasPrefix(e.Name(), ".") {
			t.Errorf("%s is at the top level of the repository, where only %s belong", e.Name(), strings.Join(known, ", "))
		}
	}
	for _, name := range known {
		if _, err := os.Stat(filepath.Join(repository, name)); err != nil && name != "bin" {
			t.Error(fmt.Errorf("missing: %w", err))
		}
	}
}

// TestDocs: every package says what it is for.
func TestDocs(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"steps/...", "schema/...", "signer/...", "interp/...", "conformance/...", "cmd/..."} {
		for _, pkg := range packages(t, dir) {
			documented := false
			for _, name := range sources(t, filepath.Join(repository, pkg)) {
				file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
				if err != nil {
					t.Fatal(err)
				}
				documented = documented || file.Doc != nil
			}
			if !documented {
				t.Errorf("no file of %s has a package comment", pkg)
			}
		}
	}
}
