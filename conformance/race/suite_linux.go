package race

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

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
	base, err := scene.Scratch("steps-race-", false)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, scene.RemoveAll(base)) }()
	// What is in memory is never granted to a command in a jail.
	slow, err := scene.Scratch("steps-race-", true)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, scene.RemoveAll(slow)) }()
	tell := func(r Result) {
		sum.count(r)
		report(r)
	}
	if controlled {
		r, err := control(ctx, filepath.Join(base, "control"), opt.Seed)
		if err != nil {
			return sum, fmt.Errorf("control: %w", err)
		}
		tell(r)
	}
	type ended struct {
		r   Result
		err error
	}
	results := make([]chan ended, len(scenes))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for i := range scenes {
		results[i] = make(chan ended, 1)
	}
	go func() {
		for i := range scenes {
			slots <- struct{}{}
			go func() {
				at := base
				if scenes[i].Jail {
					at = slow
				}
				r, err := attackScene(ctx, &scenes[i], filepath.Join(at, fmt.Sprint("s", i)), opt, max(1, opt.Rounds/len(scenes)))
				results[i] <- ended{r, err}
				<-slots
			}()
		}
	}()
	var failed error
	for i := range scenes {
		e := <-results[i]
		if e.err != nil && failed == nil {
			failed = fmt.Errorf("scene %s: %w", scenes[i].Name, e.err)
			cancel()
		}
		if failed == nil {
			tell(e.r)
		}
	}
	return sum, failed
}
