package changeset

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// Renderer writes changesets for people.
type Renderer struct {
	// Short shortens a path for display; nil leaves it.
	Short func(string) string
	// Before reads what a changed file held; nil, or false, shows no diff.
	Before func(*Change) ([]byte, bool)
	// Style wraps a verb's text, say in colour; nil leaves it.
	Style func(Verb, string) string
}

// maxDiff is the size, in bytes, up to which two versions of a text are shown
// as a diff.
const maxDiff = 64 << 10

// Render writes one line a change, in path order, and a unified diff under the
// changes of texts.
func (r Renderer) Render(w io.Writer, cs *Changeset) error {
	var out strings.Builder
	for i := range cs.Changes {
		r.change(&out, &cs.Changes[i])
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (r Renderer) short(p string) string {
	if r.Short == nil {
		return p
	}
	return r.Short(p)
}

func (r Renderer) change(out *strings.Builder, c *Change) {
	verb := fmt.Sprintf("%-8s", c.Verb())
	if r.Style != nil {
		verb = r.Style(c.Verb(), verb)
	}
	fmt.Fprintf(out, "%s %s\n", verb, r.describe(c))
	if c.Verb() == Replace && c.Content != nil && c.Content.Origin == nil {
		r.diff(out, c)
	}
}

func (r Renderer) describe(c *Change) string {
	name := Printable(r.short(c.Path))
	st := c.After
	if st == nil {
		st = c.Before
	}
	if st == nil {
		return name
	}
	if st.Kind == Dir {
		name += "/"
	}
	switch c.Verb() {
	case Delete:
		return fmt.Sprintf("%-7s      %s", st.Kind, name)
	case Modify:
		return fmt.Sprintf("%-7s %04o %s (%s)", st.Kind, st.Mode, name, attributes(c.Before, c.After))
	case Move:
		return fmt.Sprintf("%-7s %04o %s (from %s)", st.Kind, st.Mode, name, Printable(r.short(c.From)))
	}
	switch st.Kind {
	case Symlink:
		return fmt.Sprintf("symlink      %s -> %s", name, Printable(st.Target))
	case File:
		note := fmt.Sprintf("%d bytes", st.Size)
		if c.Origin != "" {
			note += ", copied from " + Printable(r.short(c.Origin))
		}
		return fmt.Sprintf("file    %04o %s (%s)", st.Mode, name, note)
	}
	return fmt.Sprintf("%-7s %04o %s", st.Kind, st.Mode, name)
}

func attributes(a, b *State) string {
	var parts []string
	if a.Mode != b.Mode {
		parts = append(parts, fmt.Sprintf("mode was %04o", a.Mode))
	}
	if !a.SameOwner(b) {
		parts = append(parts, fmt.Sprintf("owner %d:%d was %d:%d", b.UID, b.GID, a.UID, a.GID))
	}
	if a.MTime != b.MTime {
		parts = append(parts, "new time")
	}
	return strings.Join(parts, ", ")
}

func (r Renderer) diff(out *strings.Builder, c *Change) {
	if r.Before == nil || c.Before.Kind != File || c.Before.Size > maxDiff || len(c.Content.Bytes) > maxDiff {
		return
	}
	before, ok := r.Before(c)
	if !ok || !isText(before) || !isText(c.Content.Bytes) {
		return
	}
	text := udiff.Unified("before", "after", string(before), string(c.Content.Bytes))
	// The first two lines name the two sides.
	for n := 0; n < 2; n++ {
		_, text, _ = strings.Cut(text, "\n")
	}
	for line := range strings.Lines(text) {
		fmt.Fprintf(out, "         %s\n", Printable(strings.TrimSuffix(line, "\n")))
	}
}

func isText(b []byte) bool { return utf8.Valid(b) && !bytes.ContainsRune(b, 0) }

// Printable shows what a terminal would obey, or would show as something else
// than it is (control characters, marks that turn the direction of text, bytes
// that are not UTF-8), as escapes.
func Printable(s string) string {
	odd := func(r rune) bool { return r != ' ' && r != '\t' && !unicode.IsPrint(r) }
	if utf8.ValidString(s) && strings.IndexFunc(s, odd) < 0 {
		return s
	}
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
