package rubyre

import (
	"bytes"
	"errors"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzReplace checks that no pattern, text or replacement crashes, overruns
// its time or yields anything but a result or a documented error.
func FuzzReplace(f *testing.F) {
	for _, tc := range tableCases {
		f.Add(tc.pattern, tc.options, []byte(tc.text), tc.after, tc.first)
	}
	f.Add(slow, 0, bytes.Repeat([]byte("a"), 100), "x", false)
	f.Fuzz(func(t *testing.T, pattern string, options int, text []byte, after string, first bool) {
		re, err := Compile(pattern, rubyOptions(options), 100*time.Millisecond)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(pattern) {
				t.Fatalf("Compile(%q): %v", pattern, err)
			}
			return
		}
		before := bytes.Clone(text)
		began := time.Now()
		out, n, err := re.Replace(text, after, first)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("Replace(%q) took %v", pattern, took)
		}
		if !bytes.Equal(text, before) {
			t.Errorf("Replace(%q) changed its input", pattern)
		}
		var syntax *SyntaxError
		switch {
		case err == nil:
			if n == 0 && !bytes.Equal(out, text) || first && n > 1 {
				t.Errorf("Replace(%q) = %q, %d", pattern, out, n)
			}
		case errors.Is(err, ErrTimeout), errors.Is(err, ErrStack), errors.Is(err, ErrEncoding),
			errors.Is(err, ErrTooLarge), errors.As(err, &syntax):
			if out != nil || n != 0 {
				t.Errorf("Replace(%q) = %q, %d with error %v", pattern, out, n, err)
			}
		default:
			t.Errorf("Replace(%q): %v", pattern, err)
		}
	})
}

// FuzzLiteral checks literals against the standard library.
func FuzzLiteral(f *testing.F) {
	f.Add("a", []byte("banana"), "x")
	f.Add("", []byte("abc"), "-")
	f.Add("é", []byte("caf\xc3\xa9"), "e")
	f.Fuzz(func(t *testing.T, literal string, text []byte, after string) {
		if !utf8.ValidString(literal) || bytes.ContainsRune([]byte(after), '\\') || (literal == "" && !isASCII(text)) {
			return
		}
		out, n, err := CompileLiteral(literal).Replace(text, after, false)
		if err != nil {
			if !errors.Is(err, ErrEncoding) || isASCII(text) && isASCII(literal) && isASCII(after) {
				t.Fatalf("Replace: %v", err)
			}
			return
		}
		if want := bytes.ReplaceAll(text, []byte(literal), []byte(after)); !bytes.Equal(out, want) {
			t.Errorf("got %q, want %q", out, want)
		}
		if want := bytes.Count(text, []byte(literal)); n != want {
			t.Errorf("got %d replacements, want %d", n, want)
		}
	})
}
