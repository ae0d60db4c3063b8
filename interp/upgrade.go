package interp

import (
	"context"
	"errors"
	"fmt"

	"steps.example/interp/commit"
)

// Upgrade puts a new version in the place of an installed one, in one
// transaction: the phases of the removal in the document that the old one was
// installed with, then job, which is the installation of the new one. On any error
// the old version is whole, as with [Apply].
//
// What the old version made and its removal leaves is handed on to the new one,
// and goes with it when that is uninstalled. A link of the old version counts as
// the new one's own, whose link step may replace it.
//
// With force, steps of the removal that cannot be done are left out, as in
// [Installation.Remove]; those of the installation never are.
func Upgrade(ctx context.Context, old *Installation, job Job, host Host, opt ApplyOptions, force bool) (*Applied, error) {
	if job.Target.Name != old.Package.Name || job.Target.Layout != old.Layout {
		return nil, fmt.Errorf("%s for the layout %s is no upgrade of %s for %s", job.Target.Name, job.Target.Layout, old.Package.Name, old.Layout)
	}
	job.own, job.defers = old.links(), opt.Defer
	w := work{
		verb: "upgrade", ready: old.still(opt.Store), always: anyway, document: job.Document, force: force,
		receipt: func(r *commit.Receipt) {
			r.Action, r.Replaces = commit.ActionUpgrade, &old.Package
		},
	}
	removal, err := old.job(opt.Store, job.Target, true)
	switch {
	case err == nil:
		removal.replaced = old.Package.String()
		w.jobs = []Job{removal, job}
	case !force || !errors.Is(err, ErrNotStored):
		return nil, err
	default:
		w.jobs, w.skipped = []Job{job}, notKnown(err)
	}
	return transact(ctx, host, opt, w)
}
