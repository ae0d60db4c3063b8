package interp

import (
	"context"
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
func Upgrade(ctx context.Context, old *Installation, job Job, host Host, opt ApplyOptions) (*Applied, error) {
	if job.Target.Name != old.Package.Name || job.Target.Layout != old.Layout {
		return nil, fmt.Errorf("%s for the layout %s is no upgrade of %s for %s", job.Target.Name, job.Target.Layout, old.Package.Name, old.Layout)
	}
	removal, err := old.job(opt.Store, job.Target, true)
	if err != nil {
		return nil, err
	}
	job.own, job.defers = old.links(), opt.Defer
	return transact(ctx, host, opt, work{
		verb: "upgrade", jobs: []Job{removal, job}, ready: old.still(opt.Store), always: anyway, document: job.Document,
		receipt: func(r *commit.Receipt) {
			r.Action, r.Replaces = commit.ActionUpgrade, &old.Package
		},
	})
}
