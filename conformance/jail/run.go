package jail

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"steps.example/conformance"
	"steps.example/interp/jail"
)

// Modes of the jail that the suite can hold it to.
const (
	ModeAuto       = "auto"       // what the jail chooses here
	ModeNamespaces = "namespaces" // an error where namespaces do not work
	ModeLandlock   = "landlock"   // as on a machine without namespaces
)

// Options say what to run.
type Options struct {
	Mode string   // one of the modes; empty is auto
	Pick []string // see [Pick]
}

// Summary counts results.
type Summary struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

func (s *Summary) count(r Result) {
	switch r.Status {
	case Passed:
		s.Passed++
	case Skipped:
		s.Skipped++
	default:
		s.Failed++
	}
}

// Run runs the suite, several cases at a time, and calls report for each in
// order. An error says that the suite could not be run to its end; what cases
// find wrong is in their results. Whatever happens, the files, processes and
// kernel objects that the suite made are gone when it returns.
func Run(ctx context.Context, opt Options, report func(Result)) (sum Summary, err error) {
	if _, err := Pick(Cases(), opt.Pick); err != nil {
		return sum, err
	}
	base, err := os.MkdirTemp("", "steps-jail-")
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, conformance.RemoveAll(base)) }()
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return sum, err
	}
	err = conduct(ctx, opt, base, func(r Result) {
		sum.count(r)
		report(r)
	})
	return sum, err
}

// A site is where cases run: a directory of their own, and the jail as they
// are to use it.
type site struct {
	base    string // physical
	self    string // this program, physical
	helper  string
	mode    string
	support jail.Support
}

func newSite(base, mode string) (*site, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return nil, err
	}
	helper, err := jail.Helper()
	if err != nil {
		return nil, err
	}
	s := &site{base: base, self: self, helper: helper, mode: mode, support: jail.Check()}
	return s, s.checkMode()
}

// runCases runs cases and passes on their results in order.
func (s *site) runCases(ctx context.Context, cases []Case, report func(Result)) error {
	conformance.InOrder(2*runtime.GOMAXPROCS(0), len(cases), func(i int) Result { return s.runCase(ctx, cases[i]) }, report)
	return ctx.Err()
}

// runCase runs one case on a thread of its own. The processes that it starts
// die with the thread, if not before.
func (s *site) runCase(ctx context.Context, c Case) Result {
	r := Result{Number: c.Number, Name: c.Name, Status: Passed, Expected: c.Expected}
	if err := ctx.Err(); err != nil {
		r.fail("not run: %v", err)
		return r
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		c.run(ctx, s, &r)
	}()
	<-done
	return r
}

// environment is that of a command at work in dir, in a jail or not.
func environment(dir string) []string {
	return []string{
		"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin", "HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C",
		"GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "GOPROXY=off",
	}
}
