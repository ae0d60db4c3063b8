package changeset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func dirState(mode uint32) *State  { return &State{Kind: Dir, Mode: mode} }
func fileState(mode uint32) *State { return &State{Kind: File, Mode: mode, Size: 3} }
func linkState(to string) *State   { return &State{Kind: Symlink, Target: to} }

func owned(st *State, uid, gid int) *State {
	st.UID, st.GID = uid, gid
	return st
}

func bytesOf(s string) *Content { return &Content{Bytes: []byte(s)} }

// short is a violation as "rule path", with the approval that would lift it.
func short(found []Violation) []string {
	var out []string
	for _, v := range found {
		s := v.Rule + " " + v.Path
		if v.Approval != "" {
			s += " --approve " + v.Approval
		}
		out = append(out, s)
	}
	return out
}

func TestJudgeGrants(t *testing.T) {
	t.Parallel()
	grants := []Grant{
		{Dir: "/p", Access: Approve, Approval: "write:p"},
		{Dir: "/p/etc", Access: Write},
		{Dir: "/p/etc/state", Access: Read},
		{Dir: "/p/etc/state/open", Access: Write},
		{Dir: "/p/etc/mine", Access: Approve, Approval: "write:mine"},
	}
	for _, tc := range []struct {
		name, path string
		approved   []string
		want       []string
	}{
		{"under no grant", "/other/a", nil, []string{"grant /other/a"}},
		{"under no grant, everything approved", "/other/a", []string{"write:p", "write:mine"}, []string{"grant /other/a"}},
		{"a name that only begins alike", "/pp/a", []string{"write:p"}, []string{"grant /pp/a"}},
		{"a name that begins like an inner grant", "/p/etcetera", nil, []string{"grant /p/etcetera --approve write:p"}},
		{"write", "/p/etc/a", nil, nil},
		{"the directory of a grant itself", "/p/etc", nil, nil},
		{"approve, not approved", "/p/a", nil, []string{"grant /p/a --approve write:p"}},
		{"approve, another one approved", "/p/a", []string{"write:mine"}, []string{"grant /p/a --approve write:p"}},
		{"approve, approved", "/p/a", []string{"write:p"}, nil},
		{"approve inside write", "/p/etc/mine/a", []string{"write:p"}, []string{"grant /p/etc/mine/a --approve write:mine"}},
		{"approve inside write, approved", "/p/etc/mine/a", []string{"write:mine"}, nil},
		{"read inside write", "/p/etc/state/a", nil, []string{"grant /p/etc/state/a"}},
		{"read inside write, itself", "/p/etc/state", nil, []string{"grant /p/etc/state"}},
		{"read lets nobody approve", "/p/etc/state/deep/er", []string{"write:p", "write:mine"}, []string{"grant /p/etc/state/deep/er"}},
		{"write inside read", "/p/etc/state/open/a", nil, nil},
		{"the root directory", "/", nil, []string{"grant /"}},
	} {
		for _, c := range []Change{
			{Path: tc.path, After: dirState(0o755)},
			{Path: tc.path, Before: fileState(0o644)},
			{Path: tc.path, Before: dirState(0o755), After: dirState(0o700)},
		} {
			t.Run(tc.name+"/"+string(c.Verb()), func(t *testing.T) {
				t.Parallel()
				got := short(Judge(&Changeset{Changes: []Change{c}}, Rules{Grants: grants, Approved: tc.approved}))
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				// The order in which a layout lists its grants means nothing.
				back := slices.Clone(grants)
				slices.Reverse(back)
				if again := short(Judge(&Changeset{Changes: []Change{c}}, Rules{Grants: back, Approved: tc.approved})); !slices.Equal(got, again) {
					t.Errorf("with the grants reversed: %q, not %q", again, got)
				}
			})
		}
	}
}

