package jail_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail"
)

// A helper that others could change is refused; one that may be used is opened
// once and that file is executed.
func TestHelperIsTrustworthy(t *testing.T) {
	t.Parallel()
	needJail(t)
	dir := tempDir(t)
	program, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	helper := filepath.Join(dir, "helper")
	p := policy(t, tempDir(t))
	for _, tc := range []struct {
		name   string
		change func() error
		want   string
	}{
		{"as it should be", func() error { return nil }, ""},
		{"by a link", func() error {
			if err := os.Rename(helper, helper+"2"); err != nil {
				return err
			}
			return os.Symlink("helper2", helper)
		}, ""},
		{"group may write", func() error { return os.Chmod(helper, 0o775) }, "can be changed by others"},
		{"all may write", func() error { return os.Chmod(helper, 0o757) }, "can be changed by others"},
		{"no program", func() error { return os.Chmod(helper, 0o644) }, "not a program"},
		{"directory", func() error { os.Remove(helper); return os.Mkdir(helper, 0o755) }, "not a program"},
		{"missing", func() error { return os.RemoveAll(helper) }, "no such file"},
		{"another's", func() error { return os.Chown(helper, 65533, -1) }, "belongs to user 65533"},
	} {
		os.RemoveAll(helper)
		os.RemoveAll(helper + "2")
		write(t, helper, string(program), 0o755)
		if err := tc.change(); errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EINVAL) {
			continue // only root gives files away, and only to whom its namespace knows
		} else if err != nil {
			t.Fatal(err)
		}
		_, err := jail.Run(context.Background(), helper, p, jail.Command{Path: "/bin/true"})
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}
