package scene

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/conformance"
	"steps.example/interp"
	"steps.example/interp/commit"
	"steps.example/steps"
)

// Verbs: what a scene does.
const (
	VerbApply     = "apply"
	VerbUpgrade   = "upgrade"
	VerbUninstall = "uninstall"
	VerbUndo      = "undo"
	VerbRepair    = "repair"
	VerbTriggers  = "triggers"
)

// Scene is something to do in a world of its own.
type Scene struct {
	Name string
	// Kinds are the step types in it.
	Kinds []string
	// Before is the tree, below root, without what every scene has.
	Before conformance.Tree
	// Verb is what is done.
	Verb string
	// Steps are, in JSON, those of the installation of demo 1.0; for an upgrade those
	// of 2.0. Removal are those for when it is removed.
	Steps, Removal string
	// Installed are the steps by which demo 1.0 was installed before; "" if it was not.
	Installed string
	// Defer: what rebuilds caches was put off then.
	Defer bool
	// Links are further names, hard links, of files: new name → file.
	Links map[string]string
	// Xattrs are extended attributes: path → user.scene.
	Xattrs map[string]string
	// Command is what the scripted command does, an edit a line.
	Command string
	// Since is what somebody did after the installation, an edit a line.
	Since string
	// Force: steps of the removal that cannot be done are left out.
	Force bool
	// Fails: the operation is meant to fail, and to change nothing.
	Fails bool
	// Same: it succeeds, and changes nothing.
	Same bool
	// Jail: the commands are real ones.
	Jail bool
	// Root: only root can do it.
	Root bool
	// Broker: one has a part in it, an apply. This process, root, is the user and the
	// broker in turn.
	Broker bool
}

// Lacks says what this process lacks for the scene; "" for nothing.
func (s *Scene) Lacks() string {
	if s.Root && os.Geteuid() != 0 {
		return "it needs root, and this process is not root"
	}
	if s.Jail {
		if err := (interp.Machine{}).CanRun(nil); err != nil {
			return err.Error()
		}
	}
	return ""
}

// Commanded: a command changes the tree, so that not every object can come back as
// itself; it may be a copy.
func (s *Scene) Commanded() bool { return s.Command != "" || s.Jail }

// Places are the directories that a world is made in. They may be on different file
// systems.
type Places struct {
	Tree, Store string
	// Home holds the user's home; "" for the tree.
	Home string
}

// World is a scene made real.
type World struct {
	*Scene
	// Root is the tree, Home the user's home, which is in it as a rule, Outside
	// something beside it that is nobody's business, State the store, Theirs the
	// broker's.
	Root, Home, Outside, State, Theirs string
	// Before is the tree before the operation, and Had the receipts.
	Before Snapshot
	Had    []string
	// Watch sees what a scripted command changes, like what a store changes; see
	// [commit.Store.Intercept]. Nil for nobody.
	Watch func(commit.Call) error

	outside Snapshot
	// hangUp ends the conversation with the broker, as the end of a process would.
	hangUp func()
}

// old is the time of all files of a tree, in nanoseconds.
const (
	old = 1_000_000_000 * int64(1e9)
	day = 24 * 3600 * int64(1e9)
)

// Make makes the world of the scene in an empty directory: dir/root, dir/outside
// and dir/state.
func (s *Scene) Make(dir string) (*World, error) {
	return s.MakeAt(Places{Tree: dir, Store: dir})
}

// Open makes the world of the scene in an empty directory, and opens its store.
func (s *Scene) Open(dir string) (*World, *commit.Store, error) {
	w, err := s.Make(dir)
	if err != nil {
		return nil, nil, err
	}
	store, err := commit.OpenStore(w.State)
	return w, store, err
}

// MakeAt makes the world of the scene in several empty directories.
func (s *Scene) MakeAt(at Places) (*World, error) {
	w := &World{Scene: s, Root: filepath.Join(at.Tree, "root"), Outside: filepath.Join(at.Tree, "outside"), State: filepath.Join(at.Store, "state"), Theirs: filepath.Join(at.Tree, "theirs")}
	w.Home = filepath.Join(w.Root, "home")
	if at.Home != "" {
		w.Home = filepath.Join(at.Home, "home")
	}
	if err := w.build(); err != nil {
		return nil, fmt.Errorf("scene %s: %w", s.Name, err)
	}
	return w, nil
}

