package merge3

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name               string
		base, ours, theirs string
		want               string
		conflicts          int
	}{
		{"nothing", "a\n", "a\n", "a\n", "a\n", 0},
		{"ours only", "a\nb\n", "a\nB\n", "a\nb\n", "a\nB\n", 0},
		{"theirs only", "a\nb\n", "a\nb\n", "a\nB\n", "a\nB\n", 0},
		{"both the same", "a\nb\n", "a\nB\n", "a\nB\n", "a\nB\n", 0},
		{"apart", "a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n", "A\nb\nc\nD\n", 0},
		{"both add, apart", "a\nb\nc\n", "x\na\nb\nc\n", "a\nb\nc\ny\n", "x\na\nb\nc\ny\n", 0},
		{"ours deletes, theirs adds", "a\nb\nc\nd\n", "b\nc\nd\n", "a\nb\nc\nd\ne\n", "b\nc\nd\ne\n", 0},
		{"one line", "a\n", "b\n", "c\n", "<<<<<<< yours\nb\n||||||| the package's, before\na\n=======\nc\n>>>>>>> the package's, now\n", 1},
		{"neighbours", "a\nb\n", "A\nb\n", "a\nB\n", "<<<<<<< yours\nA\nb\n||||||| the package's, before\na\nb\n=======\na\nB\n>>>>>>> the package's, now\n", 1},
		{"delete and change", "a\nb\nc\n", "a\nc\n", "a\nB\nc\n", "a\n<<<<<<< yours\n||||||| the package's, before\nb\n=======\nB\n>>>>>>> the package's, now\nc\n", 1},
		{"nothing before", "", "a\n", "b\n", "<<<<<<< yours\na\n||||||| the package's, before\n=======\nb\n>>>>>>> the package's, now\n", 1},
		{"two conflicts", "a\nm\nn\nb\n", "1\nm\nn\n2\n", "3\nm\nn\n4\n",
			"<<<<<<< yours\n1\n||||||| the package's, before\na\n=======\n3\n>>>>>>> the package's, now\nm\nn\n" +
				"<<<<<<< yours\n2\n||||||| the package's, before\nb\n=======\n4\n>>>>>>> the package's, now\n", 2},
		{"no final newline", "a\nb\nc", "A\nb\nc", "a\nb\nC", "A\nb\nC", 0},
		{"final newline added", "a\nb\nc", "a\nb\nc\n", "A\nb\nc", "A\nb\nc\n", 0},
		{"conflict without final newline", "a", "b", "c", "<<<<<<< yours\nb\n||||||| the package's, before\na\n=======\nc\n>>>>>>> the package's, now\n", 1},
		{"CRLF throughout", "a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC\r\n", "A\r\nb\r\nC\r\n", 0},
		{"ours is CRLF", "a\nb\nc\n", "A\r\nb\r\nc\r\n", "a\nb\nC\n", "A\r\nb\r\nC\r\n", 0},
		{"ours is LF", "a\r\nb\r\nc\r\n", "A\nb\nc\n", "a\r\nb\r\nC\r\n", "A\nb\nC\n", 0},
		{"mixed", "a\r\nb\nc\n", "a\r\nB\nc\n", "a\nb\nc\n", "<<<<<<< yours\na\r\nB\n||||||| the package's, before\na\r\nb\n=======\na\nb\n>>>>>>> the package's, now\nc\n", 1},
		{"not UTF-8", "a\n\xff\n", "A\n\xff\n", "a\n\xff\nc\n", "A\n\xff\nc\n", 0},
		{"markers in the text", "<<<<<<< yours\nm\nx\n", "<<<<<<< yours\nm\ny\n", "=======\nm\nx\n", "=======\nm\ny\n", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, ok := Merge([]byte(tc.base), []byte(tc.ours), []byte(tc.theirs))
			if diff := cmp.Diff(tc.want, string(got.Text)); diff != "" || !ok || got.Conflicts != tc.conflicts {
				t.Errorf("%d conflicts, %v:\n%s", got.Conflicts, ok, diff)
			}
		})
	}
}

func TestNoText(t *testing.T) {
	t.Parallel()
	text, nul, large := []byte("a\n"), []byte("a\x00\n"), bytes.Repeat([]byte("a\n"), MaxText/2+1)
	for _, bad := range [][]byte{nul, large} {
		for i, three := range [][3][]byte{{bad, text, text}, {text, bad, text}, {text, text, bad}} {
			if r, ok := Merge(three[0], three[1], three[2]); ok || r.Text != nil {
				t.Errorf("%d: merged", i)
			}
		}
	}
}

// TestLaws: who changes nothing has no say, equal changes do not conflict, and the
// sides may change places.
func TestLaws(t *testing.T) {
	t.Parallel()
	text := rapid.Custom(func(t *rapid.T) string {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 0, 12).Draw(t, "lines")
		return strings.Join(lines, "\n")
	})
	rapid.Check(t, func(t *rapid.T) {
		base, x, y := text.Draw(t, "base"), text.Draw(t, "x"), text.Draw(t, "y")
		check(t, base, x, y)
	})
}

func check(t interface{ Fatalf(string, ...any) }, base, x, y string) {
	merge := func(ours, theirs string) (string, int) {
		r, ok := Merge([]byte(base), []byte(ours), []byte(theirs))
		if !ok {
			t.Fatalf("%q, %q, %q: no text", base, ours, theirs)
		}
		return string(r.Text), r.Conflicts
	}
	for _, tc := range []struct{ ours, theirs, want string }{{base, base, base}, {x, base, x}, {base, x, x}, {x, x, x}} {
		if _, uniform := lineEnds(base + x); strings.Contains(base+x, "\r") || !uniform {
			break // line ends may then be adapted
		}
		if got, n := merge(tc.ours, tc.theirs); got != tc.want || n != 0 {
			t.Fatalf("base %q, ours %q, theirs %q: got %q with %d conflicts", base, tc.ours, tc.theirs, got, n)
		}
	}
	if strings.Contains(base+x+y, "\r") {
		return
	}
	one, n := merge(x, y)
	two, m := merge(y, x)
	if n != m || n == 0 && one != two {
		t.Fatalf("base %q: %q and %q give %q (%d), and the other way round %q (%d)", base, x, y, one, n, two, m)
	}
}

func FuzzMerge(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nB\nc\n", "a\nb\nc\nd")
	f.Add("a\r\n", "a\n", "\r\n\n")
	f.Fuzz(func(t *testing.T, base, x, y string) {
		if strings.ContainsRune(base+x+y, 0) || len(base)+len(x)+len(y) > 1<<12 {
			return
		}
		Merge([]byte(base), []byte(x), []byte(y))
		check(t, base, x, y)
	})
}
