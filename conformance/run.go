package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"steps.example/interp"
	"steps.example/interp/changeset"
	"steps.example/interp/commit"
	"steps.example/steps"
)

// Result is what became of a case.
type Result struct {
	Case *Case
	// Problem is nil for a case that passed.
	Problem error
	// Mutations is in how many ways what it made was spoiled, which verify found.
	Mutations int
}

// Options say how much is tried.
type Options struct {
	// AllMutations spoils every path that a case made in every way, one after the
	// other, instead of one path in one way.
	AllMutations bool
	// Seed draws that one.
	Seed uint64
}

// RunAll runs the cases, several at a time, and calls report for each in order.
func RunAll(ctx context.Context, cases []Case, host interp.Host, o Options, report func(Result)) (passed, failed int) {
	InOrder(runtime.GOMAXPROCS(0), len(cases), func(i int) Result { return Run(ctx, &cases[i], host, o) }, func(r Result) {
		if r.Problem == nil {
			passed++
		} else {
			failed++
		}
		report(r)
	})
	return passed, failed
}

// Run runs one case in a scratch directory of its own, which is gone afterwards,
// and gives everything that is wrong with the outcome.
func Run(ctx context.Context, c *Case, host interp.Host, o Options) Result {
	r := runner{Case: c, host: host, Options: o}
	err := r.inScratch(ctx)
	return Result{Case: c, Problem: err, Mutations: r.mutations}
}

func (r *runner) inScratch(ctx context.Context) (err error) {
	scratch, err := os.MkdirTemp("", "steps-case-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, RemoveAll(scratch)) }()
	if scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return err
	}
	r.root, r.state = filepath.Join(scratch, "root"), filepath.Join(scratch, "state")
	if err := os.Mkdir(r.root, 0o755); err != nil {
		return err
	}
	if err := r.Before.Build(r.root); err != nil {
		return fmt.Errorf("building the tree before: %w", err)
	}
	if r.before, err = ReadTree(r.root); err != nil {
		return err
	}
	return r.run(ctx)
}

type runner struct {
	*Case
	Options
	host        interp.Host
	root, state string
	before      Tree
	mutations   int
}

func (r *runner) run(ctx context.Context) error {
	job, err := r.job()
	if err != nil {
		return r.refused(err)
	}
	plan, err := interp.MakePlan(ctx, job, r.host)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	if err := r.sameTree(r.before, "after the plan, which may change nothing"); err != nil {
		return err
	}
	store, err := commit.OpenStore(r.state)
	if err != nil {
		return err
	}
	done, err := interp.Apply(ctx, job, r.host, interp.ApplyOptions{Store: store})
	if err != nil {
		return r.refused(err)
	}
	if !r.Expect.OK {
		return fmt.Errorf("went through, but the reference fails with %s", r.Expect.Reason)
	}
	if r.Stricter() {
		return errors.New("went through, but must be refused")
	}
	after := r.Expect.After.filled(r.root)
	return errors.Join(
		r.sameTree(after, "after apply"),
		r.messages(done.Warnings),
		r.predicted(plan, after),
		r.leftNothing(),
		r.again(ctx, job, store),
		r.mutated(store, done.Receipt),
		r.takenBack(store, done),
	)
}

// job is the case as an apply has it, with everything approved that it asks for
// and every base as a root.
func (r *runner) job() (interp.Job, error) {
	list, err := steps.DecodeSteps([]byte(fill(string(r.Steps), r.root)), steps.DefaultLimits)
	if err != nil {
		return interp.Job{}, err
	}
	dir := func(name string) string { return filepath.Join(r.root, name) }
	phase := steps.Phase("post_install_steps")
	if r.Context.Kind == "cask" {
		phase = "postflight_steps"
	}
	return interp.Job{
		Document: &steps.Document{Blocks: []steps.Block{{Phase: phase, Steps: list}}},
		Phases:   []steps.Phase{phase},
		Removal:  r.Phase == "uninstall",
		Target: interp.Target{
			Layout:  "homebrew-" + r.Context.Kind,
			Name:    r.Context.Name,
			Version: r.Context.Version,
			OS:      r.Context.OS,
			Dirs: map[string]string{
				"homebrew_prefix": dir("hb"), "home": dir("home"), "temp": dir("tmp"), "appdir": dir("Applications"),
			},
			User:       "tester",
			SearchPath: []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"},
			Umask:      0o022,
			Approved: []string{
				"network", "sudo", "ownership", "terminate", changeset.SetIDCapability,
				changeset.LinkOutCapability, "write:home", "write:homebrew_prefix",
			},
			// The reference knows nothing of owners.
			Replace: []string{interp.ResolveAll},
		},
	}, nil
}

