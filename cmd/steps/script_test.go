package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"steps.example/interp"
	"steps.example/interp/jail"
)

func TestMain(m *testing.M) {
	if jail.IsHelper() {
		jail.Main()
		return
	}
	if status, is := conformancePart(); is {
		os.Exit(status)
	}
	if prefix := os.Getenv(holdIn); prefix != "" {
		fmt.Fprintln(os.Stderr, hold(prefix))
		os.Exit(1)
	}
	if os.Getenv(asSteps) == "1" {
		os.Exit(run(os.Args[1:], stdio()))
	}
	testscript.Main(m, map[string]func(){
		"steps": func() {
			inBrokerWorld()
			os.Exit(run(os.Args[1:], stdio()))
		},
		kmsName:  kms,
		fakeSudo: runFakeSudo,
	})
}

// TestScripts runs the manual: each script shows one verb or one promise.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			example, err := filepath.Abs(filepath.Join("testdata", "example"))
			if err != nil {
				return err
			}
			env.Setenv("EXAMPLE", example)
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			// Without it the coverage tool of the test binary would speak up.
			env.Setenv("GOCOVERDIR", env.WorkDir)
			return os.Mkdir(filepath.Join(env.WorkDir, "home"), 0o755)
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "jail":
				return interp.Machine{}.CanRun(nil) == nil, nil
			case "root":
				return os.Geteuid() == 0, nil
			}
			return false, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":      exitStatus,
			"keg":         keg,
			"signed":      signed,
			"kmskey":      kmsKey,
			"tree":        tree,
			"content":     content,
			"sigstore":    startSigstore(t),
			"member":      member,
			"homebrewapi": homebrewAPI,
			"brokers":     brokerCommands["brokers"],
			"nobody":      brokerCommands["nobody"],
		},
	})
}

// exitStatus runs a command and compares its exit status: status 5 steps plan …
func exitStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if exit, ok := err.(*exec.ExitError); ok {
		code = strings.TrimPrefix(exit.String(), "exit status ")
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if code != args[0] {
		ts.Fatalf("exit status %s, want %s", code, args[0])
	}
}

// keg makes the example's tree: keg DIR.
func keg(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(ts.Exec("sh", filepath.Join(ts.Getenv("EXAMPLE"), "keg.sh"), ts.MkAbs(args[0])))
}

// signed makes a key and policy, and signs a document: signed DOCUMENT BUNDLE PURL.
func signed(ts *testscript.TestScript, neg bool, args []string) {
	if _, err := os.Stat(ts.MkAbs("steps.key")); err != nil {
		ts.Check(ts.Exec("steps", "keygen", "steps.key", "--policy", "trust.json",
			"--registry", "https://registry.example", "--package", "pkg:generic/example/*"))
	}
	if _, err := os.Stat(ts.MkAbs("pkg.tar")); err != nil {
		ts.Check(os.WriteFile(ts.MkAbs("pkg.tar"), []byte("the package"), 0o644))
	}
	ts.Check(ts.Exec("steps", "sign", args[0], "--key", "steps.key", "--artifact", "pkg.tar",
		"--purl", args[2], "--registry", "https://registry.example", "-o", args[1]))
}

// tree writes a listing with modes, link texts and contents: tree DIR FILE.
func tree(ts *testscript.TestScript, neg bool, args []string) {
	list, err := listTree(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(list), 0o644))
}

// content checks a file's whole text: content FILE TEXT.
func content(ts *testscript.TestScript, neg bool, args []string) {
	got := strings.TrimSuffix(ts.ReadFile(args[0]), "\n")
	if (got == args[1]) == neg {
		ts.Fatalf("%s holds %q", args[0], got)
	}
}
