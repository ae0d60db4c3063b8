package main

import (
	"slices"
	"strings"

	"steps.example/schema/internal/model"
)

// printDescriptions prints what is to be said about each step type.
func printDescriptions(p *printer, m *model.Model) {
	p.f("var descriptions = map[Type]Description{\n")
	for _, s := range m.Steps {
		c := m.Classes[s.Type]
		p.f("%q: {\nDoc: %q,\n", s.Type, sentence(s.Name, s.Doc))
		p.f("Fields: []FieldDescription{\n")
		for _, f := range s.Fields {
			p.f("{Name: %q, Wants: %q, Required: %t, Doc: %q},\n", f.Name, wants(f), f.Required, sentence(camel(f.Name), f.Doc))
		}
		p.f("},\nAgain: %q, AgainWhy: %q,\nUndo: %q, UndoWhy: %q,\nWrites: %t, Trigger: %t,\n},\n",
			c.Again, c.AgainWhy, c.Undo, c.UndoWhy, slices.ContainsFunc(s.Fields, writes), c.Trigger)
	}
	p.f("}\n")
}

// writes reports whether a field, or one of an object in it, is a path that the
// step writes to.
func writes(f model.Field) bool {
	return f.Writes || f.Object != nil && slices.ContainsFunc(f.Object.Fields, writes)
}

// sentence is a comment without the name that it begins with.
func sentence(name string, lines []string) string {
	text := strings.Join(lines, " ")
	if first, rest, ok := strings.Cut(text, " "); ok && strings.EqualFold(first, name) {
		text = rest
	}
	return text
}

// wants says in words what a field takes.
func wants(f model.Field) string {
	switch f.Kind {
	case model.KindPath:
		return "a path"
	case model.KindPaths:
		return "a list of paths"
	case model.KindStrings, model.KindInts, model.KindObjects:
		return "a list; each: " + f.Want()
	case model.KindEnv:
		return "an object from names to values"
	}
	return f.Want()
}
