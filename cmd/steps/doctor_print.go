package main

import (
	"fmt"
	"io"
	"strings"

	"steps.example/interp/changeset"
)

func (d *diagnosis) print(w io.Writer) {
	line := func(what, format string, args ...any) {
		text := changeset.Printable(fmt.Sprintf(format, args...))
		fmt.Fprintf(w, "%-12s%s\n", what, wrapped(text, 12))
	}
	system := d.Support.System
	if d.Kernel != "" {
		system = "Linux " + d.Kernel + ", " + system
	}
	if d.Inside != "" {
		system += ", inside " + d.Inside
	}
	line("system", "%s, uid %d", system, d.User)
	line("steps", "%s, %s", d.Steps, d.Go)
	line("helper", "%s", orMissing(d.Helper))
	if d.Support.Landlock > 0 {
		line("landlock", "abi %d", d.Support.Landlock)
	} else {
		line("landlock", "no")
	}
	line("seccomp", "%s", yesNo(d.Support.Seccomp))
	line("namespaces", "%s", yesNo(d.Support.Namespaces))
	line("canary", "%s", d.canary())
	if c := d.Capture; c != nil {
		text := c.Mechanism
		if c.Mechanism != overlayCapture {
			text = fmt.Sprintf("snapshot (%s); no overlay: %s", c.Copies, c.Why)
		}
		line("capture", "%s", text)
	} else {
		line("capture", "not looked at; --prefix DIR says where")
	}
	fmt.Fprintln(w)
	for _, g := range d.Guarantees {
		printGuarantee(w, g.Name, g.Promise, g.By)
	}
	list := func(title string, items []string) {
		if len(items) == 0 {
			return
		}
		fmt.Fprintf(w, "\n%s\n", title)
		for _, item := range items {
			fmt.Fprintf(w, "  - %s\n", wrapped(changeset.Printable(item), 4))
		}
	}
	list("MISSING", d.Support.Missing)
	var do []string
	for _, a := range d.Advice {
		do = append(do, a.Why+": "+a.Do)
	}
	list("WHAT TO DO", do)
	if d.OK {
		fmt.Fprintln(w, "\nrun steps can run here")
	}
}

// canary is the canary's answer in a few words; surprises are the reason that is
// printed last.
func (d *diagnosis) canary() string {
	switch {
	case d.Canary == nil:
		return "not run"
	case !d.Canary.OK:
		return fmt.Sprintf("%d surprise(s)", len(d.Canary.Surprises))
	}
	return "denied what must be denied, allowed what must be allowed"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func orMissing(s string) string {
	if s == "" {
		return "not found"
	}
	return s
}

// wrapped breaks text to lines of 80 columns, all but the first indented.
func wrapped(text string, indent int) string {
	var b strings.Builder
	column := indent
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > 80:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// printGuarantee prints one guarantee and what keeps it.
func printGuarantee(w io.Writer, name, promise, by string) {
	if by == "" || by == "none" {
		by = "nothing here: a declared gap"
	}
	fmt.Fprintf(w, "%-14s%s\n%-16sby %s\n", name, wrapped(promise, 14), "", wrapped(by, 19))
}
