package commit

import (
	"testing"

	"steps.example/interp/changeset"
)

// What a package made that is gone belongs to the first one that uses it, also as the
// owners' file has it.
func TestOwnersUses(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	x := fileState("x")
	uses := func(n int, name string) {
		r := receipt(n, name)
		r.Uses = []Adopted{{Path: "/r/x", State: x}}
		putReceipt(t, s, r)
	}
	putReceipt(t, s, receipt(1, "a", changeset.Change{Path: "/r/x", After: x}))
	uses(2, "b")
	uses(3, "c")
	check := func(want string, users, others int) {
		t.Helper()
		for range 2 { // the second time from the file
			o := owners(t, s)
			owner, _ := o.Of("/r/x")
			if owner.Package.Name != want || want != "" && !owner.Made || o.Shared("/r") != users {
				t.Errorf("/r/x is of %q (%v), and %d use /r; want %q, %d", owner.Package.Name, owner.Made, o.Shared("/r"), want, users)
			}
			if by := o.UsedBy("/r/x", Identity{"generic", "b"}, ""); len(by) != others {
				t.Errorf("used by %v", by)
			}
		}
	}
	check("a", 3, 1)
	gone := receipt(4, "a")
	gone.Action = ActionUninstall
	putReceipt(t, s, gone)
	check("b", 2, 1)
	putReceipt(t, s, receipt(5, "d", changeset.Change{Path: "/r/x", Before: x}))
	check("", 2, 1) // what d deleted is nobody's; b and c count on it all the same
}
