package interp

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/commit"
	"steps.example/interp/internal/fsroot"
)

// Repaired is what a repair did.
type Repaired struct {
	Applied
	// Left are the paths that are still not as they were recorded, and why.
	Left []Left
}

// Repair makes the paths of the package again what its receipts say, those only
// that differ, in one transaction. A link, a directory, a mode, an owner and a time
// are in the receipt. A file's content is taken from what the store keeps, by its
// hash, or comes out of the stored document when that is interpreted on a picture of
// the tree as it was before. What neither has is listed and stays as it is, such as
// what a command made. now is as for [Installation.Remove].
func (i *Installation) Repair(ctx context.Context, now Target, host Host, opt ApplyOptions) (*Repaired, error) {
	out := &Repaired{}
	job, err := i.job(opt.Store, now, false)
	known := err == nil
	if !known && !errors.Is(err, ErrNotStored) {
		return nil, err
	}
	w := work{verb: "repair", ready: i.still(opt.Store), roots: i.roots()}
	if known {
		w.roots = append(w.roots, job.Target.roots()...)
	}
	w.last = func(x *executor) error {
		kept, err := x.tx.Keep(i.Receipts)
		if err != nil {
			return err
		}
		r := repair{x: x, kept: kept, receipts: i.Receipts, will: map[string]changeset.Kind{}}
		if err := r.find(i); err != nil {
			return err
		}
		if known {
			if r.env, err = newEnvironment(job.Target); err != nil {
				return err
			}
			if err := r.replay(ctx, job); err != nil {
				return err
			}
		}
		if err := r.plan(); err != nil {
			return err
		}
		out.Left = r.left
		return x.apply(&changeset.Changeset{Changes: r.changes}, x.freeRules(r.env))
	}
	w.receipt = func(r *commit.Receipt) {
		r.Action, r.Package, r.Layout, r.Left = commit.ActionRepair, i.Package, i.Layout, out.Left
	}
	done, err := transact(ctx, host, opt, w)
	if done != nil {
		out.Applied = *done
	}
	return out, err
}

// repair works out the changes.
type repair struct {
	x        *executor
	kept     *commit.Kept
	receipts []*commit.Receipt
	env      *environment // nil where the document is not known

	drifted []drifted
	changes []changeset.Change
	left    []Left
	will    map[string]changeset.Kind // what will be at a path, "" for nothing
}

// drifted is a path that is not as it should be.
type drifted struct {
	*changeset.Change
	drifts []commit.Drift
	// content is what its file is to hold, once it was found.
	content *changeset.Content
}

func (d drifted) has(kinds ...commit.DriftKind) bool {
	return slices.ContainsFunc(d.drifts, func(x commit.Drift) bool { return slices.Contains(kinds, x.Kind) })
}

// needsContent: a regular file must be written.
func (d drifted) needsContent() bool {
	return d.After != nil && d.After.Kind == changeset.File && d.has(commit.DriftMissing, commit.DriftKindOf, commit.DriftContent)
}

// lacksContent: it must be written, and with what was not found yet.
func (d drifted) lacksContent() bool { return d.needsContent() && d.content == nil }

// find lists what differs, where no other package has the last word.
func (r *repair) find(inst *Installation) error {
	reach := &changeset.Changeset{}
	for _, c := range inst.leaves().Changes {
		last, _, _ := r.x.known.owners.Last(c.Path)
		own := slices.ContainsFunc(inst.Receipts, func(o *commit.Receipt) bool { return o.ID == last })
		if _, _, ok := r.x.set.Locate(c.Path); ok && own {
			reach.Changes = append(reach.Changes, c)
		}
	}
	by, err := r.x.compare(reach)
	if err != nil {
		return err
	}
	installed, err := installedAs(r.x.known.store, inst.Package.Name)
	if err != nil {
		return err
	}
	yours := yoursOf(installed)[commit.Identity{Layout: inst.Layout, Name: inst.Package.Name}]
	for i := range reach.Changes {
		c := &reach.Changes[i]
		if drifts := slices.DeleteFunc(by[c.Path], yours.Covers); len(drifts) > 0 {
			d := drifted{Change: c, drifts: drifts}
			if d.needsContent() {
				d.content = r.byHash(c.After.SHA256)
			}
			r.drifted = append(r.drifted, d)
		}
	}
	return nil
}

// byHash finds a file that a receipt keeps by the hash of its content.
func (r *repair) byHash(sum string) *changeset.Content {
	if sum == "" {
		return nil
	}
	for _, receipt := range r.receipts {
		for _, c := range receipt.Changeset.Changes {
			if c.Before != nil && c.Before.SHA256 == sum && c.Stamp != nil {
				if content, ok := r.kept.Content(c.Path, *c.Stamp); ok {
					return content
				}
			}
		}
	}
	return nil
}

// maxReplayed bounds, in bytes, a former file that a step edits again.
const maxReplayed = 64 << 20

// replay interprets the stored document in memory, on a picture of the tree as it was
// before each receipt that put something at a drifted path, the newest first, and takes
// the contents of those paths from that.
func (r *repair) replay(ctx context.Context, job Job) error {
	if !slices.ContainsFunc(r.drifted, drifted.lacksContent) {
		return nil
	}
	var since []map[string]*changeset.Change // the newest first
	for _, receipt := range slices.Backward(r.receipts) {
		// What a repair put there another had put there before.
		if receipt.Action == commit.ActionRepair {
			continue
		}
		put := byPath(receipt.Leaves())
		since = append(since, put)
		if !slices.ContainsFunc(r.drifted, func(d drifted) bool {
			c := put[d.Path]
			return d.lacksContent() && c != nil && c.After != nil && !c.KeepsObject()
		}) {
			continue
		}
		if err := r.replayBefore(ctx, job, receipt.ID, since); err != nil {
			return err
		}
	}
	return nil
}

