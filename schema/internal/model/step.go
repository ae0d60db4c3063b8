package model

import (
	"strings"

	"cuelang.org/go/cue"
)

// step reads the closed definition of one step type.
func (l *loader) step(typ string, v cue.Value) Step {
	_, ref := v.ReferencePath()
	name, ok := strings.CutPrefix(ref.String(), "#")
	if !ok {
		l.fail(v, "must refer to a definition")
	}
	def := cue.Dereference(v)
	if def.Allows(cue.AnyString) {
		l.fail(v, "must be closed")
	}
	s := Step{Type: typ, Name: name, Doc: doc(def)}
	guarded := false
	for _, f := range l.fields(def) {
		switch f.name {
		case "type":
			if l.string(f.value) != typ {
				l.fail(f.value, "type must be %q", typ)
			}
		case "guards":
			guarded = l.refName(l.element(f.value)) == "#Guard"
		default:
			s.Fields = append(s.Fields, l.field(f))
		}
	}
	if !guarded {
		l.fail(v, "must embed _common")
	}
	return s
}

func (l *loader) field(f field) Field {
	v := f.value
	writes := v.Attribute("writes")
	out := Field{Name: f.name, Required: !f.optional, Doc: doc(v), Writes: writes.Err() == nil}
	switch ref := l.refName(v); {
	case ref == "" && v.IncompleteKind() == cue.BoolKind:
		out.Kind = KindBool
	case ref == "" && v.IncompleteKind() == cue.ListKind:
		e := l.element(v)
		out.Kind, out.Rule = KindStrings, l.rule(e)
		if isPath(l.refName(e)) {
			out.Kind = KindPaths
		}
	case ref == "#Choice":
		out.Kind = KindChoice
	case ref == "#Sudo", ref == "#SudoFlag":
		out.Kind, out.Rule = KindSudo, l.rule(v)
	case ref == "#Env":
		out.Kind, out.Rule = KindEnv, l.env(v)
	case isPath(ref):
		out.Kind, out.Rule = KindPath, l.rule(v)
	case v.IncompleteKind() == cue.StringKind:
		out.Kind, out.Rule = KindString, l.rule(v)
	case v.IncompleteKind() == cue.IntKind:
		out.Kind, out.Rule = KindInt, l.rule(v)
	default:
		l.fail(v, "a field of kind %s that refers to %q is not understood", v.IncompleteKind(), ref)
	}
	if out.Required && (out.Kind == KindBool || out.Kind == KindChoice || out.Kind == KindSudo || out.Kind == KindInt || out.Kind == KindEnv) {
		l.fail(v, "a field of this kind must be optional: its zero value means absent")
	}
	if out.Writes && out.Kind != KindPath && out.Kind != KindPaths {
		l.fail(v, "only a path can have the attribute writes")
	}
	return out
}

// isPath reports whether a definition is one of a path's forms.
func isPath(ref string) bool {
	switch ref {
	case "#Path", "#GlobPath", "#LinkSource", "#CommandPath":
		return true
	}
	return false
}

// refName is the definition that v refers to, or "".
func (l *loader) refName(v cue.Value) string {
	if _, p := v.ReferencePath(); len(p.Selectors()) == 1 {
		return p.String()
	}
	return ""
}

// element is the type of a list's elements.
func (l *loader) element(v cue.Value) cue.Value {
	e := v.LookupPath(cue.MakePath(cue.AnyIndex))
	if !e.Exists() {
		l.fail(v, "must be a list of any length")
	}
	return e
}

// env reads the rule for the values; the names' one must be #EnvName's.
func (l *loader) env(v cue.Value) *Rule {
	it, err := v.Fields(cue.Patterns(true))
	l.check(v, err)
	var values []cue.Value
	for it.Next() {
		names := l.rule(l.lookup("#EnvName"))
		if got := l.bounds(&Rule{}, it.Selector().Pattern()); len(got.Match) != 1 || got.Match[0] != names.Match[0] {
			l.fail(v, "the names must be those of #EnvName")
		}
		values = append(values, it.Value())
	}
	if len(values) != 1 {
		l.fail(v, "must have one pattern")
	}
	return l.rule(values[0])
}
