package rubyre

import (
	"errors"
	"strings"
	"testing"
)

// TestRefused lists patterns that must not compile, with a word of the reason.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern string
		options int
		offset  int
		reason  string
	}{
		// Malformed in Ruby too.
		{`*a`, 0, 0, "nothing to repeat"},
		{`a|+`, 0, 2, "nothing to repeat"},
		{`({2})`, 0, 1, "nothing to repeat"},
		{`a{2,1}`, 0, 1, "smaller than the lower"},
		{`a{100001}`, 0, 1, "above 100000"},
		{`(a`, 0, 0, "not closed"},
		{`(?`, 0, 0, "not closed"},
		{`(?#a`, 0, 0, "not closed"},
		{`a)`, 0, 1, "unmatched"},
		{`[a`, 0, 0, "not closed"},
		{`[]`, 0, 0, "not closed"},
		{`[z-a]`, 0, 1, "backwards"},
		{`[a-\d]`, 0, 3, "end a range"},
		{`[\w-z]`, 0, 3, "ambiguous"},
		{`[[:foo:]]`, 0, 1, "unknown"},
		{`\`, 0, 0, "ends in a backslash"},
		{`[\`, 0, 1, "ends in a backslash"},
		{`\xff`, 0, 0, "above 7F"},
		{`\377`, 0, 0, "above 7F"},
		{`\400`, 0, 0, "above 7F"},
		{`\xg`, 0, 0, "hexadecimal"},
		{`\u12`, 0, 0, "four"},
		{`\ud800`, 0, 0, "not a character"},
		{`\u{110000}`, 0, 0, "not a character"},
		{`\u{}`, 0, 0, "no character"},
		{`\u{61`, 0, 0, "not closed"},
		{`(a)\2`, 0, 3, "does not exist"},
		{`\8`, 0, 0, "does not exist"},
		{`(a)\k<-2>`, 0, 3, "does not exist"},
		{`(?<n>a)\1`, 0, 7, "use the name"},
		{`\k<n>(?<n>a)`, 0, 0, "undefined"},
		{`(?<>a)`, 0, 3, "empty"},
		{`(?<1>a)`, 0, 3, "identifier"},
		{`(?z)`, 0, 2, "unknown group option"},
		{`(?^:a)`, 0, 2, "unknown group option"},
		{`(?<=a*)b`, 0, 0, "variable length"},
		{`(?<=a(?:b|cc))d`, 0, 0, "different lengths"},
		{`(?<=(?i)a|bc)d`, 0, 0, "different lengths"},
		{`(?<!(a))b`, 0, 0, "capturing"},
		{`(?<!(?<=(a)))b`, 0, 0, "capturing"},
		{`(?<=a(?=b))b`, 0, 0, "look-ahead"},
		{`(?<=(?>a))b`, 0, 0, "atomic"},
		{`(a)(?<=\1)b`, 0, 3, "back-reference in"},
		{`(?<=a\z)b`, 0, 0, `\z in`},
		{"a\xff", 0, 1, "UTF-8"},
		// Valid in Ruby, refused here.
		{`a\R`, 0, 1, "line break"},
		{`\X`, 0, 0, "grapheme"},
		{`a\Kb`, 0, 1, "keep"},
		{`\Ga`, 0, 0, "search start"},
		{`(?<n>a)\g<n>`, 0, 7, "subexpression call"},
		{`\cA`, 0, 0, "control"},
		{`\C-a`, 0, 0, "control"},
		{`\M-a`, 0, 0, "meta"},
		{`\y`, 0, 0, `\y`},
		{`[\R]`, 0, 1, `\R`},
		{`(?~a)`, 0, 0, "absence"},
		{`(a)?(?(1)b)`, 0, 4, "conditional"},
		{`(?a:\w)`, 0, 2, "character set option"},
		{`(?<a>a)|(?<a>b)`, 0, 8, "two groups"},
		{`(a\1)`, 0, 2, "own group"},
		{`(a)\k<1+1>`, 0, 6, "level"},
		{`(?<n>a)\k<n+1>`, 0, 10, "level"},
		{`\p{L}`, 0, 0, "property"},
		{`\p{Punct}`, 0, 0, "property"},
		{`\pL`, 0, 0, "braces"},
		{`é`, 1, 0, "ignore-case"},
		{`é[a]`, 1, 0, "ignore-case"},
		{`\p{Alpha}`, 1, 0, "ignore-case"},
		{`[a-c-e]`, 0, 4, "ambiguous"},
		{`[--a]`, 0, 1, "ambiguous"},
		{`[a-[b]]`, 0, 3, "ambiguous"},
		{`[a&&]`, 0, 4, "empty operand"},
		{`[&&a]`, 0, 1, "empty operand"},
		{`[[:]`, 0, 1, "ambiguous"},
		{`[\u{61 62}]`, 0, 1, "list"},
		{`(?<=(a){2})b`, 0, 0, "capturing"},
		{`()\1\b`, 0, 4, "right after a back-reference"},
		{`(a?)\1(?:)(?=^)`, 0, 13, "right after a back-reference"},
		{`(a?)(?:\bx?\1)+`, 0, 7, "right after a back-reference"},
		{`(?<n>a*)\k<n>?\B`, 0, 14, "right after a back-reference"},
		{`(?:a?){2}`, 0, 6, "match nothing"},
		{`(?:a{1000}){100000}`, 0, 0, "longer than"},
		{`(?=(?:a{1000}){100000})`, 0, 14, "longer than"},
		{`(?:(?:a{1000}){100000}){0}`, 0, 14, "longer than"},
		{"a\vb", 2, 1, "vertical tab"},
		{"a\u2028b", 2, 1, "white space"},
		{strings.Repeat("(", 200), 0, 100, "nested"},
		{strings.Repeat("[a", 200), 0, 0, "nested"},
		{strings.Repeat("a", 20_000), 0, 16384, "longer than"},
		{"a" + strings.Repeat("*", 30), 0, 0, "operators in a row"},
	} {
		_, err := Compile(tc.pattern, rubyOptions(tc.options), long)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("Compile(%q) = %v, want a SyntaxError", tc.pattern, err)
			continue
		}
		if !strings.Contains(syntax.Reason, tc.reason) {
			t.Errorf("Compile(%q): reason %q does not mention %q", tc.pattern, syntax.Reason, tc.reason)
		}
		if tc.offset > 0 && syntax.Offset != tc.offset {
			t.Errorf("Compile(%q): offset %d, want %d", tc.pattern, syntax.Offset, tc.offset)
		}
		if len(syntax.Error()) > 600 {
			t.Errorf("Compile(%.20q...): message of %d bytes", tc.pattern, len(syntax.Error()))
		}
	}
}

// TestAccepted lists patterns that come close to a refusal.
func TestAccepted(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		`(a)\1\b`, `^(\s*)a\n\1b`, `(a?)\1$`, `(a?)\1b\b`, `(a?)(?:\b\1x)+`, `(?:a?b){2}`, `(?:a?){0,2}`, `(?<=(a|b){1})c`, `[a-c-]`, `a{2}{3}`,
	} {
		if _, err := Compile(pattern, Options{}, long); err != nil {
			t.Errorf("Compile(%q) = %v", pattern, err)
		}
	}
}

func TestCompileNeedsTimeout(t *testing.T) {
	t.Parallel()
	if _, err := Compile("a", Options{}, 0); err == nil {
		t.Error("a zero timeout was accepted")
	}
}