// refused judges a case that did not go through: that is right where the
// reference fails too, or where this project is stricter, if nothing changed.
func (r *runner) refused(cause error) error {
	if r.Expect.OK && !r.Stricter() {
		return fmt.Errorf("failed, but the reference goes through: %w", cause)
	}
	return errors.Join(r.sameTree(r.before, "after a failure, which must change nothing"), r.leftNothing())
}

func (r *runner) sameTree(want Tree, when string) error {
	got, err := ReadTree(r.root)
	if err != nil {
		return err
	}
	if diff := got.Diff(want); len(diff) > 0 {
		return fmt.Errorf("%s the tree differs:\n  %s", when, strings.Join(diff, "\n  "))
	}
	return nil
}

func (r *runner) messages(got []interp.Warning) error {
	var texts, want []string
	for _, w := range got {
		texts = append(texts, w.Text)
	}
	for _, m := range r.Expect.Messages {
		want = append(want, fill(m, r.root))
	}
	if !slices.Equal(texts, want) {
		return fmt.Errorf("messages are %q, want %q", texts, want)
	}
	return nil
}

// predicted compares the plan with what happened. What commands make can't be
// predicted, so a plan with one is only held to having been possible.
func (r *runner) predicted(plan *interp.Plan, after Tree) error {
	if len(plan.Refused) > 0 {
		return fmt.Errorf("the plan refuses what apply did: %s", plan.Refused[0].Reason)
	}
	if len(plan.Actions) > 0 {
		return nil
	}
	if diff := r.model(plan.Changes).Diff(after); len(diff) > 0 {
		return fmt.Errorf("the plan predicted something else:\n  %s", strings.Join(diff, "\n  "))
	}
	return nil
}

// model is the tree before with the changeset applied to it in memory.
func (r *runner) model(cs *changeset.Changeset) Tree {
	out := Tree{}
	for p, e := range r.before {
		out[p] = e
	}
	rel := func(p string) string { return strings.TrimPrefix(p, r.root+"/") }
	for _, c := range cs.Changes {
		if c.After == nil {
			delete(out, rel(c.Path))
			continue
		}
		e := Entry{Type: string(c.After.Kind), Mode: fmt.Sprintf("%04o", c.After.Mode), Target: c.After.Target}
		switch {
		case c.After.Kind == changeset.Symlink:
			e.Mode = ""
		case c.After.Kind != changeset.File:
		case c.From != "":
			e.Content = r.before[rel(c.From)].Content
		case c.Content == nil:
			e.Content = r.before[rel(c.Path)].Content
		case c.Content.Origin != nil:
			e.Content = r.before[rel(c.Content.Origin.Path)].Content
		default:
			e.Content = string(c.Content.Bytes)
		}
		out[rel(c.Path)] = e
	}
	return out
}

// leftNothing looks for transactions and staging that were not cleaned up.
func (r *runner) leftNothing() error {
	open, err := filepath.Glob(filepath.Join(r.state, "tx", "*"))
	if err == nil && len(open) > 0 {
		err = fmt.Errorf("left behind: %s", strings.Join(open, ", "))
	}
	return err
}

// takenBack checks that the receipt fits the tree and that undo restores what
// was before.
func (r *runner) takenBack(store *commit.Store, done *interp.Applied) error {
	if done.Receipt == nil {
		return r.sameTree(r.before, "although nothing was to be changed,")
	}
	drift, err := store.Verify(done.Receipt)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if len(drift) > 0 {
		return fmt.Errorf("verify right after apply finds drift: %v", drift)
	}
	if err := store.Undo(done.Receipt.ID); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	return errors.Join(r.sameTree(r.before, "after undo"), r.leftNothing())
}
