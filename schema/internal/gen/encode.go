package main

import "steps.example/schema/internal/model"

// printEncode prints the canonical encoder of each step type: type first, then the
// fields in the schema's order, those that are absent left out, guards last.
func printEncode(p *printer, m *model.Model) {
	for _, s := range m.Steps {
		p.f("func (s *%s) appendJSON(b []byte) []byte {\n", s.Name)
		p.f("b = append(b, `{\"type\":%q`...)\n", s.Type)
		for _, f := range s.Fields {
			printEncodeField(p, f)
		}
		p.f("b = appendGuards(b, s.Guards)\nreturn append(b, '}')\n}\n\n")
	}
	for _, o := range m.Objects {
		p.f("func append%s(b []byte, s %s) []byte {\nstart := len(b)\n", o.Name, o.Name)
		for _, f := range o.Fields {
			printEncodeField(p, f)
		}
		p.f("return appendObject(b, start)\n}\n\n")
	}
}

func printEncodeField(p *printer, f model.Field) {
	v := "s." + camel(f.Name)
	absent := map[model.Kind]string{
		model.KindBool: "%s", model.KindChoice: "%s != nil", model.KindSudo: "%s != \"\"", model.KindInt: "%s != 0",
		model.KindString: "%s != \"\"", model.KindStrings: "len(%s) > 0", model.KindEnv: "len(%s) > 0",
		model.KindPath: "%s != nil", model.KindPaths: "len(%s) > 0", model.KindInts: "len(%s) > 0",
		model.KindObject: "%s != nil", model.KindObjects: "%s != nil",
	}
	if !f.Required {
		p.f("if "+absent[f.Kind]+" {\n", v)
	}
	p.f("b = append(b, `,%q:`...)\n", f.Name)
	switch f.Kind {
	case model.KindBool:
		p.f("b = append(b, \"true\"...)\n")
	case model.KindChoice:
		p.f("b = strconv.AppendBool(b, *%s)\n", v)
	case model.KindSudo:
		p.f("b = appendSudo(b, %s)\n", v)
	case model.KindInt:
		p.f("b = strconv.AppendInt(b, int64(%s), 10)\n", v)
	case model.KindString:
		p.f("b = appendString(b, %s)\n", v)
	case model.KindStrings:
		p.f("b = appendStrings(b, %s)\n", v)
	case model.KindEnv:
		p.f("b = appendEnv(b, %s)\n", v)
	case model.KindInts:
		p.f("b = appendInts(b, %s)\n", v)
	case model.KindObject:
		p.f("b = append%s(b, *%s)\n", f.Object.Name, v)
	case model.KindObjects:
		p.f("b = appendList(b, %s, append%s)\n", v, f.Object.Name)
	case model.KindPaths:
		p.f("b = appendPaths(b, %s)\n", v)
	case model.KindPath:
		if !f.Required {
			v = "*" + v
		}
		p.f("b = appendPath(b, %s)\n", v)
	}
	if !f.Required {
		p.f("}\n")
	}
}
