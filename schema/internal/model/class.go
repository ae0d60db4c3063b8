package model

import (
	"maps"
	"slices"

	"cuelang.org/go/cue"
)

// A Class says what doing a step again changes, and what undo takes back.
type Class struct {
	Again, AgainWhy string
	Undo, UndoWhy   string
	Trigger         bool
}

// classes reads the class of each step type, which all have but those that are not
// done yet.
func (l *loader) classes(steps []Step, unsupported []Pair) map[string]Class {
	out := map[string]Class{}
	for _, f := range l.fields(l.lookup("#Classes")) {
		if !slices.ContainsFunc(steps, func(s Step) bool { return s.Type == f.name }) {
			l.fail(f.value, "is no step type")
		}
		text := func(name string) string {
			v := f.value.LookupPath(cue.ParsePath(name))
			if !v.Exists() {
				return ""
			}
			return l.string(v)
		}
		l.check(f.value, f.value.Validate(cue.Concrete(true)))
		trigger, err := f.value.LookupPath(cue.ParsePath("trigger")).Bool()
		l.check(f.value, err)
		out[f.name] = Class{text("again"), text("again_why"), text("undo"), text("undo_why"), trigger}
	}
	known := slices.Collect(maps.Keys(out))
	for _, u := range unsupported {
		known = append(known, u.Name)
	}
	for _, s := range steps {
		if !slices.Contains(known, s.Type) {
			l.fail(l.lookup("#Classes"), "has no class for %s", s.Type)
		}
	}
	return out
}
