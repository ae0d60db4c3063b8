package race

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/conformance"
	"steps.example/conformance/scene"
	"steps.example/interp/commit"
)

// A strike is an attack on a path right before a call.
type strike struct {
	call   int // from 0
	rel    string
	attack attack
}

// score is how a scene goes without an attacker: its calls, and where and when what
// can be attacked.
type score struct {
	calls   []string
	strikes []strike
	// pointed counts the strikes, the first ones, at the very path of their call.
	pointed int
	// targets are the paths that matter to the operation, those above them included.
	targets []string
	// decided is the first call after the operation last looked at the tree; what
	// comes there from then on is not its business.
	decided int
	// spent are contents, by key, that are gone afterwards although nobody attacked.
	spent map[string]bool
}

// learn runs a scene and writes down what can be attacked. The tree that it was made
// from is what the mirror shows.
func learn(ctx context.Context, s *scene.Scene, g *ground) (*score, error) {
	w, store, err := g.world(s)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	sc := &score{spent: map[string]bool{}, decided: -1}
	before, err := conformance.ReadTree(w.Root)
	if err != nil {
		return nil, err
	}
	var at []map[string]bool // the paths of each call
	touched := map[string]bool{}
	store.Intercept(func(c commit.Call) error {
		if !c.After {
			paths := map[string]bool{}
			for _, p := range []string{named(c.Dir, c.Entry), named(c.To, c.NewEntry), named(c.FD, "")} {
				if rel, ok := strings.CutPrefix(p, w.Root+"/"); ok {
					paths[rel], touched[rel] = true, true
				}
			}
			at = append(at, paths)
			sc.calls = append(sc.calls, c.Op+" "+c.Name)
		}
		return unsynced(c)
	})
	if err := w.Act(ctx, store); err != nil {
		return nil, fmt.Errorf("without an attack: %w", err)
	}
	store.Intercept(nil)
	after, err := w.Take()
	if err != nil {
		return nil, err
	}
	have, err := g.inventory(w)
	if err != nil {
		return nil, err
	}
	for _, o := range w.Before {
		if k := key(o, filepath.Dir(w.Root)); k != "" && !have.contents[k] {
			sc.spent[k] = true
		}
	}
	for _, line := range after.Since(w.Before).Diff(w.Before.Since(w.Before)) {
		rel, _, _ := strings.Cut(line, ": ")
		touched[rel] = true
	}
	for rel := range s.Before {
		touched[rel] = true // it may be read
	}
	for rel := range touched {
		for ; strings.Contains(rel, "/"); rel = filepath.Dir(rel) {
			if !slices.Contains(sc.targets, rel) {
				sc.targets = append(sc.targets, rel)
			}
		}
	}
	slices.Sort(sc.targets)
	for k, name := range sc.calls {
		if strings.HasPrefix(name, "create begun.") || sc.decided < 0 && name == "write journal" {
			sc.decided = k
		}
	}
	if s.Broker { // it looks at the tree as it is when its turn comes
		sc.decided = len(sc.calls)
	}
	return sc, sc.plan(ctx, s, g, at, before)
}

// plan runs the scene once more and asks at each call what an attack would find.
func (sc *score) plan(ctx context.Context, s *scene.Scene, g *ground, at []map[string]bool, before conformance.Tree) error {
	w, store, err := g.world(s)
	if err != nil {
		return err
	}
	defer store.Close()
	var others []strike
	k := -1
	store.Intercept(func(c commit.Call) error {
		if !c.After {
			if k++; k < len(at) {
				for _, rel := range sc.targets {
					near := at[k][rel] || slices.ContainsFunc(keys(at[k]), func(p string) bool { return filepath.Dir(p) == rel })
					for _, a := range attacks {
						// A command may write to what it finds, whoever else has a name for it.
						if !a.fits(w.Root, rel) || s.Commanded() && a.name == hardLinked {
							continue
						}
						if near {
							sc.strikes = append(sc.strikes, strike{k, rel, a})
						} else {
							others = append(others, strike{k, rel, a})
						}
					}
				}
			}
		}
		return unsynced(c)
	})
	if err := w.Act(ctx, store); err != nil {
		return fmt.Errorf("without an attack: %w", err)
	}
	sc.pointed = len(sc.strikes)
	sc.strikes = append(sc.strikes, others...)
	return g.outside(before)
}

