package merge3

import (
	"bytes"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// MaxText bounds, in bytes, each of the texts that are merged.
const MaxText = 1 << 20

// Result is a merged text.
type Result struct {
	Text []byte
	// Conflicts is the number of places where both sides changed something, and
	// not the same. Each is in Text with both versions and what was there before,
	// between markers.
	Conflicts int
}

// Merge applies to ours what changed from base to theirs. It reports false where
// one of the three is no text: it has a NUL byte, or more than [MaxText] bytes.
//
// Lines end as they do in ours, if each of the three has one kind of line end.
// The last line may have none.
func Merge(base, ours, theirs []byte) (Result, bool) {
	for _, text := range [][]byte{base, ours, theirs} {
		if len(text) > MaxText || bytes.IndexByte(text, 0) >= 0 {
			return Result{}, false
		}
	}
	m := merger{eol: "\n", base: string(base), ours: string(ours), theirs: string(theirs)}
	m.sameLineEnds()
	m.merge()
	return Result{Text: []byte(m.out.String()), Conflicts: m.conflicts}, true
}

type merger struct {
	base, ours, theirs string
	eol                string // of the markers
	out                strings.Builder
	conflicts          int
}

// lineEnds tells how the lines of a text end: "" where none does, or not all do
// in the same way and uniform is false.
func lineEnds(text string) (end string, uniform bool) {
	all, crlf := strings.Count(text, "\n"), strings.Count(text, "\r\n")
	switch {
	case all == 0:
		return "", true
	case crlf == 0:
		return "\n", true
	case crlf == all:
		return "\r\n", true
	}
	return "", false
}

// sameLineEnds gives base and theirs the line ends of ours: an editor that changed
// all of them changed no line.
func (m *merger) sameLineEnds() {
	want, ok := lineEnds(m.ours)
	_, okBase := lineEnds(m.base)
	_, okTheirs := lineEnds(m.theirs)
	if !ok || !okBase || !okTheirs || want == "" {
		return
	}
	m.eol = want
	for _, text := range []*string{&m.base, &m.theirs} {
		*text = strings.ReplaceAll(strings.ReplaceAll(*text, "\r\n", "\n"), "\n", want)
	}
}

// side walks along the edits that lead from base to one of the other texts.
type side struct {
	text  string
	edits []udiff.Edit
	// shift is how far the text is ahead of base behind the edits that are done.
	shift int
}

// take passes the next edit if it begins at or before end, and gives where the
// place that both are part of ends.
func (s *side) take(end int) (int, bool) {
	if len(s.edits) == 0 || s.edits[0].Start > end {
		return end, false
	}
	e := s.edits[0]
	s.edits = s.edits[1:]
	s.shift += len(e.New) - (e.End - e.Start)
	return max(end, e.End), true
}

// next is where the next edit begins, or limit.
func (s *side) next(limit int) int {
	if len(s.edits) == 0 {
		return limit
	}
	return min(limit, s.edits[0].Start)
}

func (m *merger) merge() {
	a := side{text: m.ours, edits: udiff.Lines(m.base, m.ours)}
	b := side{text: m.theirs, edits: udiff.Lines(m.base, m.theirs)}
	at := 0
	for len(a.edits) > 0 || len(b.edits) > 0 {
		start := b.next(a.next(len(m.base)))
		m.out.WriteString(m.base[at:start])
		startA, startB := start+a.shift, start+b.shift
		// Edits that touch are one place.
		end := start
		for more := true; more; {
			var inA, inB bool
			end, inA = a.take(end)
			end, inB = b.take(end)
			more = inA || inB
		}
		m.place(m.base[start:end], a.text[startA:end+a.shift], b.text[startB:end+b.shift])
		at = end
	}
	m.out.WriteString(m.base[at:])
}

// place writes what becomes of one place.
func (m *merger) place(base, ours, theirs string) {
	switch {
	case ours == theirs, theirs == base:
		m.out.WriteString(ours)
	case ours == base:
		m.out.WriteString(theirs)
	default:
		m.conflicts++
		m.marked("<<<<<<< yours", ours)
		m.marked("||||||| the package's, before", base)
		m.marked("=======", theirs)
		m.marked(">>>>>>> the package's, now", "")
	}
}

// marked writes a marker and the text under it, whose last line is ended.
func (m *merger) marked(marker, text string) {
	m.out.WriteString(marker + m.eol + text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		m.out.WriteString(m.eol)
	}
}
