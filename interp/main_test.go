package interp_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"steps.example/interp"
	"steps.example/interp/commit"
	"steps.example/interp/jail"
	"steps.example/steps"
)

func TestMain(m *testing.M) {
	if jail.IsHelper() {
		jail.Main()
		return
	}
	os.Exit(m.Run())
}

// world is a prefix with a store, for tests that apply.
type world struct {
	t     *testing.T
	dir   string
	store *commit.Store
	// capture is how the changes of commands are found.
	capture interp.CaptureMode
}

// newWorld makes a prefix hb with the keg of demo 1.0, and the tree that lines
// describe below the world's directory: "dir/", "file=content", "link -> target".
// {W} stands for that directory.
func newWorld(t *testing.T, lines ...string) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir}
	for _, line := range slices.Concat([]string{"hb/var/", "hb/etc/", "hb/Cellar/demo/1.0/bin/", "home/", "tmp/", "outside/", "outside/secret=secret"}, lines) {
		w.make(line)
	}
	if w.store, err = commit.OpenStore(filepath.Join(dir, "state")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.store.Close)
	return w
}

func (w *world) at(p string) string { return filepath.Join(w.dir, p) }

func (w *world) make(line string) {
	w.t.Helper()
	line = strings.ReplaceAll(line, "{W}", w.dir)
	name, content, file := strings.Cut(line, "=")
	link, target, symlink := strings.Cut(line, " -> ")
	var err error
	switch {
	case symlink:
		if err = os.MkdirAll(filepath.Dir(w.at(link)), 0o755); err == nil {
			err = os.Symlink(target, w.at(link))
		}
	case file:
		if err = os.MkdirAll(filepath.Dir(w.at(name)), 0o755); err == nil {
			err = os.WriteFile(w.at(name), []byte(content), 0o644)
		}
	default:
		err = os.MkdirAll(w.at(line), 0o755)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// job is the installation of demo 1.0 with these steps, in JSON. What belongs to
// others is to be replaced.
func (w *world) job(list string) interp.Job {
	w.t.Helper()
	decoded, err := steps.DecodeSteps([]byte(strings.ReplaceAll(list, "{W}", w.dir)), steps.DefaultLimits)
	if err != nil {
		w.t.Fatal(err)
	}
	phase := steps.Phase("post_install_steps")
	return interp.Job{
		Document: &steps.Document{Name: "demo", Version: "1.0", Layout: "homebrew-formula", Blocks: []steps.Block{{Phase: phase, Steps: decoded}}},
		Phases:   []steps.Phase{phase},
		Target: interp.Target{
			Layout: "homebrew-formula", Name: "demo", Version: "1.0", OS: "linux", User: "tester", Umask: 0o022,
			Dirs:       map[string]string{"homebrew_prefix": w.at("hb"), "home": w.at("home"), "temp": w.at("tmp")},
			SearchPath: []string{"/usr/bin", "/bin"}, Protected: []string{w.at("state")},
			Replace: []string{interp.ResolveAll},
		},
	}
}

func (w *world) apply(job interp.Job) (*interp.Applied, error) {
	return interp.Apply(context.Background(), job, interp.Machine{}, interp.ApplyOptions{Store: w.store, Capture: w.capture})
}

// listing is the tree with modes, link texts and contents, without the store.
func (w *world) listing() string {
	w.t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(w.dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p == w.at("state") {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(strings.TrimPrefix(p, w.dir) + " " + info.Mode().String())
		switch {
		case d.Type()&os.ModeSymlink != 0:
			target, _ := os.Readlink(p)
			b.WriteString(" -> " + target)
		case d.Type().IsRegular():
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			b.WriteString(" " + string(data))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return b.String()
}

func (w *world) read(p string) string {
	w.t.Helper()
	data, err := os.ReadFile(w.at(p))
	if err != nil {
		w.t.Error(err)
	}
	return string(data)
}

func (w *world) exists(p string) bool {
	_, err := os.Lstat(w.at(p))
	return err == nil
}
