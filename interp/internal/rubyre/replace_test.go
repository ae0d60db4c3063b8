package rubyre

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

const long = 10 * time.Second

func compileCase(t *testing.T, pattern string, options int, literal bool) *Regexp {
	t.Helper()
	if literal {
		return CompileLiteral(pattern)
	}
	re, err := Compile(pattern, rubyOptions(options), long)
	if err != nil {
		t.Fatalf("Compile(%q) = %v", pattern, err)
	}
	return re
}

func TestTable(t *testing.T) {
	t.Parallel()
	for _, tc := range tableCases {
		after := tc.after
		if after == "" && !tc.literal {
			after = "X"
		}
		re := compileCase(t, tc.pattern, tc.options, tc.literal)
		src := []byte(tc.text)
		out, n, err := re.Replace(src, after, tc.first)
		switch {
		case tc.encoding:
			if !errors.Is(err, ErrEncoding) {
				t.Errorf("%q on %q: got %q, %v, want ErrEncoding", tc.pattern, tc.text, out, err)
			}
		case err != nil:
			t.Errorf("%q on %q: %v", tc.pattern, tc.text, err)
		case tc.none != (n == 0):
			t.Errorf("%q on %q: got %d replacements, none wanted: %v", tc.pattern, tc.text, n, tc.none)
		case tc.none && string(out) != tc.text, !tc.none && string(out) != tc.want:
			t.Errorf("%q on %q: got %q, want %q", tc.pattern, tc.text, out, tc.want)
		}
		if string(src) != tc.text {
			t.Errorf("%q changed its input", tc.pattern)
		}
	}
}

func TestTableAgainstRuby(t *testing.T) {
	t.Parallel()
	var cases []rubyCase
	for _, tc := range tableCases {
		c := rubyCase{Pattern: tc.pattern, Options: tc.options, Text: latin1([]byte(tc.text)),
			After: tc.after, First: tc.first, Literal: tc.literal}
		if c.After == "" && !tc.literal {
			c.After = "X"
		}
		cases = append(cases, c)
	}
	for i, got := range runRuby(t, cases) {
		tc := tableCases[i]
		if encoding := strings.HasPrefix(got.Error, "Encoding::CompatibilityError"); encoding != tc.encoding {
			t.Errorf("%+v: ruby says %s", tc, show(got))
			continue
		}
		want := rubyResult{Error: got.Error}
		if !tc.encoding && !tc.none {
			s := latin1([]byte(tc.want))
			want.Out = &s
		}
		if show(got) != show(want) {
			t.Errorf("%+v: ruby says %s", tc, show(got))
		}
	}
}

func TestReplaceCount(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		re    *Regexp
		first bool
		want  int
	}{
		{CompileLiteral("a"), false, 3},
		{CompileLiteral("a"), true, 1},
		{CompileLiteral("b"), false, 0},
		{compileCase(t, "a*", 0, false), false, 2},
		{compileCase(t, "a", 0, false), true, 1},
	} {
		if _, n, err := tc.re.Replace([]byte("aaa"), "x", tc.first); n != tc.want || err != nil {
			t.Errorf("got %d, %v, want %d", n, err, tc.want)
		}
	}
}

func TestReplacementErrors(t *testing.T) {
	t.Parallel()
	named := compileCase(t, "(?<n>a)", 0, false)
	plain := compileCase(t, "(a)", 0, false)
	for _, tc := range []struct {
		re    *Regexp
		after string
	}{
		{named, `\k<m>`}, {named, `\k<1>`}, {named, `\k<n`}, {named, `\k<>`},
		{plain, `\k<n>`}, {plain, `\k<1>`}, {CompileLiteral("a"), `\k<0>`},
	} {
		var syntax *SyntaxError
		if err := tc.re.CheckReplacement(tc.after); !errors.As(err, &syntax) {
			t.Errorf("CheckReplacement(%q) = %v", tc.after, err)
		}
		if out, n, err := tc.re.Replace([]byte("a"), tc.after, false); !errors.As(err, &syntax) || out != nil || n != 0 {
			t.Errorf("Replace(%q) = %q, %d, %v", tc.after, out, n, err)
		}
	}
	if err := plain.CheckReplacement("\xff"); !errors.Is(err, ErrEncoding) {
		t.Errorf("invalid UTF-8: %v", err)
	}
	if out, n, err := CompileLiteral("\xff").Replace([]byte("abc"), "x", false); n != 0 || err != nil {
		t.Errorf("broken literal: %q, %d, %v", out, n, err)
	}
}

// slow backtracks for ages: every way to split the letters fails at the end.
const slow = `(?:(a+)+)+b\1`

func TestTimeout(t *testing.T) {
	t.Parallel()
	re, err := Compile(slow, Options{}, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	out, n, err := re.Replace(bytes.Repeat([]byte("a"), 5000), "x", false)
	if !errors.Is(err, ErrTimeout) || out != nil || n != 0 {
		t.Errorf("got %d bytes, %d, %v, want ErrTimeout", len(out), n, err)
	}
}

func TestStackLimit(t *testing.T) {
	t.Parallel()
	re := compileCase(t, `(?:(a)|(b))*c`, 0, false)
	_, _, err := re.Replace(bytes.Repeat([]byte("ab"), 2<<20), "x", true)
	if !errors.Is(err, ErrStack) {
		t.Errorf("got %v, want ErrStack", err)
	}
}

func TestOutputLimit(t *testing.T) {
	t.Parallel()
	src := bytes.Repeat([]byte("a"), 100)
	const size = 99 * 100 / 2 // each letter becomes all letters before it
	for limit, want := range map[int]error{size: nil, size - 1: ErrTooLarge, 0: ErrTooLarge} {
		out, n, err := CompileLiteral("a").replace(src, "\\`", false, limit)
		if !errors.Is(err, want) || (want == nil) != (len(out) == size && n == 100) {
			t.Errorf("limit %d: got %d bytes, %d, %v, want error %v", limit, len(out), n, err, want)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	re := compileCase(t, `(\w+)=(\w+)`, 0, false)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if out, _, err := re.Replace([]byte("a=b c=d"), `\2=\1`, false); string(out) != "b=a d=c" || err != nil {
					t.Errorf("got %q, %v", out, err)
				}
			}
		})
	}
	wg.Wait()
}