func keys(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

// fits reports whether an attack finds what it needs.
func (a attack) fits(root, rel string) bool {
	var st unix.Stat_t
	err := unix.Lstat(filepath.Join(root, rel), &st)
	if err == unix.ENOTDIR {
		return false
	}
	if strings.HasSuffix(a.name, "planted") {
		var up unix.Stat_t
		return err != nil && unix.Lstat(filepath.Join(root, filepath.Dir(rel)), &up) == nil
	}
	switch kind := st.Mode & unix.S_IFMT; a.name {
	case hardLinked, writtenTo:
		return err == nil && kind == unix.S_IFREG
	case "entry added":
		return err == nil && kind == unix.S_IFDIR
	}
	return err == nil
}

// named is where a name in an open directory is, "" for none.
func named(fd int, name string) string {
	if fd < 0 {
		return ""
	}
	at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return ""
	}
	return filepath.Join(at, name)
}

// unsynced leaves out what is for power failures only.
func unsynced(c commit.Call) error {
	if c.Op == "sync" || c.Op == "fsync" {
		return commit.ErrInstead
	}
	return nil
}

// key identifies a content: of a file, or a link's text. The snapshot is of what is
// in the directory home.
func key(o scene.Object, home string) string {
	switch o.Kind {
	case "file":
		return "file " + o.SHA256
	case "symlink":
		return "link " + strings.ReplaceAll(o.Target, "{W}", home)
	}
	return ""
}

// object is something that the attacker made.
type object struct {
	dev, ino uint64
	key      string
	mode     uint32
	late     bool // after the operation had looked
}

// inventory is what there is, wherever it is.
type inventory struct {
	contents map[string]bool
	objects  map[[2]uint64]object
	// shown are those that are in the tree, or where the attacker put them.
	shown map[[2]uint64]bool
}

func (g *ground) inventory(w *scene.World) (*inventory, error) {
	inv := &inventory{contents: map[string]bool{}, objects: map[[2]uint64]object{}, shown: map[[2]uint64]bool{}}
	dirs := []string{w.Root, g.aside, w.State}
	if _, err := os.Lstat(w.Theirs); err == nil { // the broker was asked
		dirs = append(dirs, w.Theirs)
	}
	for i, dir := range dirs {
		s, err := scene.Take(dir)
		if err != nil {
			return nil, err
		}
		for _, o := range s {
			id := [2]uint64{o.Dev, o.Ino}
			k := key(o, filepath.Dir(dir))
			inv.contents[k], inv.objects[id] = true, object{key: k, mode: o.Mode}
			if i < 2 {
				inv.shown[id] = true
			}
		}
	}
	return inv, nil
}

