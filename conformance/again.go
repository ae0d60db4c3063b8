package conformance

import (
	"context"
	"errors"
	"fmt"

	"steps.example/interp"
	"steps.example/interp/commit"
	"steps.example/steps"
)

// again applies the job a second time, on the tree that the first left, and holds
// that to what the schema says of its step: "yes" means that nothing is to change.
// A case with several steps, which may undo each other's work, and a step that
// promises nothing, may fail, and then change nothing, or change something, which
// undo then takes back.
func (r *runner) again(ctx context.Context, job interp.Job, store *commit.Store) error {
	first, err := ReadTree(r.root)
	if err != nil {
		return err
	}
	done, err := interp.Apply(ctx, job, r.host, interp.ApplyOptions{Store: store})
	if list := job.Document.Blocks[0].Steps; len(list) == 1 && steps.Describe(list[0].Type()).Again == "yes" {
		switch {
		case err != nil:
			return fmt.Errorf("%s fails the second time, though the schema says that it changes nothing then: %w", list[0].Type(), err)
		case done.Receipt != nil:
			return fmt.Errorf("%s changes something the second time, though the schema says that it does not", list[0].Type())
		}
		return nil
	}
	if err == nil && done.Receipt != nil {
		err = store.Undo(done.Receipt.ID)
		if err != nil {
			return fmt.Errorf("undo of a second apply: %w", err)
		}
	}
	return errors.Join(r.sameTree(first, "after a second apply that failed or was taken back"), r.leftNothing())
}
