package changeset

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestVerb(t *testing.T) {
	t.Parallel()
	hashed := func(sum string) *State { return &State{Kind: File, Mode: 0o644, Size: 3, SHA256: sum} }
	for _, tc := range []struct {
		name  string
		c     Change
		want  Verb
		keeps bool
	}{
		{"create", Change{After: fileState(0o644), Content: bytesOf("abc")}, Create, false},
		{"create a directory", Change{After: dirState(0o755)}, Create, false},
		{"delete", Change{Before: fileState(0o644)}, Delete, false},
		{"chmod", Change{Before: fileState(0o644), After: fileState(0o600)}, Modify, true},
		{"chmod a directory", Change{Before: dirState(0o755), After: dirState(0o700)}, Modify, true},
		{"chown", Change{Before: fileState(0o644), After: owned(fileState(0o644), 1, 1)}, Modify, true},
		{"chown a link", Change{Before: linkState("a"), After: owned(linkState("a"), 1, 1)}, Modify, true},
		{"touch", Change{Before: fileState(0o644), After: &State{Kind: File, Mode: 0o644, Size: 3, MTime: 9}}, Modify, true},
		{"chmod of a file whose bytes are known", Change{Before: hashed("aa"), After: &State{Kind: File, Mode: 0o600, Size: 3, SHA256: "aa"}}, Modify, true},
		{"new bytes", Change{Before: fileState(0o644), After: fileState(0o644), Content: bytesOf("xyz")}, Replace, false},
		{"new bytes, by hash", Change{Before: hashed("aa"), After: hashed("bb")}, Replace, false},
		{"copied over", Change{Before: fileState(0o644), After: fileState(0o644), Origin: "/r/b"}, Replace, false},
		{"new link text", Change{Before: linkState("a"), After: linkState("b")}, Replace, false},
		{"another kind", Change{Before: fileState(0o644), After: dirState(0o755)}, Replace, false},
		{"move", Change{From: "/r/b", After: fileState(0o644)}, Move, false},
		{"move over another", Change{From: "/r/b", Before: fileState(0o644), After: fileState(0o644)}, Move, false},
		{"move a directory over another", Change{From: "/r/b", Before: dirState(0o755), After: dirState(0o755)}, Move, false},
		{"nothing at all", Change{}, Delete, false},
	} {
		tc.c.Path = "/r/a"
		if got := tc.c.Verb(); got != tc.want {
			t.Errorf("%s: verb %q, want %q", tc.name, got, tc.want)
		}
		if got := tc.c.KeepsObject(); got != tc.keeps {
			t.Errorf("%s: KeepsObject %t, want %t", tc.name, got, tc.keeps)
		}
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	var none *Changeset
	if !none.Empty() || !(&Changeset{}).Empty() {
		t.Error("nothing is not empty")
	}
	if (&Changeset{Changes: []Change{{Path: "/r"}}}).Empty() {
		t.Error("something is empty")
	}
}

// sample draws a changeset as the view makes them: sorted, at most one change a
// path, moves of objects that are gone from, or replaced at, where they were.
func sample(t *rapid.T) *Changeset {
	states := func(label string) *State {
		mode := rapid.SampledFrom([]uint32{0o644, 0o755, 0o4755}).Draw(t, label+" mode")
		return rapid.SampledFrom([]*State{fileState(mode), dirState(mode), linkState("a"), linkState("/etc")}).Draw(t, label)
	}
	cs := &Changeset{}
	paths := []string{"/r/a", "/r/a/b", "/r/b", "/r/c", "/r/d"}
	for i, p := range paths {
		c := Change{Path: p, Steps: []int{i + 1}}
		if rapid.Bool().Draw(t, "before") {
			c.Before = states("before")
		}
		if c.Before == nil || rapid.Bool().Draw(t, "after") {
			c.After = states("after")
		}
		cs.Changes = append(cs.Changes, c)
	}
	taken := map[int]bool{}
	for i := range cs.Changes {
		from := rapid.IntRange(0, len(paths)-1).Draw(t, "from")
		c := &cs.Changes[i]
		if from != i && !taken[from] && c.After != nil && cs.Changes[from].Before != nil && rapid.Bool().Draw(t, "moved") {
			c.From = paths[from]
			taken[from] = true
		}
	}
	cs.Sort()
	return cs
}

func TestInverse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cs := sample(t)
		inv := cs.Inverse()
		if len(inv.Changes) != len(cs.Changes) {
			t.Fatalf("%d changes of %d", len(inv.Changes), len(cs.Changes))
		}
		at := map[string]Change{}
		for i, c := range inv.Changes {
			at[c.Path] = c
			was := cs.Changes[i]
			if c.Path != was.Path || c.Before != was.After || c.After != was.Before {
				t.Errorf("%s: before and after are not swapped", was.Path)
			}
		}
		for _, c := range cs.Changes {
			if c.From != "" && at[c.From].From != c.Path {
				t.Errorf("%s came from %s; the way back leads from %q", c.Path, c.From, at[c.From].From)
			}
		}
		if diff := cmp.Diff(cs, inv.Inverse()); diff != "" {
			t.Errorf("there and back is not the same (-want +got)\n%s", diff)
		}
	})
}

