package race

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"steps.example/conformance"
)

// naive does what a careless program does: it looks, and then it acts by path. The
// attacks on it must be seen to get outside, or else that nothing gets there would
// mean nothing.
var naive = []struct {
	name string
	do   func(root string, between func()) error
}{
	{"look and write", func(root string, between func()) error {
		path := filepath.Join(root, "hb/etc/conf")
		if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
			return err
		}
		between()
		return os.WriteFile(path, []byte("new"), 0o644)
	}},
	{"look and read", func(root string, between func()) error {
		path := filepath.Join(root, "hb/etc/conf")
		if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
			return err
		}
		between()
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(root, "hb/copy"), data, 0o644)
	}},
	{"write beside and rename", func(root string, between func()) error {
		dir := filepath.Join(root, "hb/etc")
		if st, err := os.Lstat(dir); err != nil || !st.IsDir() {
			return err
		}
		between()
		if err := os.WriteFile(filepath.Join(dir, "new"), []byte("new"), 0o644); err != nil {
			return err
		}
		return os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "conf"))
	}},
	{"look and change the mode", func(root string, between func()) error {
		path := filepath.Join(root, "hb/etc/conf")
		if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
			return err
		}
		between()
		return os.Chmod(path, 0o600)
	}},
}

// controlTree is where the careless programs work.
var controlTree = conformance.Tree{
	"hb":          {Type: "dir", Mode: "0755"},
	"hb/etc":      {Type: "dir", Mode: "0755"},
	"hb/etc/conf": {Type: "file", Mode: "0644", Content: "conf"},
}

// control attacks the careless programs, with strikes and with the process. Every
// strike that can lead outside must be noticed, and the process must get each of
// them outside in the end.
func control(ctx context.Context, dir string, seed uint64) (r Result, err error) {
	r = Result{Name: controlName}
	g, err := newGround(dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if err := g.outside(controlTree); err != nil {
		return r, err
	}
	root := filepath.Join(dir, "root")
	fresh := func() error {
		return errors.Join(conformance.RemoveAll(root), conformance.RemoveAll(g.aside), os.Mkdir(root, 0o755), os.Mkdir(g.aside, 0o755), controlTree.Build(root))
	}
	// What the programs get out is put right again.
	noticed := func() (bool, error) {
		changed, err := g.far.changed(false)
		found, leakErr := leaked(root)
		if err = errors.Join(err, leakErr); err != nil || len(changed)+len(found) == 0 {
			return false, err
		}
		g.far.close()
		return true, errors.Join(conformance.RemoveAll(g.far.base), g.outside(controlTree))
	}
	leading := []struct {
		attack string
		rel    string
	}{{"link in its place", "hb/etc"}, {"exchanged with a link", "hb/etc"}, {"link in its place", "hb/etc/conf"}, {"exchanged with a link", "hb/etc/conf"}, {hardLinked, "hb/etc/conf"}}
	for _, program := range naive {
		for _, l := range leading {
			if program.name == "write beside and rename" && l.rel != "hb/etc" || program.name == "look and read" && l.attack == hardLinked {
				continue // these do not fall for that
			}
			if err := fresh(); err != nil {
				return r, err
			}
			a, err := newAttacker(root, g.aside, g.far.mirror, g.far.apart)
			if err != nil {
				return r, err
			}
			var struck error
			back := func() {}
			// That the program fails is as good.
			_ = program.do(root, func() {
				for _, by := range attacks {
					if by.name == l.attack {
						if undo, err := a.strike(by, l.rel); err != nil {
							struck = err
						} else {
							back = undo
						}
					}
				}
			})
			back()
			a.close()
			if struck != nil && l.attack == hardLinked {
				r.Skipped = fmt.Sprintf("hard links cannot be made here (fs.protected_hardlinks): %v", struck)
				continue
			}
			out, err := noticed()
			if err != nil {
				return r, err
			}
			var problems []string
			if struck != nil || !out {
				problems = []string{fmt.Sprintf("%s, %s at %s: nothing was noticed outside (%v)", program.name, l.attack, l.rel, struck)}
			}
			r.add(outcome{Succeeded: 1, swaps: 1}, problems)
		}
	}
	err = liveControl(ctx, g, root, seed, fresh, noticed, &r)
	return r, err
}

// liveControl lets the process at the careless programs until something gets out.
func liveControl(ctx context.Context, g *ground, root string, seed uint64, fresh func() error, noticed func() (bool, error), r *Result) error {
	const most = 20_000
	for _, program := range naive {
		by, err := start(orders{
			Root: root, Aside: g.aside, Mirror: g.far.mirror, Apart: g.far.apart,
			Targets: []string{"hb/etc", "hb/etc/conf"}, Seed: seed,
		})
		if err != nil {
			return err
		}
		out, swaps := false, 0
		for i := 0; i < most && !out && err == nil && ctx.Err() == nil; i++ {
			if err = fresh(); err != nil {
				break
			}
			n := 0
			n, err = by.during(func() {
				for range 20 {
					_ = program.do(root, func() {})
				}
			})
			swaps += n
			if err == nil {
				out, err = noticed()
			}
		}
		if err = errors.Join(err, by.close()); err != nil {
			return err
		}
		var problems []string
		if !out {
			problems = []string{fmt.Sprintf("%s: the attacker got nothing outside in %d swaps", program.name, swaps)}
		}
		r.add(outcome{Succeeded: 1, swaps: swaps}, problems)
	}
	return ctx.Err()
}
