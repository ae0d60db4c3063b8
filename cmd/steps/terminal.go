package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"steps.example/interp/changeset"
)

// terminal is where a verb prints. The rules: data goes to out, talk to err with
// "steps: " before it, in lower case and without a full stop; with --json, out
// has one object a line, each with a "type", and errors are one of them.
//
// Each line of a message is a statement of its own. Only where err is a terminal is
// it broken to fit, what follows indented: what reads it elsewhere goes by lines.
type terminal struct {
	in       io.Reader
	out, err io.Writer
	json     bool
	colour   bool
	// width is that of err in columns; 0 means that nothing is broken.
	width int
}

// usualWidth is that of a terminal that does not say.
const usualWidth = 80

func stdio() *terminal {
	return &terminal{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, width: columns(os.Stderr),
		colour: term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
}

// columns is the width of a terminal; 0 for what is none.
func columns(f *os.File) int {
	if !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return usualWidth
}

// wrap breaks a line of text after head at spaces, where it does not fit, and indents
// what follows. What has no space is not broken. Width 0 breaks nothing.
func wrap(head, text string, width int) []string {
	line, indent := []rune(head+text), len([]rune(head))
	var out []string
	for width > 0 && len(line) > width {
		at := -1
		for i := indent + 1; i < len(line) && (i <= width || at < 0); i++ {
			if line[i] == ' ' {
				at = i
			}
		}
		if at < 0 {
			break
		}
		out = append(out, strings.TrimRight(string(line[:at]), " "))
		line = append([]rune(strings.Repeat(" ", indent)), []rune(strings.TrimLeft(string(line[at:]), " "))...)
	}
	return append(out, string(line))
}

// object prints one JSON object, its type first.
func (t *terminal) object(kind string, fields any) error {
	raw, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	line := fmt.Sprintf(`{"type":%q`, kind)
	if body := strings.TrimPrefix(string(raw), "{"); body != "}" {
		line += "," + body
	} else {
		line += "}"
	}
	_, err = fmt.Fprintln(t.out, line)
	return err
}

// say prints for people; nothing with --json.
func (t *terminal) say(format string, args ...any) {
	if !t.json {
		fmt.Fprintf(t.out, format+"\n", args...)
	}
}

// talk prints a message beside the data.
func (t *terminal) talk(format string, args ...any) {
	for _, line := range wrap("steps: ", fmt.Sprintf(format, args...), t.width) {
		fmt.Fprintln(t.err, line)
	}
}

// warn prints what went wrong beside what was done.
func (t *terminal) warn(err error) { t.message("WARNING: ", err) }

// fail prints the error that ends the command.
func (t *terminal) fail(code int, err error) {
	if t.json {
		// Nothing can be done about an output that is gone.
		_ = t.object("error", map[string]any{"code": code, "message": err.Error()})
	}
	t.message("", err)
}

func (t *terminal) message(head string, err error) {
	for line := range strings.SplitSeq(strings.TrimRight(head+err.Error(), "\n"), "\n") {
		t.talk("%s", changeset.Printable(line))
	}
}

func (t *terminal) style(v changeset.Verb, s string) string {
	if !t.colour {
		return s
	}
	codes := map[changeset.Verb]string{
		changeset.Create: "32", changeset.Delete: "31", changeset.Replace: "33", changeset.Modify: "33", changeset.Move: "36",
	}
	return "\x1b[" + codes[v] + "m" + s + "\x1b[0m"
}

// multiline makes each line of a message fit for the terminal.
func multiline(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range lines {
		lines[i] = changeset.Printable(lines[i])
	}
	return strings.Join(lines, "\n         ")
}
