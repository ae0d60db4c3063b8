package race

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"steps.example/conformance/scene"
	"steps.example/interp/commit"
)

// attackScene attacks a scene: by strikes, each at its call, and by a process that
// knows nothing of calls. Of the rounds a part goes to each.
func attackScene(ctx context.Context, s *scene.Scene, dir string, opt Options, rounds int) (r Result, err error) {
	r = Result{Name: s.Name, Skipped: s.Lacks()}
	if r.Skipped != "" {
		return r, nil
	}
	g, err := newGround(dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	sc, err := learn(ctx, s, g)
	if err != nil {
		return r, err
	}
	strikes := sc.some(rounds/2, opt.Seed)
	for _, st := range strikes {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		out, problems := sc.strikeOnce(ctx, s, g, st)
		for i := range problems {
			problems[i] = fmt.Sprintf("before call %d, %s, %s at %s: %s", st.call, sc.calls[st.call], st.attack.name, st.rel, problems[i])
		}
		r.add(out, problems)
	}
	if len(sc.targets) > 0 {
		err = sc.live(ctx, s, g, opt.Seed, rounds-len(strikes), &r)
	}
	return r, err
}

// some are as many of the strikes as may be: those at the very path of a call, and
// others spread over the rest.
func (sc *score) some(most int, seed uint64) []strike {
	if most >= len(sc.strikes) {
		return sc.strikes
	}
	pointed := spread(sc.strikes[:sc.pointed], most, seed)
	return append(pointed, spread(sc.strikes[sc.pointed:], most-len(pointed), seed)...)
}

func spread(all []strike, most int, seed uint64) []strike {
	if most >= len(all) {
		return all[:len(all):len(all)]
	}
	var out []strike
	for i := range most {
		out = append(out, all[(i*len(all)/most+int(seed%uint64(len(all))))%len(all)])
	}
	return out
}

// live attacks with a process. Every fourth round the operation is stopped in the
// middle, and it is the recovery that is attacked.
func (sc *score) live(ctx context.Context, s *scene.Scene, g *ground, seed uint64, rounds int, r *Result) (err error) {
	const every = 25 // rounds from one look at everything outside to the next
	var by *process
	defer func() {
		if by != nil {
			err = errors.Join(err, by.close())
		}
	}()
	rng := rand.New(rand.NewPCG(seed, uint64(len(s.Name))))
	for i := range rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		w, store, err := g.world(s)
		if err != nil {
			return err
		}
		if by == nil {
			by, err = start(orders{
				Root: w.Root, Aside: g.aside, Mirror: g.far.mirror, Apart: g.far.apart,
				Targets: sc.targets, Seed: seed ^ rng.Uint64(), NoHardLinks: s.Commanded(),
			})
			if err != nil {
				store.Close()
				return err
			}
		}
		store.Intercept(unsynced)
		act := func() error { return w.Act(ctx, store) }
		if i%4 == 3 {
			if store, err = stop(ctx, w, store, rng.IntN(len(sc.calls))); err != nil {
				return err
			}
			act = func() error { return w.Recover(store) }
		}
		var end error
		swaps, err := by.during(func() { end = act() })
		if err != nil {
			store.Close()
			return err
		}
		how := quick
		if i%every == every-1 || i == rounds-1 {
			how = soft
		}
		problems := g.law(w, end, how)
		if pending, err := store.Pending(); err != nil || len(pending) > 0 {
			if !errors.Is(end, commit.ErrBlocked) && !s.Fails {
				problems = append(problems, fmt.Sprintf("it ended with %v, and left a transaction to be recovered (%v)", end, err))
			}
			err := w.Recover(store)
			problems = append(problems, g.law(w, err, quick)...)
		}
		store.Close()
		out := outcomeOf(end)
		out.swaps = swaps
		for k := range problems {
			problems[k] = fmt.Sprintf("round %d: %s", i, strings.ReplaceAll(problems[k], g.dir, ""))
		}
		r.add(out, problems)
	}
	return nil
}

// stop begins the operation, and ends it at a call like a kill would. It gives the
// store as the next process opens it.
func stop(ctx context.Context, w *scene.World, store *commit.Store, at int) (*commit.Store, error) {
	k := -1
	store.Intercept(func(c commit.Call) error {
		if !c.After {
			if k++; k == at {
				panic(errStopped)
			}
		}
		return unsynced(c)
	})
	func() {
		defer func() {
			if p := recover(); p != nil && p != errStopped {
				panic(p)
			}
		}()
		_ = w.Act(ctx, store)
	}()
	store.Intercept(nil)
	store.Close()
	store, err := commit.OpenStore(w.State)
	if err == nil {
		store.Intercept(unsynced)
	}
	return store, err
}

var errStopped = errors.New("stopped")
