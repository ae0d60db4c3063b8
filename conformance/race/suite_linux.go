package race

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

	"steps.example/conformance"
	"steps.example/conformance/scene"
)

// Run runs the suite, several scenes at a time, and calls report for the control and
// each scene in order. An error says that the suite could not be run to its end; who
// broke the law is in the results. What it made is gone when it returns.
func Run(ctx context.Context, opt Options, report func(Result)) (sum Summary, err error) {
	scenes, controlled, err := Pick(opt.Pick)
	if err != nil {
		return sum, err
	}
	if opt.Rounds <= 0 {
		opt.Rounds = DefaultRounds
	}
	scratch, err := scene.NewScratch("steps-race-")
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, scratch.Close()) }()
	tell := func(r Result) {
		sum.count(r)
		report(r)
	}
	if controlled {
		r, err := control(ctx, filepath.Join(scratch.Fast, "control"), opt.Seed)
		if err != nil {
			return sum, fmt.Errorf("control: %w", err)
		}
		tell(r)
	}
	type ended struct {
		r   Result
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var failed error
	conformance.InOrder(runtime.GOMAXPROCS(0), len(scenes), func(i int) ended {
		s := &scenes[i]
		r, err := attackScene(ctx, s, filepath.Join(scratch.For(s), fmt.Sprint("s", i)), opt, max(1, opt.Rounds/len(scenes)))
		if err != nil {
			err = fmt.Errorf("scene %s: %w", s.Name, err)
		}
		return ended{r, err}
	}, func(e ended) {
		if e.err != nil && failed == nil {
			failed = e.err
			cancel()
		}
		if failed == nil {
			tell(e.r)
		}
	})
	return sum, failed
}
