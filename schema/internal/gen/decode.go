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
		p.f("case %q:\nbit = 1 << %d\ns.%s = %s\n", f.Name, i, camel(f.Name), decodeCall(f))
	}
	p.f("case \"guards\":\nbit = 1 << %d\ns.Guards = d.guards(m)\n", guards)
	p.f("case \"type\":\nbit = 1 << %d\ndefault:\nd.unknown(m, fields%s)\ncontinue\n}\n", guards+1, s.Name)
	p.f("if seen&bit != 0 {\nd.repeated(m)\n}\nseen |= bit\n}\n")
	if required != 0 {
		p.f("d.missing(%#b&^seen, fields%s, where{}, d.stepAt)\n", required, s.Name)
	}
	p.f("return s\n}\n\n")
}

func decodeCall(f model.Field) string {
	p := &printer{}
	place := "where{name: " + quoted(f.Name) + "}"
	switch f.Kind {
	case model.KindBool:
		p.f("d.bool(m, %s)", place)
	case model.KindChoice:
		p.f("new(d.bool(m, %s))", place)
	case model.KindSudo:
		p.f("d.sudo(m, %s, %t, %q)", place, f.Rule.Name == "#Sudo", f.Rule.Want)
	case model.KindInt:
		p.f("d.int(m, %s, %d, %d, %q)", place, *f.Rule.Min, *f.Rule.Max, f.Rule.Want)
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