func TestInverseCarriesNoContent(t *testing.T) {
	t.Parallel()
	cs := &Changeset{Changes: []Change{{
		Path: "/r/a", Before: fileState(0o644), After: fileState(0o644), Stamp: &Stamp{Ino: 1},
		Content: &Content{Origin: &Origin{Path: "/r/b"}}, Origin: "/r/b", Steps: []int{4},
	}}}
	want := []Change{{Path: "/r/a", Before: fileState(0o644), After: fileState(0o644), Steps: []int{4}}}
	if diff := cmp.Diff(want, cs.Inverse().Changes); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestInverseOfChain(t *testing.T) {
	t.Parallel()
	// a goes to b, b to c, c goes away.
	cs := &Changeset{Changes: []Change{
		{Path: "/r/a", Before: fileState(0o600)},
		{Path: "/r/b", Before: fileState(0o640), After: fileState(0o600), From: "/r/a"},
		{Path: "/r/c", Before: fileState(0o644), After: fileState(0o640), From: "/r/b"},
	}}
	want := []Change{
		{Path: "/r/a", After: fileState(0o600), From: "/r/b"},
		{Path: "/r/b", Before: fileState(0o600), After: fileState(0o640), From: "/r/c"},
		{Path: "/r/c", Before: fileState(0o640), After: fileState(0o644)},
	}
	if diff := cmp.Diff(want, cs.Inverse().Changes); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	base := func() *Changeset {
		return &Changeset{Changes: []Change{
			{Path: "/r/a", Before: fileState(0o644), After: &State{Kind: File, Mode: 0o644, Size: 3, MTime: 5}, Stamp: &Stamp{Ino: 7, MTime: 1, CTime: 1}, Steps: []int{1}},
			{
				Path: "/r/b", After: fileState(0o644), Origin: "/r/o",
				Content: &Content{Origin: &Origin{Path: "/r/o", Stamp: Stamp{Ino: 8, Size: 3, MTime: 2}}},
			},
			{Path: "/r/c", After: linkState("x"), Steps: []int{2}},
		}}
	}
	want := base().Digest()
	if len(want) != 64 {
		t.Errorf("digest %q", want)
	}
	for _, tc := range []struct {
		name   string
		change func(*Changeset)
		same   bool
	}{
		{"nothing", func(*Changeset) {}, true},
		{"another time of a touch", func(cs *Changeset) { cs.Changes[0].After.MTime = 6 }, true},
		{"no touch", func(cs *Changeset) { cs.Changes[0].After.MTime = 0 }, false},
		{"another object", func(cs *Changeset) { cs.Changes[0].Stamp.Ino = 9 }, false},
		{"an object that changed", func(cs *Changeset) { cs.Changes[0].Stamp.CTime = 2 }, false},
		{"another path", func(cs *Changeset) { cs.Changes[2].Path = "/r/d" }, false},
		{"another path, not in UTF-8", func(cs *Changeset) { cs.Changes[2].Path = "/r/\xff" }, false},
		{"another target", func(cs *Changeset) { cs.Changes[2].After.Target = "y" }, false},
		{"another mode", func(cs *Changeset) { cs.Changes[1].After.Mode = 0o600 }, false},
		{"other bytes", func(cs *Changeset) { cs.Changes[1].After.SHA256 = "aa" }, false},
		{"another source", func(cs *Changeset) { cs.Changes[1].Origin = "/r/p" }, false},
		{"a source that changed", func(cs *Changeset) { cs.Changes[1].Content.Origin.Stamp.MTime = 3 }, false},
		{"a source that is another object", func(cs *Changeset) { cs.Changes[1].Content.Origin.Stamp.Ino = 9 }, false},
		{"a move", func(cs *Changeset) { cs.Changes[2].From = "/r/l" }, false},
		{"one change less", func(cs *Changeset) { cs.Changes = cs.Changes[:2] }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cs := base()
			tc.change(cs)
			before, _ := json.Marshal(cs)
			if got := cs.Digest(); (got == want) != tc.same {
				t.Errorf("digest is the same: %t, want %t", got == want, tc.same)
			}
			if after, _ := json.Marshal(cs); string(after) != string(before) {
				t.Error("Digest changed what it looked at")
			}
		})
	}
}

