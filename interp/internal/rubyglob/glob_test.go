package rubyglob

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	t.Parallel()
	fsys := newMemFS("/r", quirkyTree)
	for _, tc := range tableCases {
		got, err := Glob(fsys, "/r/"+tc.pattern)
		if err != nil || joined("/r", got) != tc.want {
			t.Errorf("%q\n got %q, %v\nwant %q", tc.pattern, joined("/r", got), err, tc.want)
		}
	}
}

func TestTableAgainstRuby(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	makeTree(t, root, quirkyTree)
	var patterns []string
	for _, tc := range tableCases {
		patterns = append(patterns, root+"/"+tc.pattern)
	}
	for i, got := range runRuby(t, patterns) {
		if tc := tableCases[i]; got == nil || joined(root, got) != tc.want {
			t.Errorf("%q\nruby %q\nwant %q", tc.pattern, joined(root, got), tc.want)
		}
	}
}

// joined spells results as in the table.
func joined(root string, paths []string) string {
	var names []string
	for _, p := range paths {
		if p == root {
			p = "/r"
		}
		names = append(names, strings.TrimPrefix(p, root+"/"))
	}
	return strings.Join(names, " ")
}

func TestWholePaths(t *testing.T) {
	t.Parallel()
	fsys := newMemFS("/opt/[x", []string{"a/b", "a.c"})
	for _, tc := range []struct{ pattern, want string }{
		{"/", "/"},
		{"//", "//"},
		{"/*", "/opt"},
		{"/opt/*/*", "/opt/[x/a /opt/[x/a.c"},
		{"/opt/\\[x/a", "/opt/[x/a"},
		{"/opt/[x/a", ""},
		{"/o[p]t/?x/a*", "/opt/[x/a /opt/[x/a.c"},
		{"//o*", "//opt"},
	} {
		got, err := Glob(fsys, tc.pattern)
		if err != nil || strings.Join(got, " ") != tc.want {
			t.Errorf("%q: got %q, %v, want %q", tc.pattern, got, err, tc.want)
		}
	}
}

