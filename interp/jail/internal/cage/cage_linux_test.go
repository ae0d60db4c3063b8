package cage

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// The order of confinement is the design; this is its short form.
func TestOrderOfConfinement(t *testing.T) {
	t.Parallel()
	p, err := newProgram(wire.Order{Dir: "/", Path: "/bin/true", OpenFiles: 9, Token: "t", Filter: []uint64{6}}, ruleset{fd: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.free()
	var got []uintptr
	for _, c := range p.calls {
		if len(got) == 0 || got[len(got)-1] != c.nr {
			got = append(got, c.nr)
		}
		if c.optional && c.nr != unix.SYS_KEYCTL {
			t.Errorf("%s may fail", c.name)
		}
	}
	want := []uintptr{
		unix.SYS_RT_SIGACTION, unix.SYS_SETSID, unix.SYS_PRCTL, unix.SYS_GETPPID, unix.SYS_UMASK, unix.SYS_KEYCTL,
		unix.SYS_CLOSE_RANGE, unix.SYS_FCHDIR, unix.SYS_PRLIMIT64, unix.SYS_PRCTL, unix.SYS_CAPSET, unix.SYS_PRCTL,
		unix.SYS_LANDLOCK_RESTRICT_SELF, unix.SYS_RT_SIGPROCMASK, unix.SYS_SECCOMP, unix.SYS_EXECVE,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if last := p.calls[len(p.calls)-4]; last.nr != unix.SYS_LANDLOCK_RESTRICT_SELF || p.calls[len(p.calls)-5].args[0] != unix.PR_SET_NO_NEW_PRIVS {
		t.Errorf("no_new_privs does not come right before landlock: %s", last.name)
	}
}

func TestOpenFollowsNoLink(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir+"/real/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"link": "real", "real/sub/up": "..", "loop": "loop", "root": "/"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		path string
		want error
	}{
		{"/", nil},
		{dir, nil},
		{dir + "/real/sub", nil},
		{dir + "/missing", unix.ENOENT},
		{dir + "/link", errLink},
		{dir + "/link/sub", errLink},
		{dir + "/real/sub/up/sub", errLink},
		{dir + "/loop", errLink},
		{dir + "/root/usr", errLink},
	} {
		fd, kind, err := Open(tc.path)
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.path, err, tc.want)
		}
		if err == nil {
			unix.Close(fd)
			if kind != unix.S_IFDIR {
				t.Errorf("%s: kind %#o", tc.path, kind)
			}
		}
	}
}
