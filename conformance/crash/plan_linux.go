package crash

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
)

// depth says how many of the possible trials there are.
type depth int

const (
	short    depth = iota // a sample, in seconds
	usual                 // every point, with a choice of what is lost
	thorough              // every point, with every choice of names lost
)

// strides say, for a depth, that one of so many is taken.
type strides struct {
	kills      int // of the points of the operation
	recovery   int // of those, to stop the recovery at every point
	again      int // of the points of a second recovery
	power      int // of the points of the operation where the power fails
	powerAgain int // of the points of a recovery where it fails again
	// few limits what is lost to what tells most, every takes each prefix of names.
	few, every bool
}

// The sample is not even: what has many kinds of calls is looked at closely.
var (
	glance   = strides{kills: 9, recovery: 97, again: 97, power: 17, powerAgain: 97, few: true}
	closer   = strides{kills: 3, recovery: 61, again: 61, power: 2, powerAgain: 97, few: true}
	hard     = strides{kills: 1, recovery: 1, again: 1, power: 1, powerAgain: 53, few: true}
	every    = strides{kills: 1, recovery: 1, again: 7, power: 1, powerAgain: 5}
	complete = strides{kills: 1, recovery: 1, again: 1, power: 1, powerAgain: 1, every: true}
	// closely are the scenes that the sample looks at closely.
	closely = []string{"tree and home", "run between steps", "undo of a command", "undo", "upgrade that fails", "file where a directory was"}
)

func stridesOf(d depth, scene string) strides {
	switch {
	case d == thorough:
		return complete
	case d == usual:
		return every
	case slices.Contains(closely, scene):
		return closer
	}
	return glance
}

// run runs all trials of a site and counts them.
func (s *site) run(ctx context.Context, o Options, jail bool) *tally {
	c := &tally{}
	st := stridesOf(o.depth(), s.scene.Name)
	if s.swallow != nil {
		if o.Short {
			st = hard
		}
	} else if s.split == whole {
		s.kills(ctx, c, st, jail)
	}
	if !jail {
		s.powerFailures(ctx, c, st, o.Seed)
	}
	return c
}

// tally counts trials.
type tally struct {
	points, failed int
	problems       []string
}

// maxProblems bounds what is told of one scene.
const maxProblems = 5

func (c *tally) try(ctx context.Context, t *trial) bool {
	if ctx.Err() != nil || t.hasty && c.failed > 0 {
		return false
	}
	c.points++
	err := t.run(ctx)
	if err != nil {
		c.failed++
		if len(c.problems) < maxProblems {
			c.problems = append(c.problems, fmt.Sprintf("%v: %v", t, err))
		}
	}
	return err == nil
}

// kills stops the operation at every point, as SIGKILL does, its recovery at every
// point, and a second recovery at some.
func (s *site) kills(ctx context.Context, c *tally, st strides, jail bool) {
	whole := &trial{site: s, stops: []stop{{at: -1}}}
	if !c.try(ctx, whole) {
		return
	}
	for n := range whole.stages[0].points {
		if !turn(st.kills, s.scene.Name, n) {
			continue
		}
		first := &trial{site: s, stops: []stop{{at: n}}}
		// An operation may take a call less than the time before, and end.
		if !c.try(ctx, first) || len(first.stages) < 2 || !whole.stages[0].fresh[n] || !turn(st.recovery, s.scene.Name, n) || jail && n%5 != 0 {
			continue
		}
		recovery := first.stages[1]
		for k := range recovery.points {
			if !recovery.fresh[k] {
				continue
			}
			second := &trial{site: s, stops: []stop{{at: n}, {at: k}}}
			if !c.try(ctx, second) || jail || len(second.stages) < 3 {
				continue
			}
			for j := range second.stages[2].points {
				if second.stages[2].fresh[j] && turn(st.again, s.scene.Name, n, k, j) {
					c.try(ctx, &trial{site: s, stops: []stop{{at: n}, {at: k}, {at: j}}})
				}
			}
		}
	}
}

