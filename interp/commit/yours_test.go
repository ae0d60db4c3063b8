package commit

import (
	"testing"

	"steps.example/interp/changeset"
)

func TestYours(t *testing.T) {
	t.Parallel()
	file := func(mode uint32) *changeset.State {
		return &changeset.State{Kind: changeset.File, Mode: mode, Size: 1, SHA256: hashHex([]byte("x"))}
	}
	makes := func(path string) *Receipt {
		return &Receipt{Changeset: &changeset.Changeset{Changes: []changeset.Change{{Path: path, After: file(0o644)}}}}
	}
	chmods := func(path string) *Receipt {
		return &Receipt{Changeset: &changeset.Changeset{Changes: []changeset.Change{{Path: path, Before: file(0o644), After: file(0o600)}}}}
	}
	leaves := func(r *Receipt, path string) *Receipt {
		r.Yours = append(r.Yours, path)
		return r
	}
	none := func() *Receipt { return &Receipt{Changeset: &changeset.Changeset{}} }
	for name, tc := range map[string]struct {
		receipts      []*Receipt
		content, mode bool
	}{
		"made":                {[]*Receipt{makes("/f")}, false, false},
		"left":                {[]*Receipt{makes("/f"), leaves(none(), "/f")}, true, true},
		"left, other path":    {[]*Receipt{makes("/f"), leaves(none(), "/g")}, false, false},
		"spared":              {[]*Receipt{makes("/f"), {Changeset: &changeset.Changeset{}, Spared: []Spared{{Path: "/f"}}}}, true, true},
		"left and then made":  {[]*Receipt{makes("/f"), leaves(none(), "/f"), makes("/f")}, false, false},
		"left and adopted":    {[]*Receipt{makes("/f"), leaves(none(), "/f"), {Changeset: &changeset.Changeset{}, Adopted: []Adopted{{Path: "/f", State: file(0o644)}}}}, false, false},
		"left, mode set":      {[]*Receipt{makes("/f"), leaves(chmods("/f"), "/f")}, true, false},
		"left, mode set then": {[]*Receipt{makes("/f"), leaves(none(), "/f"), chmods("/f")}, true, false},
		"put beside":          {[]*Receipt{leaves(makes("/f"), "/f")}, true, false},
	} {
		y := YoursIn(tc.receipts)
		if y.Covers(Drift{Path: "/f", Kind: DriftContent}) != tc.content || y.Covers(Drift{Path: "/f", Kind: DriftMissing}) != tc.content || y.Covers(Drift{Path: "/f", Kind: DriftMode}) != tc.mode {
			t.Errorf("%s: %v", name, y)
		}
	}
}
