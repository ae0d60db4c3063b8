package model

import (
	"cuelang.org/go/cue"
)

// rule reads the named definition that v refers to. Each is read once.
func (l *loader) rule(v cue.Value) *Rule {
	name := l.refName(v)
	if name == "" {
		if _, p := v.ReferencePath(); len(p.Selectors()) == 0 && v.Path().String() != "" && len(v.Path().Selectors()) == 1 {
			name = v.Path().String()
		}
	}
	if name == "" {
		l.fail(v, "must refer to a definition, so that the rule has a name")
	}
	if r, ok := l.rules[name]; ok {
		return r
	}
	r := &Rule{Name: name}
	l.rules[name] = r
	def := l.lookup(name)
	attr := def.Attribute("want")
	if attr.Err() == nil {
		want, err := attr.String(0)
		l.check(def, err)
		r.Want = want
	}
	switch {
	case isPath(name) || name == "#Guard":
		l.arms(r, def)
	case name == "#Sudo":
		// Its three values are the Go type's.
	default:
		if r.Want == "" {
			l.fail(def, "needs the attribute want")
		}
		l.bounds(r, def)
	}
	return r
}

// bounds reads the conjuncts of a scalar into r.
func (l *loader) bounds(r *Rule, v cue.Value) *Rule {
	op, args := v.Expr()
	switch op {
	case cue.AndOp:
		for _, a := range args {
			l.bounds(r, a)
		}
	case cue.RegexMatchOp:
		r.Match = append(r.Match, l.string(args[0]))
	case cue.NotRegexMatchOp:
		r.NoMatch = append(r.NoMatch, l.string(args[0]))
	case cue.GreaterThanEqualOp, cue.LessThanEqualOp:
		n, err := args[0].Int64()
		l.check(v, err)
		if op == cue.GreaterThanEqualOp {
			r.Min = &n
		} else {
			r.Max = &n
		}
	case cue.NoOp:
		if k := v.IncompleteKind(); v.IsConcrete() || (k != cue.StringKind && k != cue.IntKind && k != cue.BoolKind) {
			l.fail(v, "a scalar of kind %s is not understood", k)
		}
	case cue.SelectorOp:
		l.bounds(r, cue.Dereference(v))
	default:
		l.fail(v, "the operator %s is not understood", op)
	}
	return r
}

// arms reads the alternatives of a path or guard.
func (l *loader) arms(r *Rule, def cue.Value) {
	op, args := def.Expr()
	if op != cue.OrOp {
		l.fail(def, "must be a disjunction")
	}
	for _, a := range args {
		if a.IncompleteKind() == cue.StringKind {
			r.Arms = append(r.Arms, Arm{Text: l.rule(a)})
			continue
		}
		if a.Allows(cue.AnyString) {
			l.fail(a, "must be closed")
		}
		arm := Arm{}
		for _, f := range l.fields(a) {
			af := ArmField{Name: f.name, Required: !f.optional}
			switch c, err := f.value.String(); {
			case err == nil:
				af.Const = c
			case l.refName(f.value) != "":
				af.Rule = l.rule(f.value)
			default:
				af.Rule = l.bounds(&Rule{}, f.value)
			}
			arm.Fields = append(arm.Fields, af)
		}
		r.Arms = append(r.Arms, arm)
	}
}
