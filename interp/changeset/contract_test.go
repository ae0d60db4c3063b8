package changeset

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// files is a tree as data: a path for each object.
type files map[string]*State

func (f files) Lstat(path string) (*State, error) { return f[path], nil }

func (f files) ReadDir(dir string) ([]string, error) {
	var names []string
	for path := range f {
		if filepath.Dir(path) == dir {
			names = append(names, filepath.Base(path))
		}
	}
	return names, nil
}

// Each rule, with a control that is like the case and passes.
func TestContract(t *testing.T) {
	t.Parallel()
	file := func(mode uint32, size int64) *State { return &State{Kind: File, Mode: mode, Size: size} }
	made := func(path string, after *State) Change {
		c := Change{Path: path, After: after}
		if after.Kind == File {
			c.Content = &Content{}
		}
		return c
	}
	newFile := func(path string) Change { return made(path, file(0o644, 3)) }
	dir := func(path string, mode uint32) Change { return made(path, &State{Kind: Dir, Mode: mode}) }
	link := func(path, target string) Change { return made(path, &State{Kind: Symlink, Target: target}) }
	gone := func(path string) Change { return Change{Path: path, Before: file(0o644, 3)} }
	changed := func(path string, before, after *State) Change {
		c := made(path, after)
		c.Before = before
		return c
	}
	chmod := func(path string, from, to uint32) Change {
		return Change{Path: path, Before: &State{Kind: File, Mode: from}, After: &State{Kind: File, Mode: to}}
	}
	one := func(path string, kind Kind) Output { return Output{Paths: []string{path}, Kind: kind, MaxSize: 10} }
	any := func(kind Kind, paths ...string) Output {
		return Output{Paths: paths, Kind: kind, MaxSize: 10, Any: true}
	}
	outputs := func(list ...Output) func(*Contract) {
		return func(c *Contract) { c.Outputs = append([]Output{}, list...) }
	}
	failed := func(c *Contract) { c.Failed = true }
	shared := func(paths ...string) *Captured { return &Captured{Shared: paths} }

	for _, tc := range []struct {
		name     string
		contract []func(*Contract)
		made     []Change
		captured *Captured
		want     string // "path rule", sorted; "" if the contract is kept
	}{
		{name: "nothing"},
		{name: "undeclared, without outputs", made: []Change{newFile("/w/a")}},
		{name: "declared", contract: []func(*Contract){outputs(one("/w/a", File))}, made: []Change{newFile("/w/a")}},
		{name: "undeclared", contract: []func(*Contract){outputs(one("/w/a", File))}, made: []Change{newFile("/w/a"), newFile("/w/b")}, want: "/w/b output"},
		{name: "none may be", contract: []func(*Contract){outputs()}, made: []Change{newFile("/w/a")}, want: "/w/a output"},
		{name: "none may be deleted", contract: []func(*Contract){outputs()}, made: []Change{gone("/w/old")}, want: "/w/old output"},
		{name: "none may change", contract: []func(*Contract){outputs()}, made: []Change{chmod("/w/old", 0o644, 0o600)}, want: "/w/old output"},
		{name: "its parents", contract: []func(*Contract){outputs(one("/w/d/e/a", File))}, made: []Change{dir("/w/d", 0o755), dir("/w/d/e", 0o755), newFile("/w/d/e/a")}},
		{name: "beside its parents", contract: []func(*Contract){outputs(one("/w/d/a", File))}, made: []Change{dir("/w/d", 0o755), newFile("/w/d/a"), dir("/w/e", 0o755)}, want: "/w/e output"},
		{name: "its parents' modes", contract: []func(*Contract){outputs(one("/w/d/a", File))},
			made: []Change{{Path: "/w/d", Before: &State{Kind: Dir, Mode: 0o755}, After: &State{Kind: Dir, Mode: 0o700}}, newFile("/w/d/a")}, want: "/w/d output"},
		{name: "matches", contract: []func(*Contract){outputs(any(File, "/w/a", "/w/old"))}, made: []Change{newFile("/w/a"), gone("/w/old")}},
		{name: "no match", contract: []func(*Contract){outputs(any(File))}},
		{name: "missing", contract: []func(*Contract){outputs(one("/w/a", File))}, want: "/w/a output"},
		{name: "missing after a failure", contract: []func(*Contract){outputs(one("/w/a", File)), failed}},
		{name: "undeclared after a failure", contract: []func(*Contract){outputs(one("/w/a", File)), failed}, made: []Change{newFile("/w/b")}, want: "/w/b output"},
		{name: "there before", contract: []func(*Contract){outputs(one("/w/old", File))}},
		{name: "there before, of another kind", contract: []func(*Contract){outputs(one("/w/old", Dir))}, want: "/w/old output"},
		{name: "there before and deleted", contract: []func(*Contract){outputs(one("/w/old", File))}, made: []Change{gone("/w/old")}, want: "/w/old output"},
		{name: "wrong kind", contract: []func(*Contract){outputs(one("/w/a", Dir))}, made: []Change{newFile("/w/a")}, want: "/w/a output"},
		{name: "a link instead", contract: []func(*Contract){outputs(one("/w/a", File))}, made: []Change{link("/w/a", "old")}, want: "/w/a output"},
		{name: "a declared link", contract: []func(*Contract){outputs(one("/w/a", Symlink))}, made: []Change{link("/w/a", "old")}},
		{name: "a declared directory", contract: []func(*Contract){outputs(one("/w/d", Dir))}, made: []Change{dir("/w/d", 0o755)}},
		{name: "in a declared directory", contract: []func(*Contract){outputs(one("/w/d", Dir))}, made: []Change{dir("/w/d", 0o755), newFile("/w/d/a")}, want: "/w/d/a output"},
		{name: "one of two declarations", contract: []func(*Contract){outputs(any(Dir, "/w/d", "/w/d/a"), any(File, "/w/d", "/w/d/a"))}, made: []Change{dir("/w/d", 0o755), newFile("/w/d/a")}},
		{name: "as large as may be", contract: []func(*Contract){outputs(one("/w/a", File))}, made: []Change{made("/w/a", file(0o644, 10))}},
		{name: "too large", contract: []func(*Contract){outputs(one("/w/a", File))}, made: []Change{made("/w/a", file(0o644, 11))}, want: "/w/a output"},
		{name: "executable", contract: []func(*Contract){outputs(one("/w/a", File))}, made: []Change{made("/w/a", file(0o755, 3))}, want: "/w/a output"},
		{name: "declared executable", contract: []func(*Contract){outputs(Output{Paths: []string{"/w/a"}, Kind: File, MaxSize: 10, Executable: true})}, made: []Change{made("/w/a", file(0o755, 3))}},
		{name: "made executable", contract: []func(*Contract){outputs(one("/w/old", File))}, made: []Change{chmod("/w/old", 0o644, 0o744)}, want: "/w/old output"},
		{name: "executable before", contract: []func(*Contract){outputs(one("/w/old", File))}, made: []Change{chmod("/w/old", 0o755, 0o700)}},
		{name: "as many as may be", contract: []func(*Contract){func(c *Contract) { c.MaxChanges = 2 }}, made: []Change{newFile("/w/a"), newFile("/w/b")}},
		{name: "too many", contract: []func(*Contract){func(c *Contract) { c.MaxChanges = 2 }}, made: []Change{newFile("/w/a"), newFile("/w/b"), newFile("/w/c")}, want: "/w/a output"},
		{name: "as much as may be", contract: []func(*Contract){func(c *Contract) { c.MaxBytes = 6 }}, made: []Change{newFile("/w/a"), newFile("/w/b")}},
		{name: "too much", contract: []func(*Contract){func(c *Contract) { c.MaxBytes = 6 }}, made: []Change{newFile("/w/a"), made("/w/b", file(0o644, 4))}, want: "/w/a output"},

		{name: "outside", made: []Change{newFile("/x/a"), newFile("/wa"), gone("/x/old")}, want: "/wa outside, /x/a outside, /x/old outside"},
		{name: "a writable file", contract: []func(*Contract){func(c *Contract) { c.Writes = []string{"/w/old"} }}, made: []Change{changed("/w/old", file(0o644, 1), file(0o644, 2)), newFile("/w/oldest")}, want: "/w/oldest outside"},

		{name: "hard link", captured: shared("/w/h"), want: "/w/h hard-link"},
		{name: "hard links of its own", made: []Change{newFile("/w/a"), newFile("/w/b")}, captured: &Captured{Linked: [][]string{{"/w/a", "/w/b"}}}},

		{name: "FIFO", made: []Change{made("/w/a", &State{Kind: Other, Mode: 0o644})}, want: "/w/a kind"},
		{name: "FIFO in place of a file", made: []Change{changed("/w/old", file(0o644, 1), &State{Kind: Other, Mode: 0o644})}, want: "/w/old kind"},
		{name: "FIFO that was there", made: []Change{{Path: "/w/f", Before: &State{Kind: Other, Mode: 0o600}, After: &State{Kind: Other, Mode: 0o644}}}},
		{name: "FIFO that goes away", made: []Change{{Path: "/w/f", Before: &State{Kind: Other, Mode: 0o600}}}},

		{name: "set-user-id", made: []Change{made("/w/a", file(0o4755, 3))}, want: "/w/a set-id"},
		{name: "set-group-id", made: []Change{made("/w/a", file(0o2755, 3))}, want: "/w/a set-id"},
		{name: "set-id, approved", contract: []func(*Contract){func(c *Contract) { c.Approved = []string{SetIDCapability} }}, made: []Change{made("/w/a", file(0o4755, 3))}, want: "/w/a set-id"},
		{name: "set-id before", made: []Change{chmod("/w/old", 0o4755, 0o4711)}},
		{name: "more set-id than before", made: []Change{chmod("/w/old", 0o4755, 0o6755)}, want: "/w/old set-id"},
		{name: "set-id with new bytes", made: []Change{changed("/w/old", file(0o4755, 1), file(0o4755, 2))}, want: "/w/old set-id"},
		{name: "set-group-id directory", made: []Change{dir("/w/d", 0o2755)}},
		{name: "set-user-id directory", made: []Change{dir("/w/d", 0o4755)}, want: "/w/d set-id"},

		{name: "world-writable file", made: []Change{made("/w/a", file(0o666, 3))}, want: "/w/a mode"},
		{name: "group-writable file", made: []Change{made("/w/a", file(0o664, 3))}},
		{name: "world-writable directory", made: []Change{dir("/w/d", 0o777)}, want: "/w/d mode"},
		{name: "sticky directory", made: []Change{dir("/w/d", 0o1777)}},
		{name: "opened to the world", made: []Change{chmod("/w/old", 0o644, 0o646)}, want: "/w/old mode"},
		{name: "open before", made: []Change{chmod("/w/old", 0o666, 0o606)}},
		{name: "a link's mode", made: []Change{made("/w/a", &State{Kind: Symlink, Mode: 0o777, Target: "old"})}},

		{name: "not UTF-8", made: []Change{newFile("/w/\xff")}, want: "/w/\xff name"},
		{name: "UTF-8", made: []Change{newFile("/w/ÿ")}},
		{name: "link to what is not UTF-8", made: []Change{link("/w/a", "\xff")}, want: "/w/a name"},
		{name: "newline", made: []Change{newFile("/w/a\nb")}, want: "/w/a\nb name"},
		{name: "escape", made: []Change{newFile("/w/a\x1b[2J")}, want: "/w/a\x1b[2J name"},
		{name: "C1 control", made: []Change{newFile("/w/a\u009b")}, want: "/w/a\u009b name"},
		{name: "right to left", made: []Change{newFile("/w/a\u202egnp.exe")}, want: "/w/a\u202egnp.exe name"},
		{name: "space", made: []Change{newFile("/w/a b")}},
		{name: "dots and a space", made: []Change{newFile("/w/.. ")}, want: "/w/..  name"},
		{name: "dots and something invisible", made: []Change{newFile("/w/.\u200b.")}, want: "/w/.\u200b. name"},
		{name: "wide dots", made: []Change{newFile("/w/\uff0e\uff0e")}, want: "/w/\uff0e\uff0e name"},
		{name: "a leader of two dots", made: []Change{newFile("/w/\u2025")}, want: "/w/\u2025 name"},
		{name: "three dots", made: []Change{newFile("/w/...")}},
		{name: "bad names that go away", made: []Change{gone("/w/\xff"), gone("/w/a\nb"), gone("/w/.. ")}},
		{name: "reserved", made: []Change{newFile("/w/.steps-x")}, want: "/w/.steps-x name"},
		{name: "reserved, and goes away", made: []Change{gone("/w/.steps-x")}, want: "/w/.steps-x name"},
		{name: "not reserved", made: []Change{newFile("/w/.step")}},

		{name: "case pair", made: []Change{newFile("/w/Aa"), newFile("/w/aA")}, want: "/w/aA fold"},
		{name: "no case pair", made: []Change{newFile("/w/A"), newFile("/w/b"), dir("/w/d", 0o755), newFile("/w/d/a")}},
		{name: "Unicode pair", made: []Change{newFile("/w/e\u0301"), newFile("/w/\u00e9")}, want: "/w/\u00e9 fold"},
		{name: "sharp s", made: []Change{newFile("/w/STRASSE"), newFile("/w/straße")}, want: "/w/straße fold"},
		{name: "case pair with what was there", made: []Change{newFile("/w/OLD")}, want: "/w/OLD fold"},
		{name: "what was there goes away", made: []Change{newFile("/w/OLD"), gone("/w/old")}},
		{name: "what was there changes", made: []Change{chmod("/w/old", 0o644, 0o600)}},
		{name: "directories", made: []Change{dir("/w/D", 0o755), dir("/w/d", 0o755)}, want: "/w/d fold"},

		{name: "link inside", made: []Change{link("/w/a", "../r/x"), link("/w/b", "/r/x")}},
		{name: "link out", made: []Change{link("/w/a", "/etc/passwd")}, want: "/w/a link"},
		{name: "relative link out", made: []Change{link("/w/a", "../../etc")}, want: "/w/a link"},
		{name: "link that climbs", made: []Change{link("/w/a", "x/../b")}, want: "/w/a link"},
		{name: "link out, approved", contract: []func(*Contract){func(c *Contract) { c.Approved = []string{LinkOutCapability} }}, made: []Change{link("/w/a", "/etc/passwd")}},

		{name: "protected path", made: []Change{newFile("/w/brew")}, want: "/w/brew protected"},
		{name: "below a protected path", made: []Change{newFile("/w/brew/a")}, want: "/w/brew/a protected"},
		{name: "above a protected path", contract: []func(*Contract){func(c *Contract) { c.Protected = []string{"/w/d/brew"} }}, made: []Change{{Path: "/w/d", Before: &State{Kind: Dir, Mode: 0o755}}}, want: "/w/d protected"},
		{name: "mode above a protected path", contract: []func(*Contract){func(c *Contract) { c.Protected = []string{"/w/d/brew"} }}, made: []Change{{Path: "/w/d", Before: &State{Kind: Dir, Mode: 0o755}, After: &State{Kind: Dir, Mode: 0o700}}}},

		{name: "protected name", made: []Change{dir("/w/.rc", 0o755), newFile("/w/.rc/a")}, want: "/w/.rc protected-name, /w/.rc/a protected-name"},
		{name: "protected name, deleted", made: []Change{gone("/w/.rc")}, want: "/w/.rc protected-name"},
		{name: "protected name, named", contract: []func(*Contract){func(c *Contract) { c.Named = []string{".rc"} }}, made: []Change{newFile("/w/.rc")}, want: "/w/.rc protected-name protected:.rc"},
		{name: "protected name, approved", contract: []func(*Contract){func(c *Contract) { c.Approved = []string{"protected:.rc"} }}, made: []Change{newFile("/w/.rc")}, want: "/w/.rc protected-name"},
		{name: "protected name, named and approved", contract: []func(*Contract){func(c *Contract) { c.Named, c.Approved = []string{".rc"}, []string{"protected:.rc"} }}, made: []Change{newFile("/w/.rc")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := Contract{
				Writes: []string{"/w"}, Roots: []string{"/w", "/r"}, Protected: []string{"/w/brew"},
				Fold: func(s string) string { return norm.NFD.String(cases.Fold().String(norm.NFD.String(s))) },
				ProtectedName: func(path string) string {
					if strings.Contains(path+"/", "/.rc/") {
						return ".rc"
					}
					return ""
				},
			}
			for _, change := range tc.contract {
				change(&c)
			}
			captured := tc.captured
			if captured == nil {
				captured = &Captured{}
			}
			captured.Changes = &Changeset{Changes: tc.made}
			captured.Changes.Sort()
			found, err := c.Judge(captured, files{"/w": {Kind: Dir}, "/w/old": file(0o644, 3)})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range found {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", v.Path, v.Rule, v.Approval)))
				// Each says what is wrong with which file, and what to do.
				if !strings.HasPrefix(v.String(), Printable(v.Path)+": ") || strings.ContainsAny(v.String(), "\x1b\n") {
					t.Errorf("the message is %q", v)
				}
			}
			want := strings.ReplaceAll(tc.want, "/w/a link", "/w/a link "+LinkOutCapability)
			if got := strings.Join(slices.Compact(got), ", "); got != want {
				t.Errorf("got %q, want %q\n%v", got, want, found)
			}
		})
	}
}
