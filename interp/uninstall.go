package interp

import (
	"context"
	"errors"
	"slices"

	"steps.example/interp/changeset"
	"steps.example/interp/commit"
)

// RemoveOptions say what to do where a removal is not plain.
type RemoveOptions struct {
	// Force leaves out steps of the removal that cannot be done, and all of them
	// where the document was not stored.
	Force bool
	// Purge removes what the package made also where it was changed since.
	Purge bool
}

// Removed is what an uninstall did.
type Removed struct {
	Applied
	// Left are the paths of the package that stay, and why.
	Left []Left
}

// Left is a path that was not taken back.
type Left = commit.Left

// Remove uninstalls the package, in one transaction: the phases of the removal in
// the document that it was installed with, then what its receipts made goes, and
// what they replaced, moved or deleted comes back, where nobody changed it since: what
// was the user's, or is another installed package's. What another package uses stays,
// and belongs to that from then on. now says who acts: it has the User, SearchPath,
// Umask and Protected of a target, and perhaps further Approved, Replace and Keep.
//
// Caches that its steps rebuilt, or put off, are [Applied.Triggers] of the removal, if
// something is left to rebuild them for; what it had put off itself is settled.
//
// A file that comes back is a copy with the content, mode, owner and time that it had;
// it has no extended attributes or access lists and is no hard link. What was moved is
// moved back, and a directory has the present time. The object itself stays with the
// receipt, since undo of the removal, and then of the receipt, must find it there:
// [Undo] of the receipts in the place of a removal is the exact inverse.
func (i *Installation) Remove(ctx context.Context, now Target, host Host, opt ApplyOptions, how RemoveOptions) (*Removed, error) {
	w := work{verb: "uninstall", ready: i.still(opt.Store), always: anyway, roots: i.roots(), force: how.Force}
	job, err := i.job(opt.Store, now, true)
	known := err == nil
	switch {
	case known:
		job.rebuilds = true
		w.jobs = []Job{job}
	case !how.Force || !errors.Is(err, ErrNotStored):
		return nil, err
	default:
		w.skipped = notKnown(err)
	}
	out := &Removed{}
	var settled []string
	w.last = func(x *executor) (err error) {
		t := takeBack{x: x, self: commit.Identity{Layout: i.Layout, Name: i.Package.Name}, purge: how.Purge, force: how.Force}
		if known {
			if t.env, err = newEnvironment(job.Target); err != nil {
				return err
			}
		}
		f := former{x: x, self: t.self, force: how.Force}
		net, err := f.net(i)
		if err != nil {
			return err
		}
		if err := t.plan(net, f.receipts); err != nil {
			return err
		}
		out.Left = t.left
		if err := x.apply(t.cs, x.freeRules(t.env)); err != nil {
			return err
		}
		if known {
			if x.done.Triggers, err = x.remain(ctx, job, x.done.Triggers); err != nil {
				return err
			}
		}
		settled, err = i.pendingTriggers(opt.Store)
		return err
	}
	w.receipt = func(r *commit.Receipt) {
		r.Action, r.Package, r.Layout, r.Left, r.Settles = commit.ActionUninstall, i.Package, i.Layout, out.Left, settled
	}
	done, err := transact(ctx, host, opt, w)
	if done != nil {
		out.Applied = *done
	}
	return out, err
}

// pendingTriggers are the receipts of the installation whose triggers nobody carried
// out.
func (i *Installation) pendingTriggers(store *commit.Store) ([]string, error) {
	receipts, err := store.TriggerReceipts()
	if err != nil {
		return nil, err
	}
	own := receiptIDs(i.Receipts)
	return receiptIDs(slices.DeleteFunc(PendingTriggers(receipts), func(r *commit.Receipt) bool {
		return !slices.Contains(own, r.ID)
	})), nil
}

// freeRules are what taking back and repairing are judged by: what the package may
// change it may also make as it was, even if what was there needed an approval.
// Without an environment, where the document is not known, the roots are the limit.
func (x *executor) freeRules(env *environment) changeset.Rules {
	var rules changeset.Rules
	if env != nil {
		rules = env.rules(x.set.Roots())
	} else {
		for _, r := range x.set.Roots() {
			rules.Grants = append(rules.Grants, changeset.Grant{Dir: r.Path, Access: changeset.Write})
		}
	}
	rules.Approved = slices.Concat(rules.Approved, []string{changeset.SetIDCapability, changeset.LinkOutCapability})
	return rules
}
