package jail_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail"
)

func needNamespaces(t testing.TB) jail.Support {
	t.Helper()
	needJail(t)
	s := jail.Check()
	if !s.Namespaces {
		t.Skip("needs user namespaces: " + strings.Join(s.Missing, "; "))
	}
	return s
}

// layered is a policy that grants dir through a layer over top.
func layered(t *testing.T, top, dir string) (jail.Policy, jail.Layer) {
	t.Helper()
	private := tempDir(t)
	l := jail.Layer{Dir: top, Upper: private + "/upper", Work: private + "/work"}
	for _, d := range []string{l.Upper, l.Work} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// The kernel's own directory in there has no rights at all.
	t.Cleanup(func() { os.Chmod(l.Work+"/work", 0o700) })
	p := policy(t, dir)
	p.Layers = []jail.Layer{l}
	return p, l
}

func TestLayerKeepsTheTree(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	for _, below := range []string{"", "sub"} {
		top := tempDir(t)
		dir := filepath.Join(top, below)
		if err := os.MkdirAll(dir+"/old", 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, dir+"/file", "before", 0o644)
		write(t, dir+"/gone", "before", 0o644)
		write(t, dir+"/mode", "before", 0o644)
		write(t, top+"/beside", "before", 0o644)
		p, l := layered(t, top, dir)
		res := shell(t, p, `set -e; cat file; echo after >file; rm gone; chmod 600 mode; mkdir -p new/sub; echo x >new/sub/f
			mv new/sub/f old/f; ln -s x link; rm -r new; mkdir new; cat file`)
		if !res.OK() || string(res.Stdout) != "beforeafter\n" {
			t.Fatalf("%q: exit %d\n%s%s", below, res.ExitCode, res.Stdout, res.Stderr)
		}
		for name, want := range map[string]string{"file": "before", "gone": "before"} {
			if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
				t.Errorf("%q: %s has %q, %v", below, name, got, err)
			}
		}
		if info, err := os.Stat(dir + "/mode"); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("%q: mode: %v, %v", below, info, err)
		}
		for _, name := range []string{"new", "link", "old/f"} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				t.Errorf("%q: %s is in the tree", below, name)
			}
		}
		upper := filepath.Join(l.Upper, below)
		if got, err := os.ReadFile(upper + "/file"); err != nil || string(got) != "after\n" {
			t.Errorf("%q: upper has %q, %v", below, got, err)
		}
		if got, err := os.ReadFile(upper + "/old/f"); err != nil || string(got) != "x\n" {
			t.Errorf("%q: upper has old/f %q, %v", below, got, err)
		}
		var st unix.Stat_t
		if err := unix.Lstat(upper+"/gone", &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != 0 {
			t.Errorf("%q: no whiteout: mode %#o, %v", below, st.Mode, err)
		}
		// What lies beside a granted directory is not shown.
		if below != "" {
			if res := shell(t, p, "cat ../beside"); res.OK() {
				t.Errorf("%q: the layer reaches beside the grant", below)
			}
		}
	}
}

func TestLayerErrors(t *testing.T) {
	t.Parallel()
	s := needNamespaces(t)
	dir := tempDir(t)
	for _, tc := range []struct {
		name   string
		change func(*jail.Policy, *jail.Support)
	}{
		{"no namespaces", func(_ *jail.Policy, s *jail.Support) { s.Namespaces = false }},
		{"no upper directory", func(p *jail.Policy, _ *jail.Support) { p.Layers[0].Upper += "-none" }},
		{"work on another file system", func(p *jail.Policy, _ *jail.Support) {
			work, err := os.MkdirTemp("/dev/shm", "steps-jail-test-")
			if err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { os.RemoveAll(work) })
			var a, b unix.Stat_t
			if unix.Stat(work, &a) != nil || unix.Stat(p.Layers[0].Upper, &b) != nil || a.Dev == b.Dev {
				t.Skip("/dev/shm is no file system of its own")
			}
			p.Layers[0].Work = work
		}},
	} {
		p, l := layered(t, dir, dir)
		s := s
		tc.change(&p, &s)
		marker := dir + "/ran"
		_, err := jail.RunWith(context.Background(), self(t), p, jail.Command{Path: "/bin/sh", Args: []string{"-c", "echo >" + marker}}, s)
		var layer *jail.LayerError
		if !errors.As(err, &layer) || layer.Dir != l.Dir {
			t.Errorf("%s: %v", tc.name, err)
		}
		if _, err := os.Lstat(marker); err == nil {
			t.Errorf("%s: the command ran", tc.name)
		}
	}
}
