package model

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
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
	s := Step{Type: typ, Name: name, Doc: doc(def), Check: l.checked(name)}
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
		l.listField(&out, v)
	case ref == "#Choice":
		out.Kind = KindChoice
	case ref == "#Sudo", ref == "#SudoFlag":
		out.Kind, out.Rule = KindSudo, l.rule(v)
	case ref == "#Env":
		out.Kind, out.Rule = KindEnv, l.env(v)
	case isPath(ref):
		out.Kind, out.Rule = KindPath, l.rule(v)
	case v.IncompleteKind() == cue.StructKind:
		out.Kind, out.Object = KindObject, l.object(v)
	case v.IncompleteKind() == cue.StringKind:
		out.Kind, out.Rule = KindString, l.rule(v)
	case v.IncompleteKind() == cue.IntKind:
		out.Kind, out.Rule = KindInt, l.rule(v)
	default:
		l.fail(v, "a field of kind %s that refers to %q is not understood", v.IncompleteKind(), ref)
	}
	switch out.Kind {
	case KindBool, KindChoice, KindSudo, KindInt, KindEnv, KindObject, KindObjects:
		if out.Required {
			l.fail(v, "a field of this kind must be optional: its zero value means absent")
		}
	}
	if out.Writes && out.Kind != KindPath && out.Kind != KindPaths {
		l.fail(v, "only a path can have the attribute writes")
	}
	return out
}

// listField reads what a list's elements are, and how many there may be.
func (l *loader) listField(out *Field, v cue.Value) {
	var e cue.Value
	e, out.MinItems, out.MaxItems = l.items(v)
	switch ref := l.refName(e); {
	case isPath(ref):
		out.Kind, out.Rule = KindPaths, l.rule(e)
	case e.IncompleteKind() == cue.StructKind:
		out.Kind, out.Object = KindObjects, l.object(e)
	case e.IncompleteKind() == cue.IntKind:
		out.Kind, out.Rule = KindInts, l.rule(e)
	default:
		out.Kind, out.Rule = KindStrings, l.rule(e)
	}
	if bounded := out.MinItems > 0 || out.MaxItems > 0; bounded && out.Kind != KindInts && out.Kind != KindObjects {
		l.fail(v, "only lists of numbers and objects can be bounded")
	}
}

// items reads a list's element, how many are written out before the dots, and
// list.MaxItems.
func (l *loader) items(v cue.Value) (element cue.Value, least, most int) {
	op, args := v.Expr()
	switch op {
	case cue.AndOp:
		for _, a := range args {
			e, min, max := l.items(a)
			if e.Exists() {
				element = e
			}
			least, most = least+min, most+max
		}
	case cue.CallOp:
		if len(args) != 2 || fmt.Sprint(args[0]) != "list.MaxItems" {
			l.fail(v, "the function %v is not understood", args[0])
		}
		n, err := args[1].Int64()
		l.check(v, err)
		most = int(n)
	default:
		source := v.Source()
		if f, ok := source.(*ast.Field); ok {
			source = f.Value
		}
		if _, ok := source.(*ast.ListLit); !ok {
			l.fail(v, "is not understood as a list: %T", source)
		}
		element = l.element(v)
		for it, _ := v.List(); it.Next(); {
			least++
		}
	}
	return element, least, most
}

// object reads the closed definition that v refers to. Each is read once.
func (l *loader) object(v cue.Value) *Object {
	name, ok := strings.CutPrefix(l.refName(v), "#")
	if !ok {
		l.fail(v, "must refer to a definition, so that the object has a name")
	}
	for _, o := range l.objects {
		if o.Name == name {
			return o
		}
	}
	def := l.lookup("#" + name)
	if def.Allows(cue.AnyString) {
		l.fail(v, "must be closed")
	}
	attr := def.Attribute("want")
	l.check(def, attr.Err())
	want, err := attr.String(0)
	l.check(def, err)
	o := &Object{Name: name, Doc: doc(def), Want: want, Check: l.checked(name)}
	for _, f := range l.fields(def) {
		o.Fields = append(o.Fields, l.field(f))
	}
	l.objects = append(l.objects, o)
	return o
}

// checked reports whether a definition says that its fields are checked together.
func (l *loader) checked(name string) bool {
	attr := l.lookup("#" + name).Attribute("check")
	return attr.Err() == nil
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