func (w *World) build() error {
	if err := w.plant(); err != nil {
		return err
	}
	if w.Installed != "" {
		if err := w.install(); err != nil {
			return fmt.Errorf("install: %w", err)
		}
	}
	if w.Since != "" {
		if err := w.edit(w.Since, nil); err != nil {
			return err
		}
	}
	var err error
	if w.outside, err = Take(w.Outside); err != nil {
		return err
	}
	w.Before, err = w.Take()
	return err
}

// plant makes the tree.
func (w *World) plant() error {
	for _, dir := range []string{w.Root, w.Outside, w.Home} {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(w.Outside, "secret"), []byte("secret"), 0o600); err != nil {
		return err
	}
	tree := conformance.Tree{}
	for _, dir := range []string{"hb/etc", "hb/var", "hb/bin", "hb/Cellar/demo/1.0/bin", "hb/Cellar/demo/2.0/bin", "tmp"} {
		tree[dir] = conformance.Entry{Type: "dir", Mode: "0755"}
	}
	for _, tool := range tools {
		tree[tool] = conformance.Entry{Type: "file", Mode: "0755", Content: "#!/bin/sh\n"}
	}
	inHome := conformance.Tree{}
	for p, e := range w.Scene.Before {
		if rel, ok := strings.CutPrefix(p, "home/"); ok {
			inHome[rel] = e
		} else {
			tree[p] = e
		}
	}
	if err := errors.Join(tree.Build(w.Root), inHome.Build(w.Home)); err != nil {
		return err
	}
	for name, file := range w.Links {
		if err := os.Link(w.at(file), w.at(name)); err != nil {
			return err
		}
	}
	for p, value := range w.Xattrs {
		if err := unix.Lsetxattr(w.at(p), "user.scene", []byte(value), 0); err != nil && err != unix.ENOTSUP {
			return err
		}
	}
	for p, e := range w.Scene.Before {
		if e.Type == "file" {
			ts := []unix.Timespec{unix.NsecToTimespec(old), unix.NsecToTimespec(old)}
			if err := unix.UtimesNanoAt(unix.AT_FDCWD, w.at(p), ts, unix.AT_SYMLINK_NOFOLLOW); err != nil {
				return err
			}
		}
	}
	return nil
}

// at is where a path of a snapshot is.
func (w *World) at(rel string) string {
	if below, ok := strings.CutPrefix(rel, "home/"); ok {
		return filepath.Join(w.Home, below)
	}
	return filepath.Join(w.Root, rel)
}

// Take looks at the tree as it is now, home included.
func (w *World) Take() (Snapshot, error) {
	s, err := Take(w.Root)
	if err == nil && w.Home != filepath.Join(w.Root, "home") {
		err = s.add(w.Home, "home", filepath.Dir(w.Root))
		s.link()
	}
	return s, err
}

// OutsideDiff lists what changed outside the tree.
func (w *World) OutsideDiff() []string {
	got, err := Take(w.Outside)
	if err != nil {
		return []string{err.Error()}
	}
	return got.Diff(w.outside)
}

// Promised is a snapshot with as much as the scene promises to be the same.
func (w *World) Promised(s Snapshot) Snapshot {
	if w.Commanded() {
		return s.Loose()
	}
	return s
}

// install makes the installation that the operation starts from. Nothing of it is
// synced.
func (w *World) install() error {
	store, err := commit.OpenStore(w.State)
	if err != nil {
		return err
	}
	defer store.Close()
	store.Intercept(func(c commit.Call) error {
		if c.Op == "sync" || c.Op == "fsync" {
			return commit.ErrInstead
		}
		return nil
	})
	job, err := w.job("1.0", w.Installed, w.Removal)
	if err != nil {
		return err
	}
	opt := w.options(store)
	opt.Defer = w.Defer
	done, err := interp.Apply(context.Background(), job, w.host(), opt)
	if err != nil {
		return err
	}
	if done.Receipt != nil {
		w.Had = append(w.Had, done.Receipt.ID)
	}
	return nil
}

