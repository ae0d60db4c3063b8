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
type terminal struct {
	in       io.Reader
	out, err io.Writer
	json     bool
	colour   bool
}

func stdio() *terminal {
	return &terminal{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		colour: term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
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
	fmt.Fprintf(t.err, "steps: "+format+"\n", args...)
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
