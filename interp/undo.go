package interp

import (
	"context"
	"errors"
	"fmt"

	"steps.example/interp/commit"
)

// Undone is what an undo did.
type Undone struct {
	// By is the receipt of an undo that could not be exact, nil for an exact one,
	// which leaves none.
	By *commit.Receipt
	// Left are the paths that stay as they are, and why.
	Left []Left
}

// Undo takes back what a receipt says, exactly, and its receipt goes: it puts back
// what was there, whoever's that was. Where the tree moved since, or another package
// came to use what the receipt made, the error is a [*commit.DriftError] with all such
// paths, and nothing was changed.
//
// With force, those paths stay as they are, and all others are taken back, files as
// copies as in [Installation.Remove], in one transaction whose receipt says what was
// left; undo of that one brings them again. The receipt stays, and counts for nothing
// any more. So it is with a receipt whose record of what it replaced is damaged: what
// was there before is then lost.
func Undo(ctx context.Context, id string, host Host, opt ApplyOptions, force bool) (*Undone, error) {
	err := opt.Store.Undo(id)
	if err == nil {
		return &Undone{}, nil
	}
	if !errors.Is(err, commit.ErrDrift) && !errors.Is(err, commit.ErrMoved) && !errors.Is(err, commit.ErrDamaged) {
		return nil, err
	}
	r, readErr := opt.Store.Receipt(id)
	if readErr != nil {
		return nil, readErr
	}
	takenBack := func() error {
		owners, err := opt.Store.Owners()
		if err != nil {
			return err
		}
		if by, ok := owners.Undone(id); ok {
			return fmt.Errorf("receipt %s was taken back already, by receipt %s; undo that one to have it again", id, by)
		}
		return nil
	}
	if err := takenBack(); err != nil {
		return nil, err
	}
	if !force {
		return nil, err
	}
	out := &Undone{}
	done, err := transact(ctx, host, opt, work{
		verb: "undo", always: anyway, roots: r.Roots,
		ready: func() error {
			if _, err := opt.Store.Receipt(id); err != nil {
				return err
			}
			return takenBack()
		},
		last: func(x *executor) error {
			t := takeBack{x: x, self: r.Identity(), since: id, force: true}
			list := []*commit.Receipt{r}
			if err := t.plan((&Installation{Receipts: list}).net(), list); err != nil {
				return err
			}
			out.Left = t.left
			return x.apply(t.cs, x.freeRules(nil))
		},
		receipt: func(by *commit.Receipt) {
			if len(r.Triggers) > 0 {
				by.Settles = []string{id}
			}
			by.Action, by.Undoes, by.Package, by.Layout, by.Left = commit.ActionUndo, id, r.Package, r.Layout, out.Left
		},
	})
	if done != nil {
		out.By = done.Receipt
	}
	return out, err
}
