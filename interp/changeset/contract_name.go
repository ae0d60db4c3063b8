package changeset

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// name refuses names that show as something else than they are.
func (j *contractJudge) name(c *Change) {
	name := filepath.Base(c.Path)
	if strings.HasPrefix(name, Reserved) {
		j.add(c.Path, "name", "names that begin with "+Reserved+" are reserved for transactions; let the command use another one", "")
	}
	if c.After == nil {
		return // what goes away needs no good name
	}
	text := name
	if c.After.Kind == Symlink {
		text += c.After.Target
	}
	switch {
	case !utf8.ValidString(text):
		j.add(c.Path, "name", "the name, or the link's text, is not UTF-8; let the command use another one", "")
	case c.Before != nil:
		// It had its name before the command.
	case strings.ContainsFunc(name, invisible):
		j.add(c.Path, "name", "the name holds a control character, or one that turns the direction of text; let the command use another one", "")
	case dotsInDisguise(name):
		j.add(c.Path, "name", fmt.Sprintf("the name %q looks like . or ..; let the command use another one", name), "")
	}
}

func invisible(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// dotsInDisguise reports whether nothing but one or two dots can be seen of name.
func dotsInDisguise(name string) bool {
	shown := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		return r
	}, norm.NFKC.String(name))
	return shown == "." || shown == ".."
}
