package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"steps.example/conformance/scene"
	"steps.example/interp/commit"
)

// meddling is what somebody does to the tree between a crash and recovery.
type meddling struct {
	scene string
	path  string // below the root
	how   string
	do    func(path string) error
}

const marker = "written by somebody else\n"

// meddlings each provoke, at some points, that recovery cannot decide.
var meddlings = []meddling{
	{"write over", "hb/etc/conf", "somebody writes to the file", scribble},
	{"write over", "hb/etc/conf", "somebody replaces the file", supplant},
	{"move file over", "hb/etc/g", "somebody writes to the file", scribble},
	{"write new", "hb/etc/demo/conf", "somebody writes to the file", scribble},
	{"write new", "hb/etc/demo/more", "somebody adds a file", supplant},
	{"remove file", "hb/var/f", "somebody makes a new file", supplant},
	{"remove tree", "hb/var/d/a", "somebody makes a new file", supplant},
	{"mkdir", "hb/var/new/f", "somebody adds a file", supplant},
	{"upgrade", "hb/var/demo/version", "somebody replaces the file", supplant},
	{"undo", "hb/etc/own", "somebody writes to the file", scribble},
}

// scribble appends to the file that is there.
func scribble(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return supplant(path)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(marker)
	return errors.Join(err, f.Close())
}

// supplant puts a new file there, as an editor does.
func supplant(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(path), "somebody's")
	if err := os.WriteFile(temp, []byte(marker), 0o644); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// meddle stops the operation at every point, lets somebody interfere, and recovers.
// Nothing of theirs nor of what was there before is lost, whatever recovery makes of
// it. Where it cannot decide it says so, names the file, holds what it took, and
// nothing else is done with the store until it is told to keep that. It must come to
// that at some point.
func (s *site) meddle(ctx context.Context, m *meddling) *tally {
	c := &tally{}
	whole := &trial{site: s, stops: []stop{{at: -1}}}
	if !c.try(ctx, whole) {
		return c
	}
	blocked := 0
	for n := range whole.stages[0].points {
		if !whole.stages[0].fresh[n] {
			continue
		}
		t := &trial{site: s, stops: []stop{{at: n}}}
		t.meddle = func(w *scene.World) error {
			was, err := interfere(w, m)
			if err != nil {
				return err
			}
			wasBlocked, err := afterMeddling(ctx, w, m, was)
			if wasBlocked {
				blocked++
			}
			return err
		}
		c.try(ctx, t)
	}
	if blocked == 0 && ctx.Err() == nil {
		c.failed++
		c.problems = append(c.problems, "at no point did recovery find that it cannot decide")
	}
	return c
}

// interfere does what somebody does, and gives the contents of the tree and the
// store that may not be lost: those of before, and theirs.
func interfere(w *scene.World, m *meddling) ([][]byte, error) {
	keep := [][]byte{[]byte(marker)}
	path := filepath.Join(w.Root, m.path)
	had, _ := os.ReadFile(path) // nil for nothing
	if err := m.do(path); err != nil {
		return nil, fmt.Errorf("interfere: %w", err)
	}
	has, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for _, e := range w.Scene.Before {
		theyReplacedIt := e.Content == string(had) && !bytes.HasPrefix(has, had)
		if e.Type == "file" && e.Content != "" && !theyReplacedIt {
			keep = append(keep, []byte(e.Content))
		}
	}
	return keep, nil
}

func afterMeddling(ctx context.Context, w *scene.World, m *meddling, keep [][]byte) (blocked bool, err error) {
	store, err := commit.OpenStore(w.State)
	if err != nil {
		return false, err
	}
	defer store.Close()
	_, err = store.Recover(commit.RecoverOptions{})
	var b *commit.BlockedError
	if err != nil && !errors.As(err, &b) {
		return false, fmt.Errorf("recover: %w", err)
	}
	if err2 := isKept(w, keep); err2 != nil || b == nil {
		return b != nil, err2
	}
	if err := namesIt(w, m, b); err != nil {
		return true, err
	}
	var waiting *commit.InterruptedError
	if err := (&scene.World{Scene: &refused, Root: w.Root, Home: w.Home, State: w.State}).Act(ctx, store); !errors.As(err, &waiting) {
		return true, fmt.Errorf("with an undecided transaction, further work ended with %v", err)
	}
	if _, err := store.Recover(commit.RecoverOptions{}); !errors.Is(err, commit.ErrBlocked) {
		return true, fmt.Errorf("a second recovery, which knows no more, ended with %v", err)
	}
	done, err := store.Recover(commit.RecoverOptions{Keep: true})
	if err != nil {
		return true, fmt.Errorf("recover and keep: %w", err)
	}
	if len(done) != 1 || done[0].Kept == "" {
		return true, fmt.Errorf("recover and keep says %v, and not where it keeps what it held", done)
	}
	if _, err := os.Stat(done[0].Kept); err != nil {
		return true, err
	}
	if err := isKept(w, keep); err != nil {
		return true, err
	}
	if err := (&scene.World{Scene: &refused, Root: w.Root, Home: w.Home, State: w.State}).Act(ctx, store); err != nil {
		return true, fmt.Errorf("after that, work is still refused: %w", err)
	}
	return true, nil
}

// refused is further work.
var refused = scene.Scene{Verb: scene.VerbApply, Steps: `[{"type": "write", "path": {"base": "var", "path": "further"}, "content": "work"}]`}

// namesIt: the error names the path, or a directory that it is in, and what it holds
// is there.
func namesIt(w *scene.World, m *meddling, b *commit.BlockedError) error {
	named := false
	for _, c := range b.Conflicts {
		path := filepath.Join(w.Root, m.path)
		named = named || c.Path == path || strings.HasPrefix(path, c.Path+"/")
		if c.Held != "" {
			if _, err := os.Lstat(c.Held); err != nil {
				return fmt.Errorf("the error says that %s is held there, but: %w", c.Path, err)
			}
		}
	}
	if !named {
		return fmt.Errorf("the error does not name %s: %w", m.path, b)
	}
	return nil
}

// isKept looks for contents in the tree and in the store.
func isKept(w *scene.World, contents [][]byte) error {
	found := make([]bool, len(contents))
	for _, root := range []string{w.Root, w.State} {
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(p)
			for i, c := range contents {
				found[i] = found[i] || bytes.Contains(data, c)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for i, ok := range found {
		if !ok {
			return fmt.Errorf("%q is nowhere any more, neither in the tree nor in the store", contents[i])
		}
	}
	return nil
}
