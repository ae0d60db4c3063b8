package changeset

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func render(t testing.TB, r Renderer, changes ...Change) string {
	t.Helper()
	var b strings.Builder
	if err := r.Render(&b, &Changeset{Changes: changes}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// holding shows diffs against one text.
func holding(before string) Renderer {
	return Renderer{Before: func(*Change) ([]byte, bool) { return []byte(before), true }}
}

func TestRender(t *testing.T) {
	t.Parallel()
	sized := func(mode uint32, n int64) *State { return &State{Kind: File, Mode: mode, Size: n} }
	changes := []Change{
		{Path: "/r/bin/demo", Before: linkState("../old/demo"), After: linkState("../new/demo")},
		{Path: "/r/etc", After: dirState(0o755)},
		{Path: "/r/etc/demo.conf", Before: sized(0o644, 12), After: sized(0o644, 16), Content: bytesOf("one\ntwo\nthree\n")},
		{Path: "/r/etc/demo.copy", After: sized(0o600, 16), Origin: "/r/share/demo", Content: &Content{Origin: &Origin{Path: "/r/share/demo"}}},
		{Path: "/r/etc/moved", After: sized(0o644, 3), From: "/r/etc/old"},
		{Path: "/r/etc/new", After: sized(0o755, 3), Content: bytesOf("abc")},
		{Path: "/r/etc/old", Before: sized(0o644, 3)},
		{Path: "/r/fifo", Before: &State{Kind: Other, Mode: 0o600}},
		{Path: "/r/lib", Before: dirState(0o755), After: owned(dirState(0o2775), 5, 6)},
		{Path: "/r/lib/touched", Before: &State{Kind: File, Mode: 0o644, MTime: 1}, After: &State{Kind: File, Mode: 0o644, MTime: 2}},
		{Path: "/r/var", Before: dirState(0o755)},
	}
	r := Renderer{
		Short:  func(p string) string { return strings.Replace(p, "/r/", "~/", 1) },
		Before: func(c *Change) ([]byte, bool) { return []byte("one\n2\nthree\n"), c.Path == "/r/etc/demo.conf" },
		Style:  func(v Verb, s string) string { return "<" + string(v[0]) + ">" + s },
	}
	const want = `<r>replace  symlink      ~/bin/demo -> ../new/demo
<c>create   dir     0755 ~/etc/
<r>replace  file    0644 ~/etc/demo.conf (16 bytes)
         @@ -1,3 +1,3 @@
          one
         -2
         +two
          three
<c>create   file    0600 ~/etc/demo.copy (16 bytes, copied from ~/share/demo)
<m>move     file    0644 ~/etc/moved (from ~/etc/old)
<c>create   file    0755 ~/etc/new (3 bytes)
<d>delete   file         ~/etc/old
<d>delete   other        ~/fifo
<m>modify   dir     2775 ~/lib/ (mode was 0755, owner 5:6 was 0:0)
<m>modify   file    0644 ~/lib/touched (new time)
<d>delete   dir          ~/var/
`
	if diff := cmp.Diff(want, render(t, r, changes...)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestRenderDiffShowsEveryLine: no text that a file has may make a line of the
// diff disappear.
func TestRenderDiffShowsEveryLine(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"plain", "-- a comment of SQL or Lua", "++ hidden", "++", "--", "@@ -1 +1 @@", `\ No newline`, ""} {
		old, fresh := Change{Path: "/r/a", Before: fileState(0o644), After: fileState(0o644), Content: bytesOf("x\n")}, Change{}
		fresh = old
		fresh.Content = bytesOf("x\n" + text + "\n")
		if got := render(t, holding("x\n"), fresh); !strings.Contains(got, "         +"+text+"\n") {
			t.Errorf("the line %q was added; the diff does not show it:\n%s", text, got)
		}
		if got := render(t, holding("x\n"+text+"\n"), old); !strings.Contains(got, "         -"+text+"\n") {
			t.Errorf("the line %q was removed; the diff does not show it:\n%s", text, got)
		}
	}
}

func TestRenderDiffOnlyOfTexts(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", maxDiff+1)
	replaced := func(content string) Change {
		return Change{Path: "/r/a", Before: fileState(0o644), After: fileState(0o644), Content: bytesOf(content)}
	}
	huge := replaced("a\n")
	huge.Before.Size = maxDiff + 1
	link := replaced("a\n")
	link.Before = linkState("b")
	copied := replaced("")
	copied.Content = &Content{Origin: &Origin{Path: "/r/b"}}
	for _, tc := range []struct {
		name string
		r    Renderer
		c    Change
		diff bool
	}{
		{"texts", holding("b\n"), replaced("a\n"), true},
		{"no one knows what was there", Renderer{}, replaced("a\n"), false},
		{"it cannot be read", Renderer{Before: func(*Change) ([]byte, bool) { return nil, false }}, replaced("a\n"), false},
		{"it was a link", holding("b\n"), link, false},
		{"the old is no text", holding("b\x00"), replaced("a\n"), false},
		{"the new is no text", holding("b\n"), replaced("a\xff\n"), false},
		{"the old is large", holding("b\n"), huge, false},
		{"the new is large", holding("b\n"), replaced(big), false},
		{"the new is a copy", holding("b\n"), copied, false},
	} {
		if got := strings.Contains(render(t, tc.r, tc.c), "@@"); got != tc.diff {
			t.Errorf("%s: diff shown: %t, want %t", tc.name, got, tc.diff)
		}
	}
}

// TestRenderControlCharacters: nothing that a package chooses can move the
// cursor, change colours, begin a line or reorder text.
func TestRenderControlCharacters(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"escape", "a\x1b[2Jb", `a\x1b[2Jb`},
		{"newline", "a\ncreate file b", `a\ncreate file b`},
		{"carriage return", "a\rb", `a\rb`},
		{"backspace", "a\bb", `a\bb`},
		{"delete", "a\x7fb", `a\x7fb`},
		{"C1 control", "a\u009bb", `a\u009bb`},
		{"no UTF-8", "a\xffb", `a\xffb`},
		{"right-to-left override", "a\u202eb", `a\u202eb`},
		{"isolate", "a\u2066b", `a\u2066b`},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"zero width space", "a\u200bb", `a\u200bb`},
		{"letters", "aé漢字", "aé漢字"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for _, got := range []string{
				render(t, Renderer{}, Change{Path: "/r/" + tc.text, After: dirState(0o755)}),
				render(t, Renderer{}, Change{Path: "/r/" + tc.text, Before: dirState(0o755)}),
				render(t, Renderer{}, Change{Path: "/r/" + tc.text, Before: dirState(0o755), After: dirState(0o700)}),
				render(t, Renderer{}, Change{Path: "/r/a", From: "/r/" + tc.text, After: dirState(0o755)}),
				render(t, Renderer{}, Change{Path: "/r/a", After: linkState(tc.text)}),
				render(t, Renderer{}, Change{Path: "/r/a", After: fileState(0o644), Origin: "/r/" + tc.text}),
				render(t, Renderer{Short: func(string) string { return tc.text }}, Change{Path: "/r/a", After: dirState(0o755)}),
			} {
				if !strings.Contains(got, tc.want) || strings.Count(got, "\n") != 1 {
					t.Errorf("shown as %q, want %q in one line", got, tc.want)
				}
			}
			if strings.ContainsAny(tc.text, "\n\xff") {
				return
			}
			c := Change{Path: "/r/a", Before: fileState(0o644), After: fileState(0o644), Content: bytesOf(tc.text + "\n")}
			if got := render(t, holding("b\n"), c); !strings.Contains(got, "+"+tc.want+"\n") {
				t.Errorf("the diff is %q, want %q in it", got, tc.want)
			}
		})
	}
}

