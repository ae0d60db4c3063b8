package main

import (
	"errors"
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		head, text string
		width      int
		want       string
	}{
		{"steps: ", "one two three", 0, "steps: one two three"},
		{"steps: ", "one two three", 20, "steps: one two three"},
		{"steps: ", "one two three", 19, "steps: one two|       three"},
		{"steps: ", "one two three", 14, "steps: one two|       three"},
		{"steps: ", "one two three", 1, "steps: one|       two|       three"},
		{"steps: ", "/a/path/that/is/longer is not broken", 20, "steps: /a/path/that/is/longer|       is not broken"},
		{"steps: ", "  indented  as it was", 40, "steps:   indented  as it was"},
		{"  ", "äöü äöü äöü", 9, "  äöü äöü|  äöü"},
		{"", "", 10, ""},
	} {
		if got := strings.Join(wrap(tc.head, tc.text, tc.width), "|"); got != tc.want {
			t.Errorf("wrap(%q, %q, %d) = %q, want %q", tc.head, tc.text, tc.width, got, tc.want)
		}
	}
}

// A message is broken for a terminal only, each statement by itself.
func TestFail(t *testing.T) {
	t.Parallel()
	err := errors.New("the first statement is long\nthe second one is\n")
	for _, tc := range []struct {
		width int
		want  string
	}{
		{0, "steps: the first statement is long\nsteps: the second one is\n"},
		{24, "steps: the first\n       statement is long\nsteps: the second one is\n"},
	} {
		var out strings.Builder
		(&terminal{err: &out, width: tc.width}).fail(exitFailed, err)
		if out.String() != tc.want {
			t.Errorf("width %d:\n%s\nwant\n%s", tc.width, &out, tc.want)
		}
	}
}
