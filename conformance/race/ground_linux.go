package race

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/conformance"
	"steps.example/conformance/scene"
	"steps.example/interp/commit"
)

// ground is where one scene is attacked again and again: the world, which is made
// anew for every round, where the attacker puts things, and what is outside.
type ground struct {
	dir   string
	aside string
	far   *outside
}

func newGround(dir string) (*ground, error) {
	g := &ground{dir: dir, aside: filepath.Join(dir, "aside")}
	return g, errors.Join(os.Mkdir(dir, 0o755), os.Mkdir(g.aside, 0o755))
}

func (g *ground) close() error {
	if g.far != nil {
		g.far.close()
	}
	return conformance.RemoveAll(g.dir)
}

// outside makes what is outside: a copy of a tree in all but the contents.
func (g *ground) outside(tree conformance.Tree) (err error) {
	far := filepath.Join(g.dir, "far")
	if err := os.Mkdir(far, 0o755); err != nil {
		return err
	}
	g.far, err = newOutside(far, tree)
	return err
}

// world makes the world of the next round.
func (g *ground) world(s *scene.Scene) (*scene.World, *commit.Store, error) {
	dir := filepath.Join(g.dir, "w")
	for _, d := range []string{dir, g.aside} {
		if err := errors.Join(conformance.RemoveAll(d), os.Mkdir(d, 0o755)); err != nil {
			return nil, nil, err
		}
	}
	return s.Open(dir)
}

// attacker opens what an attacker needs of a world.
func (g *ground) attacker(w *scene.World) (*attacker, error) {
	return newAttacker(w.Root, g.aside, g.far.mirror, g.far.apart)
}

func newAttacker(root, aside, mirror, apart string) (*attacker, error) {
	a := &attacker{root: -1, aside: -1, apart: -1, mirror: mirror}
	for _, d := range []struct {
		fd   *int
		path string
	}{{&a.root, root}, {&a.aside, aside}, {&a.apart, apart}} {
		var err error
		if *d.fd, err = unix.Open(d.path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			a.close()
			return nil, fmt.Errorf("open %s: %w", d.path, err)
		}
	}
	return a, nil
}

func (a *attacker) close() {
	for _, fd := range []int{a.root, a.aside, a.apart} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// look is how closely to look at what is outside.
type look int

const (
	quick look = iota // at accesses
	whole             // at every object
	soft              // likewise, but attributes of hard-linked files may differ
)

// law lists what an operation did to what is outside, or let out of it.
func (g *ground) law(w *scene.World, said error, how look) []string {
	problems := g.far.seen()
	if how != quick {
		changed, err := g.far.changed(how == soft)
		if err != nil {
			problems = append(problems, err.Error())
		}
		problems = append(problems, changed...)
	}
	for i := range problems {
		problems[i] = "outside: " + problems[i]
	}
	for _, dir := range []string{w.Root, w.State} {
		found, err := leaked(dir)
		if err != nil {
			problems = append(problems, err.Error())
		}
		problems = append(problems, found...)
	}
	if said != nil && strings.Contains(said.Error(), secret) {
		problems = append(problems, "the message has what is secret")
	}
	for _, d := range w.OutsideDiff() {
		problems = append(problems, "beside the tree: "+d)
	}
	return problems
}
