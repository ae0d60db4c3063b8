package main

import (
	"strings"

	"steps.example/schema/internal/model"
)

// printDecode prints the strict decoder of each step type. It also validates: what it
// returns without a fault keeps every rule of the schema.
func printDecode(p *printer, m *model.Model) {
	p.f("var decoders = map[Type]func(*decoder) Step{\n")
	for _, s := range m.Steps {
		p.f("Type%s: decode%s,\n", s.Name, s.Name)
	}
	p.f("}\n\n")
	for _, s := range m.Steps {
		printDecodeStep(p, s)
	}
	for _, o := range m.Objects {
		printDecodeObject(p, o)
	}
}

func printDecodeStep(p *printer, s model.Step) {
	p.f("var fields%s = []string{", s.Name)
	required := 0
	for i, f := range s.Fields {
		p.f("%q, ", f.Name)
		if f.Required {
			required |= 1 << i
		}
	}
	guards := len(s.Fields)
	p.f("%q}\n\nfunc decode%s(d *decoder) Step {\ns := &%s{}\nvar seen, bit uint64\n", "guards", s.Name, s.Name)
	p.f("for i := range d.members {\nm := &d.members[i]\nswitch string(m.key) {\n")
	for i, f := range s.Fields {
		p.f("case %q:\nbit = 1 << %d\ns.%s = %s\n", f.Name, i, camel(f.Name), decodeCall(f, "where{name: "+quoted(f.Name)+"}"))
	}
	p.f("case \"guards\":\nbit = 1 << %d\ns.Guards = d.guards(m)\n", guards)
	p.f("case \"type\":\nbit = 1 << %d\ndefault:\nd.unknown(m, fields%s)\ncontinue\n}\n", guards+1, s.Name)
	p.f("if seen&bit != 0 {\nd.repeated(m)\n}\nseen |= bit\n}\n")
	if required != 0 {
		p.f("d.missing(%#b&^seen, fields%s, where{}, d.stepAt)\n", required, s.Name)
	}
	if s.Check {
		p.f("d.check%s(s)\n", s.Name)
	}
	p.f("return s\n}\n\n")
}

// printDecodeObject prints the decoder of an object in a step's field. It keeps its
// members for itself: what it decodes may have objects in it.
func printDecodeObject(p *printer, o *model.Object) {
	p.f("var fields%s = []string{", o.Name)
	required := 0
	for i, f := range o.Fields {
		p.f("%q, ", f.Name)
		if f.Required {
			required |= 1 << i
		}
	}
	p.f("}\n\nfunc (d *decoder) object%s(val, _ int, w where) (s %s) {\n", o.Name, o.Name)
	p.f("members, ok := d.object(val, w, %q)\nif !ok {\nreturn s\n}\nvar seen, bit uint64\n", o.Want)
	p.f("for i := range members {\nm := &members[i]\nswitch string(m.key) {\n")
	for i, f := range o.Fields {
		p.f("case %q:\nbit = 1 << %d\ns.%s = %s\n", f.Name, i, camel(f.Name), decodeCall(f, "where{outer: &w, name: "+quoted(f.Name)+"}"))
	}
	p.f("default:\nd.unknownIn(m, w, %q, fields%s)\ncontinue\n}\n", o.Want, o.Name)
	p.f("if seen&bit != 0 {\nd.repeated(m)\n}\nseen |= bit\n}\n")
	if required != 0 {
		p.f("d.missing(%#b&^seen, fields%s, w, val)\n", required, o.Name)
	} else {
		p.f("_ = seen // nothing is required\n")
	}
	if o.Check {
		p.f("d.check%s(s, members, w)\n", o.Name)
	}
	p.f("return s\n}\n\n")
}

func decodeCall(f model.Field, place string) string {
	p := &printer{}
	switch f.Kind {
	case model.KindBool:
		p.f("d.bool(m, %s)", place)
	case model.KindChoice:
		p.f("new(d.bool(m, %s))", place)
	case model.KindSudo:
		p.f("d.sudo(m, %s, %t, %q)", place, f.Rule.Name == "#Sudo", f.Rule.Want)
	case model.KindInt:
		call := "d.int(m.val, m.end, %s, %d, %d, %q)"
		if intType(f.Rule) == "int" {
			call = "int(" + call + ")"
		}
		p.f(call, place, *f.Rule.Min, *f.Rule.Max, f.Rule.Want)
	case model.KindInts:
		p.f("d.ints(m, %s, items{%d, %d}, %d, %d, %q)", place, f.MinItems, f.MaxItems, *f.Rule.Min, *f.Rule.Max, f.Rule.Want)
	case model.KindObject:
		p.f("new(d.object%s(m.val, m.end, %s))", f.Object.Name, place)
	case model.KindObjects:
		p.f("objects(d, m, %s, items{%d, %d}, d.object%s)", place, f.MinItems, f.MaxItems, f.Object.Name)
	case model.KindString:
		p.f("d.string(m.val, m.end, %s, &%s)", place, ruleName(f.Rule))
	case model.KindStrings:
		p.f("d.strings(m, %s, &%s)", place, ruleName(f.Rule))
	case model.KindEnv:
		p.f("d.env(m, %s, &ruleEnvName, &%s)", place, ruleName(f.Rule))
	case model.KindPath:
		call := "path"
		if !f.Required {
			call = "optionalPath"
		}
		p.f("d.%s(m, %s, &%s)", call, place, formName(f.Rule))
	case model.KindPaths:
		p.f("d.paths(m, %s, &%s)", place, formName(f.Rule))
	}
	return p.String()
}

func ruleName(r *model.Rule) string { return "rule" + strings.TrimPrefix(r.Name, "#") }
func formName(r *model.Rule) string { return "form" + strings.TrimPrefix(r.Name, "#") }