// TestRenderIncomplete: what was read from a receipt or a plan file may lack
// anything, and must not end the program.
func TestRenderIncomplete(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Change{
		"no states":        {Path: "/r/a"},
		"from, no states":  {Path: "/r/a", From: "/r/b"},
		"empty states":     {Before: &State{}, After: &State{}},
		"only before":      {Before: &State{}},
		"only after":       {After: &State{}},
		"content, no size": {Path: "/r/a", Before: &State{}, After: &State{}, Content: &Content{}},
		"origin of a link": {Path: "/r/a", After: linkState(""), Origin: "/r/b", Content: &Content{Origin: &Origin{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("panics: %v", r)
				}
			}()
			if got := render(t, holding("b"), c); strings.Count(got, "\n") < 1 {
				t.Errorf("shown as %q", got)
			}
		})
	}
}

type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }

func TestRenderGivesWriteErrors(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	err := Renderer{}.Render(failing{full}, &Changeset{Changes: []Change{{Path: "/r/a", After: dirState(0o755)}}})
	if !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}

// TestRenderNeverEmitsControls draws changes whose every text is hostile.
func TestRenderNeverEmitsControls(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.Map(rapid.SliceOfN(rapid.RuneFrom(nil, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp), 1, 8), func(r []rune) string { return string(r) }),
		rapid.StringMatching(`(\+\+|--|@@|[\x00-\x20\x7f]|a){0,6}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		state := func(label string) *State {
			if rapid.IntRange(0, 4).Draw(t, label) == 0 {
				return nil
			}
			return &State{
				Kind:   rapid.SampledFrom([]Kind{Dir, File, Symlink, Other}).Draw(t, "kind"),
				Mode:   rapid.Uint32().Draw(t, "mode"),
				Target: text.Draw(t, "target"),
			}
		}
		c := Change{Path: text.Draw(t, "path"), Before: state("before"), After: state("after"), From: text.Draw(t, "from"), Origin: text.Draw(t, "origin")}
		if c.Before == nil && c.After == nil {
			t.Skip("nothing changes")
		}
		if rapid.Bool().Draw(t, "stays") {
			c.From = ""
		}
		if rapid.Bool().Draw(t, "bytes") {
			c.Content = bytesOf(text.Draw(t, "content"))
		}
		before := text.Draw(t, "held")
		var out strings.Builder
		if err := holding(before).Render(&out, &Changeset{Changes: []Change{c}}); err != nil {
			t.Fatal(err)
		}
		for _, r := range out.String() {
			if r != '\n' && r != '\t' && !unicode.IsGraphic(r) {
				t.Fatalf("%U is in %q", r, out.String())
			}
		}
		if !strings.Contains(out.String(), "@@") && strings.Count(out.String(), "\n") != 1 {
			t.Fatalf("one change takes several lines: %q", out.String())
		}
	})
}

func FuzzRenderPath(f *testing.F) {
	for _, s := range []string{"/r/a", "/r/\x1b[31m", "\n", "\xff", "\u202e", "\\x1b"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, path, target string) {
		out := render(t, Renderer{}, Change{Path: path, After: linkState(target)})
		if strings.Count(out, "\n") != 1 {
			t.Fatalf("takes several lines: %q", out)
		}
		for _, r := range out {
			if r != '\n' && r != '\t' && !unicode.IsGraphic(r) {
				t.Fatalf("%U is in %q", r, out)
			}
		}
	})
}