// Act does the operation of the scene. It fails, also, where the scene is meant to
// fail and it did not.
func (w *World) Act(ctx context.Context, store *commit.Store) error {
	w.hangUp = func() {}
	defer func() { w.hangUp() }()
	err := w.act(ctx, store)
	if w.Fails {
		if err == nil {
			return errors.New("went through, but was to fail")
		}
		if errors.Is(err, commit.ErrBlocked) {
			return err
		}
		return nil
	}
	return err
}

func (w *World) act(ctx context.Context, store *commit.Store) error {
	opt := w.options(store)
	switch w.Verb {
	case VerbApply, VerbUpgrade:
		version := "1.0"
		if w.Verb == VerbUpgrade {
			version = "2.0"
		}
		job, err := w.job(version, w.Steps, w.Removal)
		if err != nil {
			return err
		}
		if w.Verb == VerbApply {
			if job.Broker = w.Broker; job.Broker {
				opt.Broker = w.client(job)
			}
			_, err = interp.Apply(ctx, job, w.host(), opt)
			return err
		}
		inst, err := interp.Find(store, "demo", "")
		if err == nil {
			_, err = interp.Upgrade(ctx, inst, job, w.host(), opt, false)
		}
		return err
	case VerbUndo:
		return store.Undo(w.Had[len(w.Had)-1])
	case VerbTriggers:
		_, err := interp.RunTriggers(ctx, w.now(), w.host(), opt)
		return err
	}
	inst, err := interp.Find(store, "demo", "")
	if err != nil {
		return err
	}
	if w.Verb == VerbRepair {
		done, err := inst.Repair(ctx, w.now(), w.host(), opt)
		if err == nil && len(done.Left) > 0 {
			err = fmt.Errorf("repair left %v", done.Left)
		}
		return err
	}
	_, err = inst.Remove(ctx, w.now(), w.host(), opt, interp.RemoveOptions{Force: w.Force})
	return err
}

func (w *World) options(store *commit.Store) interp.ApplyOptions {
	opt := interp.ApplyOptions{Store: store}
	if !w.Jail {
		opt.Capture = interp.CaptureSnapshot
	}
	return opt
}

// job is the installation of a version of demo.
func (w *World) job(version, install, removal string) (interp.Job, error) {
	blocks := []string{fmt.Sprintf(`"post_install_steps": %s`, install)}
	if removal != "" {
		blocks = append(blocks, fmt.Sprintf(`"post_remove_steps": %s`, removal))
	}
	text := fmt.Sprintf(`{"schema": 1, "layout": "homebrew-formula", "name": "demo", "version": %q, %s}`, version, strings.Join(blocks, ", "))
	doc, err := steps.Decode([]byte(text), steps.DefaultLimits)
	if err != nil {
		return interp.Job{}, err
	}
	target := w.now()
	target.Layout, target.Name, target.Version = "homebrew-formula", "demo", version
	target.Dirs = map[string]string{"homebrew_prefix": filepath.Join(w.Root, "hb"), "home": w.Home, "temp": filepath.Join(w.Root, "tmp")}
	return interp.Job{Document: doc, Phases: interp.PhasesOf(doc, false), Target: target}, nil
}

// now is who acts.
func (w *World) now() interp.Target {
	return interp.Target{
		OS: "linux", User: "tester", Umask: 0o022,
		SearchPath: []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"},
		Protected:  []string{w.State},
		Approved:   []string{"network", "sudo", "ownership", "set-id", "link-out", "write:home", "write:homebrew_prefix"},
		Replace:    []string{interp.ResolveAll},
	}
}

// Made lists the receipts that the operation made, oldest first.
func (w *World) Made(store *commit.Store) ([]*commit.Receipt, error) {
	all, err := store.Receipts()
	return slices.DeleteFunc(all, func(r *commit.Receipt) bool { return slices.Contains(w.Had, r.ID) }), err
}
