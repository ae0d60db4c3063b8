package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/conformance"
	"steps.example/conformance/scene"
)

func (o Options) depth() depth {
	switch {
	case o.Thorough:
		return thorough
	case o.Short:
		return short
	}
	return usual
}

// job is a scene in one place.
type job struct {
	scene.Scene
	split   split
	meddled *meddling
}

var wheres = map[split]string{apart: "store on another file system", homeApart: "home on another file system"}

func (j *job) where() string {
	if j.meddled != nil {
		return j.meddled.how
	}
	return wheres[j.split]
}

// Names lists what [Run] runs, for these options.
func Names(o Options) ([]string, error) {
	list, err := jobs(o)
	var out []string
	for i := range list {
		name := list[i].Name
		if where := list[i].where(); where != "" {
			name += " (" + where + ")"
		}
		out = append(out, name)
	}
	return out, err
}

// jobs are the scenes, each on one file system and on two, and those that somebody
// interferes with.
func jobs(o Options) ([]job, error) {
	chosen, unknown := scene.Pick(scene.All(), o.Pick)
	if len(unknown) > 0 {
		return nil, fmt.Errorf("no scene is called, or has a step, %q", strings.Join(unknown, ", "))
	}
	var list []job
	for _, s := range chosen {
		list = append(list, job{Scene: s})
	}
	for _, s := range chosen {
		if s.Jail || o.Short && o.swallow == nil && !slices.Contains(closely, s.Name) {
			continue
		}
		list = append(list, job{Scene: s, split: apart})
		for p := range s.Before {
			if strings.HasPrefix(p, "home/") {
				list = append(list, job{Scene: s, split: homeApart})
				break
			}
		}
	}
	if o.apart {
		list = slices.DeleteFunc(list, func(j job) bool { return j.split == whole })
	}
	for _, m := range meddlings {
		for _, s := range chosen {
			if s.Name == m.scene {
				list = append(list, job{Scene: s, meddled: &m})
			}
		}
	}
	return list, nil
}

// Run runs the suite, several scenes at a time, and calls report for each in order.
// An error says that the suite could not be run to its end; what scenes find wrong
// is in their results. Its files are gone when it returns.
func Run(ctx context.Context, o Options, report func(Result)) (sum Summary, err error) {
	list, err := jobs(o)
	if err != nil {
		return sum, err
	}
	dir, err := scratch(o.Dir)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, conformance.RemoveAll(dir)) }()
	other, err := elsewhere(dir)
	if err != nil {
		return sum, err
	}
	if other != "" {
		defer func() { err = errors.Join(err, conformance.RemoveAll(other)) }()
	}
	// The jail grants nothing in /dev.
	jailed, err := os.MkdirTemp("", "steps-crash-")
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, conformance.RemoveAll(jailed)) }()
	b := bench{Options: o, dir: dir, other: other, jailed: jailed}
	conformance.InOrder(runtime.GOMAXPROCS(0), len(list), func(i int) Result { return b.run(ctx, &list[i], strconv.Itoa(i)) }, func(r Result) {
		sum.Points += r.Points
		sum.Failed += r.Failed
		if r.Skipped != "" {
			sum.Skipped++
		}
		report(r)
	})
	sum.Passed = sum.Points - sum.Failed
	return sum, ctx.Err()
}

// bench is what all sites have in common.
type bench struct {
	Options
	dir, other, jailed string
}

func (b *bench) run(ctx context.Context, j *job, name string) Result {
	r := Result{Scene: j.Name, Where: j.where()}
	s := &site{scene: &j.Scene, dir: filepath.Join(b.dir, name), split: j.split, swallow: b.swallow, hasty: b.swallow != nil}
	if j.Jail {
		s.dir = filepath.Join(b.jailed, name)
	}
	r.Skipped = j.Lacks()
	if r.Skipped == "" && j.split != whole && b.other == "" {
		r.Skipped = "needs two writable file systems among " + strings.Join(candidates(), ", ")
	}
	if r.Skipped != "" {
		return r
	}
	dirs := []string{s.dir}
	if j.split != whole {
		s.other = filepath.Join(b.other, name)
		dirs = append(dirs, s.other)
	}
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o755); err != nil {
			r.Points, r.Failed, r.Problems = 1, 1, []string{err.Error()}
			return r
		}
	}
	var c *tally
	if j.meddled != nil {
		c = s.meddle(ctx, j.meddled)
	} else {
		c = s.run(ctx, b.Options, j.Jail)
	}
	r.Points, r.Failed, r.Problems = c.points, c.failed, c.problems
	return r
}

func candidates() []string { return []string{"/dev/shm", os.TempDir(), "/var/tmp", "/run"} }

// scratch makes a directory to work in.
func scratch(dir string) (string, error) {
	where := []string{dir}
	if dir == "" {
		where = candidates()
	}
	var errs []error
	for _, at := range where {
		made, err := os.MkdirTemp(at, "steps-crash-")
		if err == nil {
			return filepath.EvalSymlinks(made)
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// elsewhere makes a directory on another file system; "" where there is none.
func elsewhere(dir string) (string, error) {
	var here unix.Stat_t
	if err := unix.Stat(dir, &here); err != nil {
		return "", err
	}
	for _, at := range candidates() {
		var there unix.Stat_t
		if unix.Stat(at, &there) != nil || there.Dev == here.Dev {
			continue
		}
		if made, err := os.MkdirTemp(at, "steps-crash-"); err == nil {
			return filepath.EvalSymlinks(made)
		}
	}
	return "", nil
}
