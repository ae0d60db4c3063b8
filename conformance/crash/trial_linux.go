package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"steps.example/conformance"
	"steps.example/conformance/scene"
	"steps.example/interp/commit"
)

// site is where the trials of a scene take place, one after the other.
type site struct {
	scene *scene.Scene
	dir   string // of its own, on the first file system
	other string // on another one; "" if there is none
	split split
	n     int
	// swallow tells which syncs are not done; see machine.
	swallow func(commit.Call) bool
	// hasty: the first failure is enough.
	hasty bool
	// after is the tree after the operation, and applied whether it was to have a
	// receipt; known once the operation went through.
	after   scene.Snapshot
	applied bool
}

// split is how a world lies on two file systems.
type split int

const (
	whole     split = iota
	apart           // the store on another one than the tree
	homeApart       // the home on another one than the rest
)

// stop is a point to stop at, from 0, and what is then lost; nil for nothing. Where
// the point is not reached, that happens after the end.
type stop struct {
	at   int
	loss *loss
}

// trial is one run of a scene: the operation, stopped, then recoveries, stopped, and
// at last one that is not.
type trial struct {
	*site
	power bool
	stops []stop
	// meddle is done to the tree between the operation and recovery; nil for nothing.
	meddle func(*scene.World) error

	w *scene.World
	m machine
	// reached: the first stop was reached. Counted are points and their freshness at
	// each stage.
	reached bool
	stages  []stage
	shape   shape // of what could be lost at the first stop
	decided *bool // a recovery that ended had a receipt, or not
}

type stage struct {
	points int
	fresh  []bool
	last   string
}

func (t *trial) String() string {
	text := ""
	for i, s := range t.stops {
		what := "operation"
		if i > 0 {
			what = fmt.Sprintf("; recovery %d", i)
		}
		text += what + " stopped at its end"
		if i < len(t.stages) && t.stages[i].last != "" {
			text = text[:len(text)-len("at its end")] + fmt.Sprintf("at point %d, %s", s.at, t.stages[i].last)
		}
		if s.loss != nil {
			text += fmt.Sprintf(" (%v)", *s.loss)
		}
	}
	return text
}

// run runs the trial and gives all that is wrong with the outcome.
func (t *trial) run(ctx context.Context) (err error) {
	t.n++
	name := strconv.Itoa(t.n)
	places := scene.Places{Tree: filepath.Join(t.dir, name)}
	places.Store = places.Tree
	dirs := []string{places.Tree}
	if t.split != whole {
		there := filepath.Join(t.other, name)
		dirs = append(dirs, there)
		if t.split == apart {
			places.Store = there
		} else {
			places.Home = there
		}
	}
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, conformance.RemoveAll(dir)) }()
	}
	if t.w, err = t.scene.MakeAt(places); err != nil {
		return err
	}
	t.m = machine{swallow: t.swallow}
	if t.power {
		if t.m.disk, err = newDisk(dirs); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, t.m.disk.close()) }()
	}
	t.w.Watch = t.m.call
	if err := t.disturb(ctx); err != nil {
		return err
	}
	if t.meddle != nil {
		return nil
	}
	for _, dir := range dirs {
		if err := conformance.RemoveAll(filepath.Join(dir, "graveyard")); err != nil {
			return err
		}
	}
	t.w.Watch = nil
	return t.check()
}

// disturb runs the operation and the recoveries.
func (t *trial) disturb(ctx context.Context) error {
	for i, s := range t.stops {
		stopped, err := t.stage(s, func(store *commit.Store) error {
			if i == 0 {
				return t.w.Act(ctx, store)
			}
			return t.recover(store)
		})
		if err != nil {
			return err
		}
		if i == 0 {
			t.reached = stopped
		}
	}
	if t.meddle != nil {
		return t.meddle(t.w)
	}
	if !t.reached && len(t.stops) == 1 && t.stops[0].loss == nil {
		return nil // undisturbed: nothing to recover
	}
	_, err := t.stage(stop{at: -1}, t.recover)
	return err
}

// stage opens the store, runs f on it up to the stop, and lets what is lost be lost.
func (t *trial) stage(s stop, f func(*commit.Store) error) (stopped bool, err error) {
	store, err := commit.OpenStore(t.w.State)
	if err != nil {
		return false, err
	}
	t.m.start(s.at)
	store.Intercept(t.m.call)
	stopped, err = t.m.run(func() error { return f(store) })
	store.Close()
	t.stages = append(t.stages, stage{t.m.points, t.m.fresh, t.m.last})
	if err != nil {
		return stopped, err
	}
	if len(t.stages) == 1 && t.power {
		t.shape = t.m.disk.shape()
	}
	if s.loss != nil {
		err = t.m.disk.fail(*s.loss)
	}
	return stopped, err
}

// recover recovers. What it has led to, once it returns, it must lead to again.
func (t *trial) recover(store *commit.Store) error {
	if err := t.w.Recover(store); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	done, err := t.done(store)
	if err != nil {
		return err
	}
	if t.decided != nil && *t.decided != done {
		return fmt.Errorf("one recovery ended with the operation done: %t, and a later one: %t", *t.decided, done)
	}
	t.decided = &done
	return nil
}

// done tells, by the receipts, whether the operation took place.
func (t *trial) done(store *commit.Store) (bool, error) {
	all, err := store.Receipts()
	if err != nil {
		return false, err
	}
	if err := t.w.Agree(store); err != nil {
		return false, err
	}
	had := len(t.w.Had)
	if t.scene.Verb == scene.VerbUndo {
		if len(all) > had {
			return false, fmt.Errorf("there are %d receipts after an undo, and were %d", len(all), had)
		}
		return len(all) < had, nil
	}
	if len(all) < had || len(all) > had+1 {
		return false, fmt.Errorf("there are %d receipts, and were %d", len(all), had)
	}
	return len(all) > had, nil
}