// TestJudgeGrantsOfNeighbours judges many paths in one changeset, where the
// grant of a directory is remembered from one path to the next, and one by one.
func TestJudgeGrantsOfNeighbours(t *testing.T) {
	t.Parallel()
	rules := Rules{Grants: []Grant{
		{Dir: "/r", Access: Write},
		{Dir: "/r/b", Access: Read},
		{Dir: "/r/b/c", Access: Write},
		{Dir: "/r/d", Access: Approve, Approval: "x"},
		{Dir: "/r/b/a", Access: Approve, Approval: "y"},
	}}
	var cs Changeset
	for _, p := range []string{
		"/r", "/r/a", "/r/b", "/r/b/a", "/r/b/a/z", "/r/b/b", "/r/b/c", "/r/b/c/x", "/r/b/c/y", "/r/b/d",
		"/r/bb", "/r/c", "/r/d", "/r/d/a", "/r/e", "/s",
	} {
		cs.Changes = append(cs.Changes, Change{Path: p, Before: fileState(0o644)})
	}
	cs.Sort()
	var want []string
	for _, c := range cs.Changes {
		want = append(want, short(Judge(&Changeset{Changes: []Change{c}}, rules))...)
	}
	if diff := cmp.Diff(want, short(Judge(&cs, rules))); diff != "" {
		t.Errorf("together it is not what it is one by one (-one by one +together)\n%s", diff)
	}
	if len(want) != 8 {
		t.Errorf("%d violations, want 8: %q", len(want), want)
	}
}

// all grants everything below /r.
func all(approved ...string) Rules {
	return Rules{Grants: []Grant{{Dir: "/r", Access: Write}}, Roots: []string{"/r", "/spelled"}, Approved: approved}
}

func TestJudgeSetID(t *testing.T) {
	t.Parallel()
	gone := func(path string, mode uint32) Change { return Change{Path: path, Before: fileState(mode)} }
	for _, tc := range []struct {
		name    string
		changes []Change
		refused bool
	}{
		{"create with set-user-id", []Change{{Path: "/r/a", After: fileState(0o4755), Content: bytesOf("new")}}, true},
		{"create with set-group-id", []Change{{Path: "/r/a", After: fileState(0o2755), Content: bytesOf("new")}}, true},
		{"create with the sticky bit", []Change{{Path: "/r/a", After: fileState(0o1755), Content: bytesOf("new")}}, false},
		{"create a directory with set-group-id", []Change{{Path: "/r/a", After: dirState(0o2755)}}, false},
		{"copy", []Change{{Path: "/r/a", After: fileState(0o4755), Origin: "/r/b", Content: &Content{Origin: &Origin{Path: "/r/b"}}}}, true},
		{"copy over a file that has it", []Change{{Path: "/r/a", Before: fileState(0o4755), After: fileState(0o4755), Origin: "/r/b", Content: &Content{Origin: &Origin{Path: "/r/b"}}}}, true},
		{"chmod adds it", []Change{{Path: "/r/a", Before: fileState(0o755), After: fileState(0o4755)}}, true},
		{"chmod adds the other one", []Change{{Path: "/r/a", Before: fileState(0o4755), After: fileState(0o6755)}}, true},
		{"chmod swaps one for the other", []Change{{Path: "/r/a", Before: fileState(0o4755), After: fileState(0o2755)}}, true},
		{"chmod takes one away", []Change{{Path: "/r/a", Before: fileState(0o6755), After: fileState(0o4755)}}, false},
		{"chmod keeps it", []Change{{Path: "/r/a", Before: fileState(0o4755), After: fileState(0o4711)}}, false},
		{"chown keeps it", []Change{{Path: "/r/a", Before: fileState(0o4755), After: owned(fileState(0o4755), 7, 0)}}, true},
		{"chgrp keeps it", []Change{{Path: "/r/a", Before: fileState(0o4755), After: owned(fileState(0o4755), 0, 7)}}, true},
		{"content changes, bit stays", []Change{{Path: "/r/a", Before: fileState(0o4755), After: fileState(0o4755), Content: bytesOf("new")}}, true},
		{"content that a command changed", []Change{{
			Path:   "/r/a",
			Before: &State{Kind: File, Mode: 0o4755, Size: 3, SHA256: "aa"},
			After:  &State{Kind: File, Mode: 0o4755, Size: 3, SHA256: "bb"},
		}}, true},
		{"a link becomes it", []Change{{Path: "/r/a", Before: linkState("b"), After: fileState(0o4755), Content: bytesOf("new")}}, true},
		{"move keeps it", []Change{gone("/r/a", 0o4755), {Path: "/r/b", From: "/r/a", After: fileState(0o4755)}}, false},
		{"move over another", []Change{gone("/r/a", 0o4755), {Path: "/r/b", Before: fileState(0o644), From: "/r/a", After: fileState(0o4755)}}, false},
		{"move over one that has it", []Change{gone("/r/a", 0o644), {Path: "/r/b", Before: fileState(0o4755), From: "/r/a", After: fileState(0o4755)}}, true},
		{"move and chmod gain it", []Change{gone("/r/a", 0o755), {Path: "/r/b", From: "/r/a", After: fileState(0o4755)}}, true},
		{"move and chown keep it", []Change{gone("/r/a", 0o4755), {Path: "/r/b", From: "/r/a", After: owned(fileState(0o4755), 7, 0)}}, true},
		{"moved from where nothing is known", []Change{{Path: "/r/b", From: "/r/a", After: fileState(0o4755)}}, true},
		{"swap keeps it where it was", []Change{
			{Path: "/r/a", Before: fileState(0o4755), After: fileState(0o755), From: "/r/b"},
			{Path: "/r/b", Before: fileState(0o755), After: fileState(0o4755), From: "/r/a"},
		}, false},
		{"delete", []Change{gone("/r/a", 0o6755)}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			found := Judge(&Changeset{Changes: tc.changes}, all())
			if refused := len(found) > 0; refused != tc.refused {
				t.Fatalf("found %q, refused should be %t", short(found), tc.refused)
			}
			for _, v := range found {
				if v.Rule != "set-id" || v.Approval != SetIDCapability {
					t.Errorf("found %+v", v)
				}
			}
			if found := Judge(&Changeset{Changes: tc.changes}, all(SetIDCapability)); len(found) > 0 {
				t.Errorf("approved, and still %q", short(found))
			}
		})
	}
}