func byPath(cs *changeset.Changeset) map[string]*changeset.Change {
	out := make(map[string]*changeset.Change, len(cs.Changes))
	for i := range cs.Changes {
		out[cs.Changes[i].Path] = &cs.Changes[i]
	}
	return out
}

// replayBefore is a replay on the picture before a receipt; since has the changes from
// that one on. Nothing executes, and steps that fail now are passed over.
func (r *repair) replayBefore(ctx context.Context, job Job, receipt string, since []map[string]*changeset.Change) error {
	r.env.claims.ledger = r.x.known.before(receipt)
	m := &machine{environment: r.env, ctx: ctx, effects: &planner{host: r.x.host, plan: &Plan{}}}
	var err error
	if m.view, err = newView(r.env, r.x.set, r.x.host); err != nil {
		return err
	}
	for i := range r.drifted {
		d := &r.drifted[i]
		if !d.lacksContent() {
			continue
		}
		if err := m.view.RemoveAll(d.Path); err != nil {
			continue // it cannot be repaired, which is found when it is planned
		}
		was := d.Change
		for _, changes := range slices.Backward(since) {
			if c := changes[d.Path]; c != nil {
				was = c
				break
			}
		}
		if was.Before == nil || was.Before.Kind != changeset.File || was.Stamp == nil {
			continue
		}
		if kept, ok := r.kept.Content(d.Path, *was.Stamp); ok {
			if data, err := r.x.tx.Read(kept, maxReplayed); err == nil {
				// Where there is no place for it, the step fails, too.
				_ = m.view.Replace(d.Path, data, was.Before.Mode)
			}
		}
	}
	if err := m.interpret(job, func(err *StepError) bool { return !errors.Is(err, context.Canceled) }); err != nil {
		return err
	}
	made, err := m.view.Changes()
	if err != nil {
		return err
	}
	at := byPath(made)
	for i := range r.drifted {
		if d := &r.drifted[i]; d.lacksContent() {
			d.content = r.made(at[d.Path], d.After.SHA256)
		}
	}
	return nil
}

// made is the content that the replay made at a path, if it is the recorded one.
func (r *repair) made(c *changeset.Change, sum string) *changeset.Content {
	if c == nil || c.Content == nil || sum == "" {
		return nil
	}
	if is, err := r.x.tx.Hash(c.Content); err != nil || is != sum {
		return nil
	}
	return c.Content
}

// plan makes the changes, parents first.
func (r *repair) plan() error {
	for i := range r.drifted {
		d := &r.drifted[i]
		reason, err := r.planOne(d)
		if err != nil {
			return err
		}
		if reason != "" {
			r.left = append(r.left, Left{Path: d.Path, Reason: reason})
		}
	}
	return nil
}

// planOne adds the change for a path, or says why it cannot be repaired.
func (r *repair) planOne(d *drifted) (reason string, err error) {
	st, err := r.x.set.Lstat(d.Path)
	missing := fsroot.IsMissing(err) || errors.Is(err, unix.ELOOP)
	if err != nil && !missing {
		return "", err
	}
	is := st.Kind()
	switch {
	case d.has(commit.DriftAppeared) && is == changeset.Dir, d.has(commit.DriftKindOf) && is == changeset.Dir:
		return "is a directory now, and what may be in it is not steps' to delete; move it away", nil
	case !missing && is == changeset.Other:
		return "is neither a file, a directory nor a link now; move it away", nil
	case d.lacksContent() && d.After.SHA256 == "":
		return "its content was only moved or found there and is kept nowhere; bring it back from a copy of yours", nil
	case d.lacksContent():
		return "its content is neither kept nor in the document that was stored, as where a command made it; apply the package again", nil
	case d.has(commit.DriftOwner) && !r.x.root():
		return "has another owner, and only root can give it back", nil
	}
	change := changeset.Change{Path: d.Path}
	if d.After != nil {
		after := *d.After
		change.After = &after
		switch {
		case d.needsContent():
			change.Content = d.content
			if o := d.content.Origin; o != nil {
				change.Origin = o.Path
			}
		case after.Kind == changeset.File:
			change.After.SHA256 = "" // stays, whatever it is
		}
		if ok, err := r.parents(filepath.Dir(d.Path)); err != nil || !ok {
			return "the directory that it belongs in is gone, and something else is in its place", err
		}
	}
	r.changes = append(r.changes, change)
	if change.After != nil {
		r.will[d.Path] = change.After.Kind
	}
	return "", nil
}

// parents makes sure that path will be a directory.
func (r *repair) parents(path string) (bool, error) {
	if kind, ok := r.will[path]; ok {
		return kind == changeset.Dir, nil
	}
	st, err := r.x.set.Lstat(path)
	if err == nil || !fsroot.IsMissing(err) {
		return err == nil && st.Kind() == changeset.Dir, nil
	}
	if _, rel, ok := r.x.set.Locate(path); !ok || rel == "." {
		return false, nil
	}
	if ok, err := r.parents(filepath.Dir(path)); err != nil || !ok {
		return false, err
	}
	r.changes = append(r.changes, changeset.Change{Path: path, After: &changeset.State{
		Kind: changeset.Dir, Mode: 0o755, UID: changeset.KeepOwner, GID: changeset.KeepOwner,
	}})
	r.will[path] = changeset.Dir
	return true, nil
}
