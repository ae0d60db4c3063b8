package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"steps.example/interp"
	"steps.example/interp/commit"
	"steps.example/steps"
)

// storeFlags say where transactions and receipts are kept.
type storeFlags struct {
	prefix, state string
}

func (f *storeFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.prefix, "prefix", "", "the `DIR` that packages are installed under")
	flags.StringVar(&f.state, "state", "", "the `DIR` for receipts and transactions; without it, one for each prefix in $XDG_STATE_HOME/steps or, for root, /var/lib/steps")
}

// path is the store's directory: the one given, or one that the prefix names.
func (f *storeFlags) path() (string, error) {
	if f.state != "" {
		state, err := filepath.Abs(f.state)
		return interp.Physical(state), err
	}
	if f.prefix == "" {
		return "", usagef("say which prefix with --prefix DIR, or where its state is with --state DIR")
	}
	prefix, err := filepath.Abs(f.prefix)
	if err != nil {
		return "", err
	}
	prefix = interp.Physical(prefix)
	base := os.Getenv("XDG_STATE_HOME")
	switch {
	case filepath.IsAbs(base):
		base = filepath.Join(base, "steps")
	case os.Geteuid() == 0:
		base = "/var/lib/steps"
	default:
		home, err := os.UserHomeDir()
		if err != nil {
			return "", usagef("no home directory is known (%w); say where to keep state with --state DIR", err)
		}
		base = filepath.Join(home, ".local", "state", "steps")
	}
	// The name is for people, the hash tells two prefixes of one name apart.
	sum := sha256.Sum256([]byte(prefix))
	return filepath.Join(interp.Physical(base), filepath.Base(prefix)+"-"+hex.EncodeToString(sum[:6])), nil
}

// open opens a store that is there.
func (f *storeFlags) open() (*commit.Store, error) {
	path, err := f.path()
	if err != nil {
		return nil, err
	}
	// A directory without receipts is no store, and is not made one by looking.
	if _, err := os.Stat(filepath.Join(path, "receipts")); errors.Is(err, fs.ErrNotExist) {
		return nil, &noStoreError{path}
	} else if err != nil {
		return nil, noState(err)
	}
	store, err := commit.OpenStore(path)
	return store, noState(err)
}

// noStoreError says that no store is there yet.
type noStoreError struct{ path string }

func (e *noStoreError) Error() string {
	return fmt.Sprintf("nothing was applied with this prefix and state (%s is not there)", e.path)
}

// targetFlags say for what and where a document is interpreted.
type targetFlags struct {
	storeFlags
	dirs    map[string]string
	version string
	goos    string
	approve []string
	phases  []string
	protect []string
	removal bool
	// replace, adopt and keep settle conflicts by path.
	replace, adopt, keep []string
}

func (f *targetFlags) add(flags *pflag.FlagSet) {
	f.storeFlags.add(flags)
	flags.StringToStringVar(&f.dirs, "dir", nil, "another directory of the layout, home, temp or appdir, as `NAME=DIR`; repeatable")
	flags.Lookup("dir").DefValue = ""
	flags.StringVar(&f.version, "package-version", "", "the `VERSION`, where the document does not say")
	flags.StringVar(&f.goos, "os", hostOS(), "the system that guards ask for, `linux|macos`")
	flags.StringSliceVar(&f.approve, "approve", nil, "allow a `CAPABILITY` that the document asks for; repeatable")
	flags.StringSliceVar(&f.phases, "phase", nil, "do this `PHASE` only, such as post_install_steps; repeatable")
	flags.StringSliceVar(&f.protect, "protect", nil, "treat this `NAME` like .git/hooks and .bashrc: nothing may change it unless the document says so and you approve it; repeatable")
	flags.StringArrayVar(&f.replace, "replace", nil, "take over the `PATH` that belongs to you or to another package, and what is in it; undo gives it back; repeatable, and * ? [] count")
	flags.StringArrayVar(&f.adopt, "adopt", nil, "let the `PATH`, if it is as the package makes it, become the package's; repeatable, as with --replace")
	flags.StringArrayVar(&f.keep, "keep", nil, "leave the `PATH` alone, whatever the document says; repeatable, as with --replace")
	flags.BoolVar(&f.removal, "removal", false, "the package is being removed: do the phases of a removal, and take away the links that the installation marked for it")
}

func hostOS() string {
	if runtime.GOOS == "darwin" {
		return "macos"
	}
	return runtime.GOOS
}

// job is what to interpret of doc, and where.
func (f *targetFlags) job(doc *steps.Document) (interp.Job, error) {
	job := interp.Job{Document: doc, Removal: f.removal}
	phases, err := f.selected(doc)
	if err != nil {
		return job, err
	}
	job.Phases = phases
	if f.goos != "linux" && f.goos != "macos" {
		return job, usagef("--os %s: must be linux or macos", f.goos)
	}
	layout, ok := steps.LayoutByName(doc.Layout)
	if !ok {
		return job, usagef("the document is for the layout %q, which is not known; known are %s", doc.Layout, strings.Join(steps.LayoutNames(), ", "))
	}
	state, err := f.path()
	if err != nil {
		return job, err
	}
	dirs, err := f.directories(layout, state)
	if err != nil {
		return job, err
	}
	version := doc.Version
	if version == "" {
		version = f.version
	} else if f.version != "" && f.version != version {
		return job, usagef("the document is for version %s, not %s", version, f.version)
	}
	job.Target = interp.Target{
		Layout: doc.Layout, Name: doc.Name, Version: version, OS: f.goos, Dirs: dirs, User: userName(),
		SearchPath: searchPath(), Umask: umask(), Approved: f.approve,
		Protected: []string{state}, ProtectedNames: f.protect,
		Placeholders: doc.Origin != steps.OriginNative,
	}
	job.Target.Replace, job.Target.Adopt, job.Target.Keep, err = f.choices()
	return job, err
}