func TestJudgeLinks(t *testing.T) {
	t.Parallel()
	create := func(path, to string) []Change { return []Change{{Path: path, After: linkState(to)}} }
	for _, tc := range []struct {
		name    string
		changes []Change
		refused bool
	}{
		{"absolute, inside", create("/r/a", "/r/b/c"), false},
		{"absolute, the root itself", create("/r/a", "/r"), false},
		{"absolute, through another spelling", create("/r/a", "/spelled/x"), false},
		{"absolute, outside", create("/r/a", "/etc/passwd"), true},
		{"absolute, a name that begins alike", create("/r/a", "/rest"), true},
		{"absolute, the root directory", create("/r/a", "/"), true},
		{"absolute, out by dots", create("/r/a", "/r/../etc"), true},
		{"absolute, dots after a name that stay inside", create("/r/a", "/r/b/../c"), true},
		{"relative, dots after a name that stay inside", create("/r/d/a", "b/../c"), true},
		{"relative, a single dot first", create("/r/d/a", "./../b"), false},
		{"relative, inside", create("/r/d/a", "../b"), false},
		{"relative, up to the root", create("/r/d/a", ".."), false},
		{"relative, outside", create("/r/d/a", "../../etc"), true},
		{"relative, far outside", create("/r/a", "../../../../etc"), true},
		{"relative, out by dots inside", create("/r/d/a", "b/../../../etc"), true},
		{"dangling, inside", create("/r/a", "nowhere"), false},
		{"a new text", []Change{{Path: "/r/a", Before: linkState("b"), After: linkState("/etc")}}, true},
		{"one that leads out already, its owner changed", []Change{{Path: "/r/a", Before: linkState("/etc"), After: owned(linkState("/etc"), 7, 7)}}, false},
		{"one that leads out already, deleted", []Change{{Path: "/r/a", Before: linkState("/etc")}}, false},
		{"one that leads out already, moved", []Change{
			{Path: "/r/a", Before: linkState("/etc")}, {Path: "/r/b", From: "/r/a", After: linkState("/etc")},
		}, true},
		{"a relative one moved so that it leads out", []Change{
			{Path: "/r/b", From: "/r/d/a", After: linkState("../x")}, {Path: "/r/d/a", Before: linkState("../x")},
		}, true},
		{"a relative one moved so that it stays inside", []Change{
			{Path: "/r/a", Before: linkState("x")}, {Path: "/r/d/b", From: "/r/a", After: linkState("x")},
		}, false},
		{"one moved with its directory", []Change{
			{Path: "/r/d/e", Before: dirState(0o755)}, {Path: "/r/d/e/l", Before: linkState("../../x")},
			{Path: "/r/e", From: "/r/d/e", After: dirState(0o755)}, {Path: "/r/e/l", From: "/r/d/e/l", After: linkState("../../x")},
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			found := Judge(&Changeset{Changes: tc.changes}, all())
			if refused := len(found) > 0; refused != tc.refused {
				t.Fatalf("found %q, refused should be %t", short(found), tc.refused)
			}
			for _, v := range found {
				if v.Rule != "link" || v.Approval != LinkOutCapability {
					t.Errorf("found %+v", v)
				}
			}
			if found := Judge(&Changeset{Changes: tc.changes}, all(LinkOutCapability)); len(found) > 0 {
				t.Errorf("approved, and still %q", short(found))
			}
		})
	}
}