func TestHasMeta(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/a/b": false, "/a*": true, "/a?": true, "/[": true, "/{": true, `/a\b]}`: false, `/a\*`: true, "": false,
	} {
		if got := HasMeta(path); got != want {
			t.Errorf("HasMeta(%q) = %v", path, got)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ pattern, reason string }{
		{"a/*", "absolute"},
		{"", "absolute"},
		{"{/a,/b}", "absolute"},
		{"/a\x00b*", "NUL"},
		{"/" + strings.Repeat("a", MaxPath), "longer"},
		{"/**/*/{a,b}", "directly follow"},
		{"/**/a/{a,b}", "directly follow"},
		{"/**/{a,b}/{c,d}", "directly follow"},
		{"/**/{a/b,c}", "slash"},
		{"/**/{a,{b,c/d}}", "slash"},
		{"/" + strings.Repeat("{a,b}", 14), "more than 10000"},
		{"/**/" + strings.Repeat("{a,b}", 14), "more than 10000"},
		{"/" + strings.Repeat("{a,b,c,d,e,f,g,h,i,j}/", 180), "more than 10000"},
		{"/" + strings.Repeat("{,}", 1000), "more than 10000"},
	} {
		var refused *PatternError
		paths, err := Glob(panicFS{}, tc.pattern)
		if !errors.As(err, &refused) || paths != nil {
			t.Errorf("Glob(%.40q) = %q, %v, want a PatternError", tc.pattern, paths, err)
			continue
		}
		if !strings.Contains(refused.Reason, tc.reason) || len(err.Error()) > 400 {
			t.Errorf("Glob(%.40q): %v, want a reason with %q", tc.pattern, err, tc.reason)
		}
	}
	for _, pattern := range []string{"/**/*.{a,b}", "/**/{a,b}/*", "/{**/,}x/{a,b}", "/{a/b,c}/**/{d,e}", "/**/{a,b}/**/{c,d}", "/**/{a/"} {
		if err := Check(pattern); err != nil {
			t.Errorf("Check(%q) = %v", pattern, err)
		}
	}
}

// panicFS shows that a refused pattern does not touch the tree.
type panicFS struct{}

func (panicFS) Lstat(string) (Kind, error)       { panic("Lstat") }
func (panicFS) Stat(string) (Kind, error)        { panic("Stat") }
func (panicFS) ReadDir(string) ([]string, error) { panic("ReadDir") }

// endlessFS has every directory, each with itself inside.
type endlessFS struct{ width int }

func (endlessFS) Lstat(string) (Kind, error) { return Dir, nil }
func (endlessFS) Stat(string) (Kind, error)  { return Dir, nil }
func (f endlessFS) ReadDir(string) (names []string, err error) {
	for i := range f.width {
		names = append(names, fmt.Sprint("n", i))
	}
	return names, nil
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern string
		width   int
	}{
		{"/**/*", 1},
		{"/**/*", 3},
		{"/**/*/**/*/**/*", 2},
		{"/**/*/**/none", 2},
		{"/*/*/*/*/*/*", 100},
		{"/*/{a,b,c,d,e,f}{a,b,c,d,e,f}{a,b,c,d,e,f}", 10_000},
	} {
		paths, err := Glob(endlessFS{tc.width}, tc.pattern)
		if !errors.Is(err, ErrLimit) || paths != nil {
			t.Errorf("%q: got %d paths, %v, want ErrLimit", tc.pattern, len(paths), err)
		}
	}
}

// failFS fails for one path.
type failFS struct {
	memFS
	path string
}

var errBroken = errors.New("broken disk")

func (f failFS) Lstat(path string) (Kind, error) {
	if path == f.path {
		return None, errBroken
	}
	return f.memFS.Lstat(path)
}

func (f failFS) Stat(path string) (Kind, error) {
	if path == f.path {
		return None, errBroken
	}
	return f.memFS.Stat(path)
}

func (f failFS) ReadDir(path string) ([]string, error) {
	if path == f.path {
		return nil, errBroken
	}
	return f.memFS.ReadDir(path)
}

func TestErrorsOfTheTree(t *testing.T) {
	t.Parallel()
	fsys := newMemFS("/r", []string{"a/b", "a/l => b", "c"})
	for _, tc := range []struct{ broken, pattern string }{
		{"/r/c", "/r/{a,c}"},
		{"/r/a", "/r/*/*"},
		{"/r/a", "/r/**/b"},
		{"/r/a/l", "/r/a/*/"},
		{"/r", "/r/*"},
		{"/r/c", "/r/c/"},
	} {
		if paths, err := Glob(failFS{fsys, tc.broken}, tc.pattern); !errors.Is(err, errBroken) || paths != nil {
			t.Errorf("%q with %q broken: got %q, %v", tc.pattern, tc.broken, paths, err)
		}
	}
}

func FuzzGlob(f *testing.F) {
	for _, tc := range tableCases {
		f.Add(tc.pattern)
	}
	f.Add("\xff[\xc3-\xff]")
	fsys := newMemFS("/r", quirkyTree)
	f.Fuzz(func(t *testing.T, pattern string) {
		full := "/r/" + pattern
		paths, err := Glob(fsys, full)
		if (Check(full) == nil) != (err == nil) {
			t.Fatalf("Check and Glob disagree on %q: %v", full, err)
		}
		for _, path := range paths {
			kind, err := fsys.Lstat(path)
			if kind == None || err != nil {
				t.Errorf("%q found %q, which is not there", full, path)
			}
			if strings.HasSuffix(path, "/") {
				if kind, _ := fsys.Stat(path); kind != Dir {
					t.Errorf("%q found %q, which is no directory", full, path)
				}
			}
		}
	})
}

// FuzzMatchName checks that matching ends and that a name matches itself when
// every character is escaped.
func FuzzMatchName(f *testing.F) {
	f.Add("a*b?[c-d]", "axbyc")
	f.Add(strings.Repeat("*a", 50), strings.Repeat("a", 200))
	f.Fuzz(func(t *testing.T, pattern, name string) {
		matchName(pattern, name)
		var escaped strings.Builder
		for i := 0; i < len(name); i += charLen(name[i:]) {
			escaped.WriteString(`\` + name[i:i+charLen(name[i:])])
		}
		if !matchName(escaped.String(), name) {
			t.Errorf("%q does not match itself", name)
		}
		if !strings.HasPrefix(name, ".") && !matchName("*", name) {
			t.Errorf("* does not match %q", name)
		}
	})
}

func TestResultsAreOrdered(t *testing.T) {
	t.Parallel()
	got, err := Glob(newMemFS("/r", []string{"b", "B", "a-b", "a/b", "a.b", "é", "~"}), "/r/*")
	if err != nil || !slices.IsSorted(got) {
		t.Errorf("got %q, %v", got, err)
	}
}
