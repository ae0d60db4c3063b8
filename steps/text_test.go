package steps

import "testing"

func TestBeneath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		".": true, "a": true, "a/b": true, "a/./b/../c": true, "a/..": true, "a//..": true, "a/../b/../c": true,
		"a/b/../..": true, "a/b/c/d/../../../..": true, "...": true, "a/...": true, "..a": true, "a../..": true, "./.": true,
		"..": false, "../a": false, "a/../..": false, "a/../../b": false, "./..": false, "a/./../..": false, "a//../..": false,
		// One more than maxUndo.
		"a/b/c/d/e/../../../../..": false, "a/b/c/d/e/../../../..": true,
	} {
		if got := beneath(path); got != want {
			t.Errorf("%s: got %t, want %t", path, got, want)
		}
	}
}