func TestJudgeProtected(t *testing.T) {
	t.Parallel()
	rules := all(SetIDCapability, LinkOutCapability)
	rules.Grants = append(rules.Grants, Grant{Dir: "/r/state/open", Access: Write})
	rules.Protected = []string{"/r/state", "/r/deep/er/state"}
	moved := func(from, to string) []Change {
		return []Change{{Path: from, Before: dirState(0o755)}, {Path: to, From: from, After: dirState(0o755)}}
	}
	for _, tc := range []struct {
		name    string
		changes []Change
		refused bool
	}{
		{"create in it", []Change{{Path: "/r/state/x", After: dirState(0o755)}}, true},
		{"create in it, where a grant lies", []Change{{Path: "/r/state/open/x", After: dirState(0o755)}}, true},
		{"its own mode", []Change{{Path: "/r/state", Before: dirState(0o700), After: dirState(0o755)}}, true},
		{"delete it", []Change{{Path: "/r/state", Before: dirState(0o700)}}, true},
		{"a name that begins alike", []Change{{Path: "/r/states", After: dirState(0o755)}}, false},
		{"delete what it is in", []Change{{Path: "/r/deep", Before: dirState(0o700)}}, true},
		{"move what it is in", moved("/r/deep/er", "/r/x"), true},
		{"something moved onto what it is in", []Change{{Path: "/r/deep/er", Before: dirState(0o755), From: "/r/x", After: dirState(0o755)}}, true},
		{"replace what it is in", []Change{{Path: "/r/deep", Before: dirState(0o755), After: linkState("/r/x")}}, true},
		{"the mode of what it is in", []Change{{Path: "/r/deep", Before: dirState(0o755), After: dirState(0o700)}}, false},
		{"its neighbour", []Change{{Path: "/r/deep/er/other", Before: dirState(0o755)}}, false},
	} {
		found := short(Judge(&Changeset{Changes: tc.changes}, rules))
		if refused := len(found) > 0; refused != tc.refused {
			t.Errorf("%s: found %q, refused should be %t", tc.name, found, tc.refused)
		}
		for _, v := range found {
			if !strings.HasPrefix(v, "protected ") || strings.Contains(v, "--approve") {
				t.Errorf("%s: found %q", tc.name, v)
			}
		}
	}
}

