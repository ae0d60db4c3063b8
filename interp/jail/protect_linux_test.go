package jail_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"steps.example/interp/jail"
)

func TestProtect(t *testing.T) {
	t.Parallel()
	old := time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC)
	for _, m := range modes(t) {
		for _, tc := range []struct {
			name, script string
			in, out      bool // the file in the writable directory, outside it, is changed
			left         bool
		}{
			{"nothing", "echo x >other; ls", false, false, false},
			{"reading", "cat brew; cat $OUT/brew 2>/dev/null; true", false, false, false},
			{"content", "echo evil >brew", true, false, false},
			{"appended", "echo evil >>brew", true, false, false},
			{"mode in", "chmod 777 brew", true, false, false},
			{"times in", "touch brew", true, false, false},
			{"removed", "rm brew", true, false, false},
			{"replaced", "echo evil >new; mv new brew", true, false, false},
			{"by a link", "rm brew; ln -s $OUT/brew brew", true, false, false},
			{"by a hard link", "echo evil >new; ln -f new brew", true, false, false},
			{"by a directory", "rm brew; mkdir brew", true, false, true},
			{"its directory", "cd ..; mv sub gone; mkdir sub; echo evil >sub/brew", true, false, true},
			{"mode outside", "chmod 777 $OUT/brew", false, true, false},
			{"times outside", "touch -d 2020-01-01 $OUT/brew", false, true, false},
			{"mode of a directory", "chmod 700 $OUT", false, true, false},
		} {
			t.Run(m.name+"/"+tc.name, func(t *testing.T) {
				t.Parallel()
				top := tempDir(t)
				in, out := filepath.Join(top, "in/sub"), filepath.Join(top, "out")
				files := []string{in + "/brew", out + "/brew"}
				for _, dir := range []string{in, out} {
					if err := os.MkdirAll(dir, 0o755); err != nil {
						t.Fatal(err)
					}
					write(t, dir+"/brew", "good", 0o755)
					if err := os.Chtimes(dir+"/brew", old, old); err != nil {
						t.Fatal(err)
					}
				}
				p := policy(t, filepath.Dir(in))
				p.Dir = in
				p.Env = append(p.Env, "OUT="+out)
				p.Protect = append(slices.Clone(files), out)
				_, err := jail.RunWith(context.Background(), self(t), p, jail.Command{Path: "/bin/sh", Args: []string{"-c", tc.script}}, m.support)
				var tampered *jail.TamperError
				want := tc.in || tc.out && !m.support.Namespaces
				if errors.As(err, &tampered) != want || !want && err != nil {
					t.Fatalf("got %v, want a tamper error: %v", err, want)
				}
				if want && (len(tampered.Paths) != 1 || len(tampered.Left) != 0 != tc.left) {
					t.Errorf("changed %v, left %v", tampered.Paths, tampered.Left)
				}
				if tc.left {
					return
				}
				for _, path := range files {
					info, err := os.Lstat(path)
					if err != nil || info.Mode() != 0o755 || !info.ModTime().Equal(old) {
						t.Errorf("%s: %v, %v", path, info, err)
						continue
					}
					if got, err := os.ReadFile(path); err != nil || string(got) != "good" {
						t.Errorf("%s: %q, %v", path, got, err)
					}
				}
				if info, err := os.Stat(out); err != nil || info.Mode().Perm() != 0o755 {
					t.Errorf("%s: %v, %v", out, info, err)
				}
				if names, _ := filepath.Glob(in + "/.*"); len(names) > 0 {
					t.Errorf("left behind: %v", names)
				}
			})
		}
	}
}