// TestDigestTellsBytesApart: paths are bytes; two that are no UTF-8 are two.
func TestDigestTellsBytesApart(t *testing.T) {
	t.Parallel()
	of := func(path, target string) string {
		return (&Changeset{Changes: []Change{{Path: path, After: linkState(target)}}}).Digest()
	}
	if of("/r/\xfe", "a") == of("/r/\xff", "a") {
		t.Error("two paths have one digest")
	}
	if of("/r/a", "\xfe") == of("/r/a", "\xff") {
		t.Error("two link texts have one digest")
	}
}

func TestStampUnchanged(t *testing.T) {
	t.Parallel()
	file := Stamp{Dev: 1, Ino: 2, Mode: 0o100644, UID: 3, GID: 4, Nlink: 1, Size: 5, MTime: 6, CTime: 7}
	dir := Stamp{Dev: 1, Ino: 2, Mode: 0o040755, UID: 3, GID: 4, Nlink: 2, Size: 5, MTime: 6, CTime: 7}
	for _, tc := range []struct {
		name      string
		change    func(*Stamp)
		file, dir bool
	}{
		{"nothing", func(*Stamp) {}, true, true},
		{"device", func(s *Stamp) { s.Dev++ }, false, false},
		{"inode", func(s *Stamp) { s.Ino++ }, false, false},
		{"mode", func(s *Stamp) { s.Mode ^= 0o100 }, false, false},
		{"owner", func(s *Stamp) { s.UID++ }, false, false},
		{"group", func(s *Stamp) { s.GID++ }, false, false},
		{"size", func(s *Stamp) { s.Size++ }, false, true},
		{"time", func(s *Stamp) { s.MTime++ }, false, true},
		{"change time", func(s *Stamp) { s.CTime++ }, false, true},
	} {
		for _, now := range []struct {
			stamp Stamp
			want  bool
		}{{file, tc.file}, {dir, tc.dir}} {
			other := now.stamp
			tc.change(&other)
			if got := now.stamp.Unchanged(other); got != now.want {
				t.Errorf("%s of a %s: unchanged %t, want %t", tc.name, now.stamp.Kind(), got, now.want)
			}
		}
	}
}

func TestStampState(t *testing.T) {
	t.Parallel()
	for mode, want := range map[uint32]State{
		0o104755: {Kind: File, Mode: 0o4755, UID: 3, GID: 4, Size: 5},
		0o042775: {Kind: Dir, Mode: 0o2775, UID: 3, GID: 4},
		0o120777: {Kind: Symlink, UID: 3, GID: 4},
		0o010644: {Kind: Other, Mode: 0o644, UID: 3, GID: 4},
		0o060600: {Kind: Other, Mode: 0o600, UID: 3, GID: 4},
	} {
		if got := (Stamp{Mode: mode, UID: 3, GID: 4, Size: 5}).State(); *got != want {
			t.Errorf("%o: %+v, want %+v", mode, *got, want)
		}
	}
}

func TestStateString(t *testing.T) {
	t.Parallel()
	for want, st := range map[string]*State{
		"nothing":           nil,
		"file 0644":         fileState(0o644),
		"dir 2755":          dirState(0o2755),
		`symlink to "a\nb"`: linkState("a\nb"),
	} {
		if got := st.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSameOwner(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b [2]int
		want bool
	}{
		{[2]int{1, 2}, [2]int{1, 2}, true},
		{[2]int{1, 2}, [2]int{2, 2}, false},
		{[2]int{1, 2}, [2]int{1, 3}, false},
		{[2]int{KeepOwner, 2}, [2]int{5, 2}, true},
		{[2]int{1, 2}, [2]int{KeepOwner, KeepOwner}, true},
		{[2]int{KeepOwner, 2}, [2]int{5, 3}, false},
	} {
		a, b := owned(fileState(0), tc.a[0], tc.a[1]), owned(fileState(0), tc.b[0], tc.b[1])
		if a.SameOwner(b) != tc.want || b.SameOwner(a) != tc.want {
			t.Errorf("%v and %v: want %t", tc.a, tc.b, tc.want)
		}
	}
}