// powerFailures has the power fail at every point where something changed since the
// one before, and after the end, and in recoveries.
func (s *site) powerFailures(ctx context.Context, c *tally, st strides, seed uint64) {
	whole := &trial{site: s, power: true, stops: []stop{{at: -1, loss: &loss{}}}}
	if !c.try(ctx, whole) {
		return
	}
	fresh := whole.stages[0].fresh
	for n := -1; n < len(fresh); n++ {
		if n >= 0 && (!fresh[n] || !turn(st.power, s.scene.Name, n)) {
			continue
		}
		all := &trial{site: s, power: true, stops: []stop{{at: n, loss: &loss{}}}}
		c.try(ctx, all)
		// The process is killed, recovery returns, and then the power fails.
		killed := loss{keep: []int{0, 0}, journal: lost, others: lost}
		c.try(ctx, &trial{site: s, power: true, stops: []stop{{at: n}, {at: -1, loss: &killed}}})
		for i, l := range losses(all.shape, st, hash(seed, n)) {
			t := &trial{site: s, power: true, stops: []stop{{at: n, loss: &l}}}
			if !c.try(ctx, t) || len(t.stages) < 2 {
				continue
			}
			recovery := t.stages[1]
			for k := -1; k < len(recovery.fresh); k++ {
				if k >= 0 && !recovery.fresh[k] || !turn(st.powerAgain, s.scene.Name, n, i, k) {
					continue
				}
				l2 := worst(hash(seed, n, i, k))
				c.try(ctx, &trial{site: s, power: true, stops: []stop{{at: n, loss: &l}, {at: k, loss: &l2}}})
			}
		}
	}
}

// turn chooses one in so many, always the same.
func turn(stride int, of ...any) bool { return hash(of...)%uint64(stride) == 0 }

func hash(of ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, of...)
	return h.Sum64() >> 7
}

// losses are what may be lost where there is as much to lose as shape says, without
// the loss of nothing.
func losses(has shape, st strides, seed uint64) []loss {
	prefixes := [][]int{{}}
	for _, n := range has.names {
		var next [][]int
		for _, p := range prefixes {
			for _, k := range prefix(n, st.every, seed) {
				next = append(next, append(slices.Clone(p), k))
			}
		}
		prefixes = next
	}
	var list []loss
	for _, p := range prefixes {
		for _, l := range contents(has, seed) {
			l.keep = p
			list = append(list, l)
		}
	}
	list = slices.DeleteFunc(list, func(l loss) bool {
		return !l.mixed && l.journal == kept && l.others == kept && !slices.ContainsFunc(l.keep, func(k int) bool { return k >= 0 })
	})
	if st.few {
		list = slices.DeleteFunc(list, func(l loss) bool { return !l.telling() })
	}
	return list
}

// telling: names are lost or contents, wholly, and those of journals or of others.
func (l loss) telling() bool {
	some := slices.ContainsFunc(l.keep, func(k int) bool { return k > 0 })
	none := slices.Contains(l.keep, 0)
	plain := l.journal <= lost && l.others <= lost && !l.mixed
	if none {
		return plain && l.journal == kept && l.others == kept && !some
	}
	return plain && !some && (l.journal == kept) != (l.others == kept)
}

// prefix is how many of n names may be kept: all, none, some.
func prefix(n int, every bool, seed uint64) []int {
	list := []int{-1}
	if every {
		for k := range n {
			list = append(list, k)
		}
		return list
	}
	if n > 0 {
		list = append(list, 0)
	}
	if n > 1 {
		list = append(list, 1+int(hash(seed, n)%uint64(n-1)))
	}
	return list
}

// contents are the fates of contents.
func contents(has shape, seed uint64) []loss {
	if !has.journals && !has.others {
		return []loss{{}}
	}
	var list []loss
	for _, j := range []fate{kept, lost, torn, zeroed} {
		for _, o := range []fate{kept, lost, torn} {
			if (j == kept || has.journals) && (o == kept || has.others) {
				list = append(list, loss{journal: j, others: o})
			}
		}
	}
	return append(list, loss{mixed: true, seed: seed})
}

// worst is a loss for where it is not known what there is to lose.
func worst(seed uint64) loss {
	l := loss{mixed: seed%3 == 0, seed: seed}
	switch seed / 3 % 3 {
	case 0:
		l.keep = []int{0, 0}
	case 1:
		l.keep = []int{int(seed / 9 % 4), -1}
	default:
		l.keep = []int{-1, 0}
	}
	if !l.mixed {
		l.journal, l.others = fate(seed/40%uint64(fates)), fate(seed/160%uint64(fates))
	}
	return l
}
