package interp

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/commit"
)

// leavable are the refusals of steps that force leaves out. What only lacks approval
// can be had.
func (w *work) leavable(list []Refusal) []Refusal {
	var out []Refusal
	for _, r := range list {
		if r.Step > 0 && w.jobs[r.job].stored && r.Approval == "" && !r.passing() {
			out = append(out, r)
		}
	}
	return out
}

// passing reports whether the same step may well be done at another time: others have
// changed the tree, the machine has run out of something, or the way to catch what a
// command writes, which the user chose, is not possible here.
func (r Refusal) passing() bool {
	if r.Rule == "moved" || errors.Is(r.err, ErrNoLayers) {
		return true
	}
	return slices.ContainsFunc([]unix.Errno{
		unix.ENOSPC, unix.EDQUOT, unix.EROFS, unix.EIO, unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.EAGAIN,
	}, func(e unix.Errno) bool { return errors.Is(r.err, e) })
}

// leaveOut leaves steps out from now on, and reports whether one is new among them.
func (w *work) leaveOut(list []Refusal) (more bool) {
	for _, r := range list {
		job := &w.jobs[r.job]
		if job.skip == nil {
			job.skip = map[int]bool{}
		}
		if !job.skip[r.Step] {
			job.skip[r.Step], more = true, true
			w.skipped = append(w.skipped, r)
		}
	}
	slices.SortStableFunc(w.skipped, func(a, b Refusal) int { return a.Step - b.Step })
	return more
}

// behind are the refusals of steps of job, the kth, that are behind an error of its
// execution. What one step did may be refused only when a later one is at work.
func behind(err error, k int, job Job) []Refusal {
	p := &Plan{}
	step, failed := errors.AsType[*StepError](err)
	refused, _ := errors.AsType[*RefusedError](err)
	if refused != nil {
		for _, r := range refused.Refusals {
			if r.Approval != "" {
				return nil
			}
			if r.Step > 0 && (!failed || r.Step != step.Step) {
				p.Refused = append(p.Refused, r)
			}
		}
	}
	if failed && len(p.Refused) == 0 {
		p.refuse(err)
	}
	p.attribute(0, k, job)
	return p.Refused
}

// notKnown says that the steps of a removal are left out since they are not known.
func notKnown(err error) []Refusal {
	return []Refusal{{Rule: "step", Reason: err.Error(), err: err}}
}

// maxReason bounds, in bytes, the reason in a receipt for leaving a step out.
const maxReason = 4096

// forReceipt is what a receipt says of a step that was left out. A name that is not
// UTF-8 must not stand in its way.
func (r Refusal) forReceipt() commit.Skipped {
	return commit.Skipped{Step: r.Step, Reason: strings.ToValidUTF8(r.Reason[:min(len(r.Reason), maxReason)], "\ufffd")}
}
