package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	suite "steps.example/conformance/jail"
)

// Whatever a case says, its lines fit a terminal.
func TestJailLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long wörds ", 30) + "\x1b[31m"
	for _, r := range []suite.Result{
		{Number: 1, Name: "read outside", Status: suite.Passed, Expected: "denied", Got: "EACCES", Mechanism: "landlock abi 7", Control: "ok"},
		{Number: 101, Name: long, Status: suite.Failed, Expected: long, Got: long, Mechanism: long, Control: long, Said: long, Why: long},
		{Number: 40, Name: "x", Status: suite.Skipped, Control: "not possible: " + long, Why: long},
	} {
		for line := range strings.SplitSeq(jailLine(r, true), "\n") {
			if utf8.RuneCountInString(line) > 80 || strings.ContainsAny(line, "\x1b") || strings.HasSuffix(line, " ") {
				t.Errorf("%q has %d characters", line, utf8.RuneCountInString(line))
			}
		}
	}
	said := suite.Result{Number: firstHandoff, Status: suite.Passed, Said: "words"}
	if quiet, loud := jailLine(said, false), jailLine(said, true); strings.Contains(quiet, "words") || !strings.Contains(loud, "words") {
		t.Errorf("quiet %q, verbose %q", quiet, loud)
	}
}
