package interp

import (
	"testing"

	"steps.example/steps"
)

// TestDecide is the manual's table. B is the base, D what is on disk, N the new
// content; a letter stands for equal ones.
func TestDecide(t *testing.T) {
	t.Parallel()
	modes := []string{steps.PreserveKeep, steps.PreserveReplace, steps.PreserveRenameOld, steps.PreserveRenameNew, steps.PreserveMerge}
	none := "-"
	for _, tc := range []struct {
		name    string
		b, d, n string
		odd     bool
		want    [5]outcome
	}{
		{"first time", none, none, "N", false, [5]outcome{putNew, putNew, putNew, putNew, putNew}},
		{"user's file", none, "D", "N", false, [5]outcome{leaveIt, putNew, moveOld, newBeside, newBeside}},
		{"user's file, the same", none, "N", "N", false, [5]outcome{leaveIt, leaveIt, leaveIt, leaveIt, leaveIt}},
		{"nothing new", "B", "B", "B", false, [5]outcome{leaveIt, leaveIt, leaveIt, leaveIt, leaveIt}},
		{"package changed", "B", "B", "N", false, [5]outcome{putNew, putNew, putNew, putNew, putNew}},
		{"user changed", "B", "D", "B", false, [5]outcome{leaveIt, putNew, leaveIt, leaveIt, leaveIt}},
		{"both changed alike", "B", "N", "N", false, [5]outcome{leaveIt, leaveIt, leaveIt, leaveIt, leaveIt}},
		{"both changed", "B", "D", "N", false, [5]outcome{leaveIt, putNew, moveOld, newBeside, mergeBoth}},
		{"user removed it", "B", none, "B", false, [5]outcome{leaveIt, putNew, leaveIt, leaveIt, leaveIt}},
		{"user removed it, package changed", "B", none, "N", false, [5]outcome{leaveIt, putNew, putNew, newBeside, newBeside}},
		{"a directory", none, "D", "N", true, [5]outcome{leaveIt, failOdd, failOdd, failOdd, failOdd}},
		{"a directory in its place", "B", "D", "B", true, [5]outcome{leaveIt, failOdd, failOdd, failOdd, failOdd}},
	} {
		s := situation{
			nothing: tc.d == none, odd: tc.odd, known: tc.b != none,
			hereIsNew: tc.d == tc.n, hereIsBase: tc.b != none && tc.d == tc.b, baseIsNew: tc.b == tc.n,
		}
		for i, mode := range modes {
			if got := decide(mode, s); got != tc.want[i] {
				t.Errorf("%s: %s gives %d, want %d", tc.name, mode, got, tc.want[i])
			}
		}
	}
}
