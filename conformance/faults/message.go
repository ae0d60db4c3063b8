package faults

import (
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	columns  = 80
	maxLines = 4
)

// machinery are words that are for programmers.
var machinery = regexp.MustCompile(`%!|&\{|\bmap\[|<nil>|\b0x[0-9a-f]{4,}|errno [0-9]|\*?\b[a-z]+\.[A-Z][A-Za-z]*\b|\bgoroutine\b`)

// whereabouts is a path that a user can look at, or a receipt that can be asked for.
var whereabouts = regexp.MustCompile(`(^|[\s"(])/[^\s:;,"]|\b(receipt|transaction) [0-9]{8}T`)

// unclear lists what is wrong with the message that an error number led to: one
// message, of a few lines on a terminal, says what failed where and why, each thing
// once. With before, something had failed before that; brokered is with a broker.
func unclear(text string, errno unix.Errno, before, brokered bool) []string {
	if strings.Contains(text, `: edit "`) {
		return nil // a scripted command says that its own call failed
	}
	var out []string
	lines := 0
	for line := range strings.SplitSeq(text, "\n") {
		lines += 1 + (len("steps: ")+len([]rune(line))-1)/columns
	}
	if before {
		lines--
	}
	// Where both sides failed, each with its own store, each says so.
	if lines > maxLines && !brokered {
		out = append(out, fmt.Sprintf("the message has %d lines: %q", lines, text))
	}
	if found := machinery.FindString(text); found != "" {
		out = append(out, fmt.Sprintf("the message has %q in it: %q", found, text))
	}
	if !whereabouts.MatchString(text) {
		out = append(out, fmt.Sprintf("the message names no path: %q", text))
	}
	if !strings.Contains(text, errno.Error()) {
		out = append(out, fmt.Sprintf("the message does not say %q: %q", errno.Error(), text))
	}
	if twice := repeated(text, errno.Error()); twice != "" && !brokered {
		out = append(out, fmt.Sprintf("the message says %q twice: %q", twice, text))
	}
	return out
}

// repeated finds a part of a message that is in it twice.
func repeated(text, why string) string {
	if strings.Count(text, why) > 1 {
		return why
	}
	seen := map[string]bool{}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ':' || r == ';' || r == '\n' }) {
		part = strings.TrimSpace(part)
		// A path may well be named again.
		if len(part) < 8 || strings.HasPrefix(part, "/") {
			continue
		}
		if seen[part] {
			return part
		}
		seen[part] = true
	}
	return ""
}
