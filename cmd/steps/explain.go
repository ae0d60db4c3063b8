package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"steps.example/interp"
	"steps.example/interp/changeset"
	"steps.example/steps"
)

const explainLong = `Say in words what a document does, step by step, or what a type of step is: its
fields, the capabilities that it may ask for, whether doing it a second time
changes anything, and what undo takes back.

A document is not verified and not compared with any tree: for what it would
change here, see steps plan. Without an argument, all types are listed.

EXAMPLES
  steps explain demo.json
  steps explain set_permissions

EXIT STATUS
  3 if the document is not valid; the others as in steps --help`

func newExplain(t *terminal) *cobra.Command {
	return &cobra.Command{
		Use: "explain [TYPE|FILE]", Short: "Say in words what a document or a step does", Long: explainLong,
		GroupID: "author", Args: atMostOne("TYPE or FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return explainTypes(t)
			case slices.Contains(steps.Types, steps.Type(args[0])):
				return explainType(t, steps.Type(args[0]))
			}
			return explainDocument(t, args[0])
		},
	}
}

// hanging prints a text in lines that fit, indented, the first one after head.
func hanging(t *terminal, head, text string) {
	for _, line := range wrap(head, strings.Join(strings.Fields(text), " "), usualWidth) {
		t.say("%s", strings.TrimRight(line, " "))
	}
}

func explainTypes(t *terminal) error {
	for _, typ := range steps.Types {
		d := steps.Describe(typ)
		if t.json {
			if err := typeObject(t, typ); err != nil {
				return err
			}
		}
		first, _, _ := strings.Cut(d.Doc, ". ")
		hanging(t, fmt.Sprintf("%-28s", typ), strings.TrimSuffix(first, "."))
	}
	return nil
}

func typeObject(t *terminal, typ steps.Type) error {
	d := steps.Describe(typ)
	fields := make([]map[string]any, 0, len(d.Fields))
	for _, f := range d.Fields {
		fields = append(fields, map[string]any{"name": f.Name, "wants": f.Wants, "required": f.Required, "doc": f.Doc})
	}
	reason, _ := steps.Unsupported(typ)
	return t.object("step_type", map[string]any{
		"name": typ, "doc": d.Doc, "fields": fields, "again": d.Again, "again_why": d.AgainWhy,
		"undo": d.Undo, "undo_why": d.UndoWhy, "trigger": d.Trigger, "capabilities": steps.MayAsk(typ), "unsupported": reason,
	})
}

func explainType(t *terminal, typ steps.Type) error {
	if t.json {
		return typeObject(t, typ)
	}
	d := steps.Describe(typ)
	hanging(t, "", string(typ)+" "+d.Doc)
	if reason, not := steps.Unsupported(typ); not {
		hanging(t, "", "This version cannot do it: "+reason+".")
	}
	t.say("\nFIELDS")
	for _, f := range d.Fields {
		text := f.Wants
		if f.Required {
			text += "; required"
		}
		if f.Doc != "" {
			text = f.Doc + " (" + text + ")"
		}
		hanging(t, fmt.Sprintf("  %-24s", f.Name), text)
	}
	hanging(t, fmt.Sprintf("  %-24s", "guards"), "conditions that must all hold for the step to be done")
	if d.Again != "" {
		t.say("")
		hanging(t, "again  ", because(map[string]string{
			"yes": "doing it a second time changes nothing", "no": "doing it a second time is not the same as once",
			"depends": "doing it a second time changes nothing, with an exception",
		}[d.Again], d.AgainWhy))
		hanging(t, "undo   ", because(map[string]string{
			"yes": "all that it changes can be taken back", "files": "not all can be taken back", "no": "it cannot be taken back",
		}[d.Undo], d.UndoWhy))
	}
	if d.Trigger {
		hanging(t, "       ", "it rebuilds a cache and can be put off, to be done once for many packages; see steps trigger")
	}
	if may := steps.MayAsk(typ); len(may) > 0 {
		hanging(t, "asks   ", "it may ask for "+strings.Join(may, ", "))
	}
	return nil
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

func explainDocument(t *terminal, path string) error {
	data, err := readInput(t, path)
	if err != nil {
		return explainUnknown(path, err)
	}
	doc, err := steps.Decode(data, steps.DefaultLimits)
	if err != nil {
		return inFile(path, err)
	}
	if t.json {
		for _, e := range interp.Explain(doc) {
			if err := t.object("step", e); err != nil {
				return err
			}
		}
		return t.object("document", map[string]any{
			"name": doc.Name, "version": doc.Version, "layout": doc.Layout, "capabilities": steps.Capabilities(doc),
		})
	}
	hanging(t, "", changeset.Printable(strings.TrimSpace(doc.Name+" "+doc.Version))+", for the layout "+doc.Layout)
	phase := steps.Phase("")
	for _, e := range interp.Explain(doc) {
		if e.Phase != phase {
			phase = e.Phase
			t.say("\n%s", phase)
		}
		explainStep(t, e)
	}
	t.say("")
	if asks := steps.Capabilities(doc); len(asks) > 0 {
		hanging(t, "It asks for ", strings.Join(asks, ", ")+".")
	} else {
		t.say("It asks for no approval.")
	}
	return nil
}

func explainStep(t *terminal, e interp.Explained) {
	text := e.Text
	if len(e.Conditions) > 0 {
		text += "; " + strings.Join(e.Conditions, " and ")
	}
	hanging(t, fmt.Sprintf("%4d  ", e.Step), text)
	if e.Unsupported != "" {
		hanging(t, "      ", "(cannot be done yet: "+e.Unsupported+")")
	}
	var notes []string
	if len(e.Capabilities) > 0 {
		notes = append(notes, "asks for "+strings.Join(e.Capabilities, ", "))
	}
	switch e.Again {
	case "no":
		notes = append(notes, "not the same when done again")
	case "depends":
		notes = append(notes, "not always the same when done again: see steps explain "+string(e.Type))
	}
	switch e.Undo {
	case "files":
		notes = append(notes, "cannot be taken back as a whole")
	case "no":
		notes = append(notes, "cannot be taken back")
	}
	if len(notes) > 0 {
		hanging(t, "      ", "("+strings.Join(notes, "; ")+")")
	}
}

// explainUnknown helps where a name is neither a type nor a file.
func explainUnknown(name string, err error) error {
	if strings.ContainsAny(name, "./") {
		return err
	}
	return usagef("%s is no type of step, and no file: %w; steps explain lists the types", name, err)
}