func TestJudgeSharedDirectories(t *testing.T) {
	t.Parallel()
	rules := all()
	rules.Grants = append(rules.Grants, Grant{Dir: "/r/etc", Access: Write})
	for _, tc := range []struct {
		name    string
		changes []Change
		refused bool
	}{
		{"make it", []Change{{Path: "/r/etc", After: dirState(0o755)}}, false},
		{"fill it", []Change{{Path: "/r/etc/a", After: dirState(0o755)}}, false},
		{"empty it", []Change{{Path: "/r/etc/a", Before: dirState(0o755)}}, false},
		{"its mode", []Change{{Path: "/r/etc", Before: dirState(0o755), After: dirState(0o700)}}, false},
		{"remove it", []Change{{Path: "/r/etc", Before: dirState(0o755)}}, true},
		{"move it away", []Change{{Path: "/r/etc", Before: dirState(0o755)}, {Path: "/r/x", From: "/r/etc", After: dirState(0o755)}}, true},
		{"a link in its place", []Change{{Path: "/r/etc", Before: dirState(0o755), After: linkState("/r/x")}}, true},
		{"another directory in its place", []Change{{Path: "/r/etc", Before: dirState(0o755), From: "/r/x", After: dirState(0o755)}}, true},
		{"a link that is there goes", []Change{{Path: "/r/etc", Before: linkState("/r/x")}}, false},
	} {
		found := short(Judge(&Changeset{Changes: tc.changes}, rules))
		if refused := len(found) > 0; refused != tc.refused {
			t.Errorf("%s: found %q, refused should be %t", tc.name, found, tc.refused)
		}
		for _, v := range found {
			if v != "shared /r/etc" {
				t.Errorf("%s: found %q", tc.name, v)
			}
		}
	}
}

func TestJudgeNames(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		c       Change
		refused bool
	}{
		{"a path", Change{Path: "/r/\xff", After: dirState(0o755)}, true},
		{"a path that goes", Change{Path: "/r/\xff", Before: dirState(0o755)}, true},
		{"a link's text", Change{Path: "/r/a", After: linkState("\xff")}, true},
		{"the text of a link that goes", Change{Path: "/r/a", Before: linkState("\xff")}, true},
		{"letters of any kind", Change{Path: "/r/é漢", After: linkState("漢")}, false},
		{"a newline", Change{Path: "/r/a\nb", After: dirState(0o755)}, false},
	} {
		found := short(Judge(&Changeset{Changes: []Change{tc.c}}, all()))
		if refused := len(found) > 0; refused != tc.refused {
			t.Errorf("%s: found %q, refused should be %t", tc.name, found, tc.refused)
		}
		for _, v := range found {
			if !strings.HasPrefix(v, "name ") {
				t.Errorf("%s: found %q", tc.name, v)
			}
		}
	}
}

func TestJudgeKinds(t *testing.T) {
	t.Parallel()
	other := func(mode uint32) *State { return &State{Kind: Other, Mode: mode} }
	for _, tc := range []struct {
		name    string
		changes []Change
		refused bool
	}{
		{"make a FIFO or device", []Change{{Path: "/r/a", After: other(0o666)}}, true},
		{"put one in the place of a file", []Change{{Path: "/r/a", Before: fileState(0o644), After: other(0o644)}}, true},
		{"an unknown kind", []Change{{Path: "/r/a", After: &State{Kind: "portal"}}}, true},
		{"no kind", []Change{{Path: "/r/a", After: &State{}}}, true},
		{"chmod one that is there", []Change{{Path: "/r/a", Before: other(0o666), After: other(0o600)}}, false},
		{"move one that is there", []Change{{Path: "/r/a", Before: other(0o666)}, {Path: "/r/b", From: "/r/a", After: other(0o666)}}, false},
		{"delete one", []Change{{Path: "/r/a", Before: other(0o666)}}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			found := Judge(&Changeset{Changes: tc.changes}, all(SetIDCapability, LinkOutCapability))
			if refused := len(found) > 0; refused != tc.refused {
				t.Fatalf("found %q, refused should be %t", short(found), tc.refused)
			}
			for _, v := range found {
				if v.Rule != "kind" || v.Approval != "" {
					t.Errorf("found %+v", v)
				}
			}
		})
	}
}