// strikeOnce runs the scene with one strike.
func (sc *score) strikeOnce(ctx context.Context, s *scene.Scene, g *ground, st strike) (out outcome, problems []string) {
	w, store, err := g.world(s)
	if err != nil {
		return out, []string{err.Error()}
	}
	defer store.Close()
	a, err := g.attacker(w)
	if err != nil {
		return out, []string{err.Error()}
	}
	defer a.close()
	var made []object
	late := false
	a.made = func(dir int, name string) {
		if o, ok := madeObject(dir, name); ok && st.attack.name != hardLinked {
			o.late = late
			made = append(made, o)
		}
	}
	back := func() {}
	k, hit := -1, error(errUnfit)
	store.Intercept(func(c commit.Call) error {
		if !c.After {
			if k++; k == st.call {
				late = k >= sc.decided
				var undo func()
				if undo, hit = a.strike(st.attack, st.rel); hit == nil {
					back = undo
				}
			}
		}
		return unsynced(c)
	})
	err = w.Act(ctx, store)
	store.Intercept(unsynced)
	if hit != nil {
		return out, nil // nothing to attack there this time
	}
	out = outcomeOf(err)
	out.swaps = 1
	how := quick
	if st.attack.name == hardLinked {
		// A link that was there to be looked at is as good as a file of the tree.
		if how = whole; !late {
			how = soft
		}
	}
	problems = g.law(w, err, how)
	pending, perr := store.Pending()
	if perr != nil {
		problems = append(problems, perr.Error())
	}
	if err == nil && len(pending) > 0 && !s.Fails {
		problems = append(problems, "it went through, and left a transaction to be recovered")
	}
	blocked := len(pending) > 0
	if blocked {
		err = w.Recover(store)
		if err != nil && !errors.Is(err, commit.ErrBlocked) {
			problems = append(problems, fmt.Sprintf("recovery: %v", err))
		}
		problems = append(problems, g.law(w, err, how)...)
	}
	lost, err := sc.lost(g, w, st.attack, made, blocked)
	if err != nil {
		lost = append(lost, err.Error())
	}
	back()
	return out, append(problems, lost...)
}

// madeObject looks at what the attacker made.
func madeObject(dir int, name string) (object, bool) {
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return object{}, false
	}
	o := object{dev: uint64(st.Dev), ino: st.Ino, mode: st.Mode & 0o7777}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		o.mode = 0
		buf := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(dir, name, buf)
		if err != nil {
			return o, false
		}
		o.key = "link " + string(buf[:n])
	case unix.S_IFREG:
		fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return o, false
		}
		f := os.NewFile(uintptr(fd), name)
		defer f.Close()
		data := make([]byte, st.Size)
		if _, err := f.ReadAt(data, 0); err != nil && st.Size > 0 {
			return o, false
		}
		sum := sha256.Sum256(data)
		o.key = "file " + hex.EncodeToString(sum[:])
	}
	return o, true
}

// lost lists what was there before, or the attacker made, and is nowhere any more.
//
// A command's changes are found by comparison where there are no layers, and what
// others do meanwhile counts as its: that is not looked at.
func (sc *score) lost(g *ground, w *scene.World, by attack, made []object, blocked bool) ([]string, error) {
	if w.Commanded() && by.name == writtenTo {
		return nil, nil
	}
	have, err := g.inventory(w)
	if err != nil {
		return nil, err
	}
	var out []string
	changed := slices.ContainsFunc(made, func(o object) bool { return strings.HasPrefix(o.key, "file ") })
	for rel, o := range w.Before {
		k := key(o, filepath.Dir(w.Root))
		if k == "" || sc.spent[k] || have.contents[k] {
			continue
		}
		// It may be the one that the attacker wrote to.
		if changed && slices.ContainsFunc(made, func(m object) bool { return m.ino == o.Ino && m.dev == o.Dev }) {
			continue
		}
		out = append(out, fmt.Sprintf("what was at %s is lost", rel))
	}
	for _, o := range made {
		id := [2]uint64{o.dev, o.ino}
		now, there := have.objects[id]
		switch {
		case w.Commanded():
		case !o.late:
			if o.key != "" && !have.contents[o.key] {
				out = append(out, "what the attacker made is lost")
			}
		case !there || now.key != o.key:
			out = append(out, "what the attacker made late is lost")
		case now.mode != o.mode && by.name != writtenTo: // that was there before
			out = append(out, fmt.Sprintf("what the attacker made late has mode %04o and had %04o", now.mode, o.mode))
		case !have.shown[id] && !blocked:
			out = append(out, "what the attacker made late was taken out of the tree")
		}
	}
	return out, nil
}