// choices are the paths of --replace, --adopt and --keep. They start from the
// prefix, as a plan prints them.
func (f *targetFlags) choices() (replace, adopt, keep []string, err error) {
	prefix, err := filepath.Abs(f.prefix)
	seen := map[string]string{}
	abs := func(flag string, list []string) []string {
		var out []string
		for _, p := range list {
			if p == "" {
				err = errors.Join(err, usagef("--%s: say which path", flag))
				continue
			}
			if !filepath.IsAbs(p) {
				p = filepath.Join(prefix, p)
			}
			p = filepath.Clean(p)
			if _, bad := filepath.Match(p, ""); bad != nil {
				err = errors.Join(err, usagef("--%s %s: %w; put \\ before a * ? [ or \\ that is part of a name", flag, p, bad))
			}
			if other := seen[p]; other != "" && other != flag {
				err = errors.Join(err, usagef("%s: --%s and --%s contradict each other", p, other, flag))
			}
			seen[p] = flag
			out = append(out, p)
		}
		return out
	}
	replace, adopt, keep = abs("replace", f.replace), abs("adopt", f.adopt), abs("keep", f.keep)
	return replace, adopt, keep, err
}

func (f *targetFlags) selected(doc *steps.Document) ([]steps.Phase, error) {
	var out []steps.Phase
	for _, name := range f.phases {
		if !slices.Contains(steps.Phases, steps.Phase(name)) {
			return nil, usagef("--phase %s: no such phase", name)
		}
		out = append(out, steps.Phase(name))
	}
	if len(out) > 0 {
		return out, nil
	}
	return interp.PhasesOf(doc, f.removal), nil
}

// directories gives each directory variable of the layout a value. The prefix
// is the one that is not home, temp or appdir.
func (f *targetFlags) directories(layout *steps.Layout, state string) (map[string]string, error) {
	dirs := map[string]string{}
	given := maps.Clone(f.dirs)
	for _, v := range layout.Vars {
		if !v.Dir {
			continue
		}
		dir, ok := given[v.Name]
		if ok && isPrefix(v.Name) {
			return nil, usagef("--dir %s: say it with --prefix", v.Name)
		}
		delete(given, v.Name)
		if !ok {
			dir = f.defaultDir(v.Name, state)
		}
		if dir == "" && isPrefix(v.Name) {
			return nil, usagef("say where %s is with --prefix DIR", v.Doc)
		}
		if dir == "" {
			return nil, usagef("say where %s is with --dir %s=DIR", v.Doc, v.Name)
		}
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		if isPrefix(v.Name) {
			if info, err := os.Stat(abs); err != nil || !info.IsDir() {
				return nil, &exitError{code: exitFailed, err: fmt.Errorf("the prefix %s is not a directory that exists; make it first or choose another", abs)}
			}
		}
		dirs[v.Name] = abs
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		return nil, usagef("--dir %s: the layout %s has no such directory", name, layout.Name)
	}
	return dirs, nil
}

func (f *targetFlags) defaultDir(name, state string) string {
	if isPrefix(name) {
		return f.prefix
	}
	home, err := os.UserHomeDir()
	switch name {
	case "home":
		if err != nil || filepath.Clean(home) == "/" {
			return "/nonexistent"
		}
		return home
	case "temp":
		return state + ".temp"
	case "appdir":
		if runtime.GOOS == "darwin" || err != nil {
			return "/Applications"
		}
		return filepath.Join(home, "Applications")
	}
	return ""
}

// openStore makes the store where it is missing. A prefix is one user's: another one has
// another store, which knows nothing of what the first did.
func openStore(term *terminal, t interp.Target) (*commit.Store, error) {
	state := t.Protected[0]
	prefix := prefixOf(t)
	var st unix.Stat_t
	if unix.Stat(prefix, &st) == nil && int(st.Uid) != os.Geteuid() {
		term.talk("WARNING: %s belongs to uid %d, and you are uid %d: what was applied there as that user is on record in a store of its own, which is neither looked at nor locked", prefix, st.Uid, os.Geteuid())
	}
	if err := os.MkdirAll(filepath.Dir(state), 0o700); err != nil {
		return nil, noState(err)
	}
	store, err := commit.OpenStore(state)
	return store, noState(err)
}

// noState adds to an error of the state's directories why they are needed, and what
// to do.
func noState(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("receipts and transactions cannot be kept: %w; make that directory yours, or say with --state DIR where else to keep them", err)
}

// makeTemp makes the temporary directory of packages where it is missing, if
// it is the default one, which is ours.
func makeTemp(t interp.Target) error {
	temp := t.Dirs["temp"]
	if temp == "" || temp != t.Protected[0]+".temp" {
		return nil
	}
	return noState(os.MkdirAll(temp, 0o700))
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}

// searchPath is PATH without what is not absolute, which would depend on where
// the command was started.
func searchPath() []string {
	return slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool { return !filepath.IsAbs(dir) })
}

func umask() uint32 {
	old := unix.Umask(0o022)
	unix.Umask(old)
	return uint32(old)
}