func TestJudgeLimits(t *testing.T) {
	t.Parallel()
	cs := &Changeset{}
	for i := range 5 {
		cs.Changes = append(cs.Changes, Change{Path: fmt.Sprintf("/r/%d", i), After: fileState(0o644), Content: bytesOf("abc")})
	}
	// What only changes its mode writes no bytes.
	cs.Changes = append(cs.Changes, Change{Path: "/r/z", Before: fileState(0o600), After: fileState(0o644)})
	for _, tc := range []struct {
		changes int
		bytes   int64
		want    []string
	}{
		{0, 0, nil},
		{6, 15, nil},
		{5, 0, []string{"6 paths change, at most 5 may"}},
		{0, 14, []string{"15 bytes are written, at most 14 may"}},
		{1, 1, []string{"6 paths change, at most 1 may", "15 bytes are written, at most 1 may"}},
	} {
		rules := all()
		rules.MaxChanges, rules.MaxBytes = tc.changes, tc.bytes
		var got []string
		for _, v := range Judge(cs, rules) {
			got = append(got, v.Reason)
			if v.Rule != "limit" || v.Path == "" {
				t.Errorf("found %+v", v)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("at most %d changes, %d bytes (-want +got)\n%s", tc.changes, tc.bytes, diff)
		}
	}
	if found := Judge(&Changeset{}, Rules{MaxChanges: 1, MaxBytes: 1}); len(found) > 0 {
		t.Errorf("an empty changeset: %q", found)
	}
}

// TestJudgeListsAll checks that every reason is listed, in path order, with the
// steps that it is due to, whatever else is wrong.
func TestJudgeListsAll(t *testing.T) {
	t.Parallel()
	cs := &Changeset{Changes: []Change{
		{Path: "/r/d", After: linkState("/etc"), Steps: []int{1, 7}},
		{Path: "/r/b", After: fileState(0o4755), Content: bytesOf("new"), Steps: []int{3}},
		{Path: "/q/a", After: fileState(0o6711), Content: bytesOf("new"), Steps: []int{2}},
		{Path: "/r/c", After: &State{Kind: Other}},
		{Path: "/r/a", After: dirState(0o755), Steps: []int{9}},
	}}
	cs.Sort()
	rules := all()
	rules.MaxChanges = 4
	found := Judge(cs, rules)
	var got []string
	for _, v := range found {
		got = append(got, v.String())
	}
	want := []string{
		"/q/a (step 2): 5 paths change, at most 4 may",
		"/q/a (step 2): the layout lets a package change nothing here",
		"/q/a (step 2): the file would get the mode 6711, with a set-id bit; allow it with --approve set-id",
		"/r/b (step 3): the file would get the mode 4755, with a set-id bit; allow it with --approve set-id",
		"/r/c: only directories, regular files and symlinks may be made",
		`/r/d (step 7): the link would lead out of the package's directories, to "/etc"; allow it with --approve link:outside`,
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !slices.IsSortedFunc(found, func(a, b Violation) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("not in path order:\n%s", strings.Join(got, "\n"))
	}
}

// A change of a protected name takes approval, whoever makes it.
func TestJudgeProtectedNames(t *testing.T) {
	t.Parallel()
	cs := &Changeset{Changes: []Change{
		{Path: "/p/.rc", After: &State{Kind: File, Mode: 0o644}},
		{Path: "/p/rc", After: &State{Kind: File, Mode: 0o644}},
		{Path: "/p/x/.rc", Before: &State{Kind: File, Mode: 0o644}},
	}}
	rules := Rules{
		Grants: []Grant{{Dir: "/p", Access: Write}},
		ProtectedName: func(path string) string {
			if strings.HasSuffix(path, "/.rc") {
				return ".rc"
			}
			return ""
		},
	}
	found := Judge(cs, rules)
	if len(found) != 2 || found[0].Path != "/p/.rc" || found[1].Path != "/p/x/.rc" || found[0].Rule != "protected-name" || found[0].Approval != "protected:.rc" {
		t.Errorf("got %v", found)
	}
	rules.Approved = []string{"protected:.rc"}
	if found := Judge(cs, rules); len(found) != 0 {
		t.Errorf("got %v although it is approved", found)
	}
}
