package main

import (
	"math"

	"steps.example/schema/internal/model"
)

// printTypes prints the constants and the struct of each step type.
func printTypes(p *printer, m *model.Model) {
	p.f("// The step types.\nconst (\n")
	for _, s := range m.Steps {
		p.f("Type%s Type = %q\n", s.Name, s.Type)
	}
	p.f(")\n\n")
	p.f("// Types are all step types, in the order of the schema.\nvar Types = []Type{\n")
	for _, s := range m.Steps {
		p.f("Type%s,\n", s.Name)
	}
	p.f("}\n\n")
	p.f("// The phases, in the order in which a document lists them.\nconst (\n")
	for _, ph := range m.Phases {
		p.f("%s Phase = %q\n", phaseName(ph), ph)
	}
	p.f(")\n\n// Phases are all phases, in the order in which a document lists them.\nvar Phases = []Phase{\n")
	for _, ph := range m.Phases {
		p.f("%s,\n", phaseName(ph))
	}
	p.f("}\n\n")
	for _, o := range m.Objects {
		p.doc(o.Name, o.Doc)
		p.f("type %s struct {\n", o.Name)
		printFields(p, o.Fields)
		p.f("}\n\n")
	}
	for _, s := range m.Steps {
		p.doc(s.Name, s.Doc)
		p.f("type %s struct {\n", s.Name)
		printFields(p, s.Fields)
		p.f("Guards []Guard\n}\n\n")
		p.f("// Type is [Type%s].\nfunc (*%s) Type() Type { return Type%s }\n\n", s.Name, s.Name, s.Name)
		p.f("// StepGuards are the step's guards.\nfunc (s *%s) StepGuards() []Guard { return s.Guards }\n\n", s.Name)
		p.f("func (s *%s) setGuards(g []Guard) { s.Guards = g }\n\n", s.Name)
		printWrites(p, s)
	}
}

func printFields(p *printer, fields []model.Field) {
	for _, f := range fields {
		p.doc(camel(f.Name), f.Doc)
		p.f("%s %s\n", camel(f.Name), goType(f))
	}
}

// printWrites prints the method that lists the paths that the step writes to.
func printWrites(p *printer, s model.Step) {
	p.f("func (s *%s) writes() []Path {\nvar paths []Path\n", s.Name)
	for _, f := range s.Fields {
		v := "s." + camel(f.Name)
		switch {
		case f.Kind == model.KindObjects:
			for _, sub := range f.Object.Fields {
				if sub.Writes {
					p.f("for i := range %s {\npaths = append(paths, %s[i].%s)\n}\n", v, v, camel(sub.Name))
				}
			}
		case !f.Writes:
		case f.Kind == model.KindPaths:
			p.f("paths = append(paths, %s...)\n", v)
		case f.Required:
			p.f("paths = append(paths, %s)\n", v)
		default:
			p.f("if %s != nil {\npaths = append(paths, *%s)\n}\n", v, v)
		}
	}
	p.f("return paths\n}\n\n")
}

// phaseName is PhasePostInstall for post_install_steps.
func phaseName(phase string) string {
	return "Phase" + camel(phase[:len(phase)-len("_steps")])
}

// intType is int, unless there are numbers that need more on a small machine.
func intType(r *model.Rule) string {
	if *r.Max > math.MaxInt32 {
		return "int64"
	}
	return "int"
}

func goType(f model.Field) string {
	switch f.Kind {
	case model.KindBool:
		return "bool"
	case model.KindChoice:
		return "*bool"
	case model.KindSudo:
		return "Sudo"
	case model.KindInt:
		return intType(f.Rule)
	case model.KindInts:
		return "[]" + intType(f.Rule)
	case model.KindObject:
		return "*" + f.Object.Name
	case model.KindObjects:
		return "[]" + f.Object.Name
	case model.KindString:
		return "string"
	case model.KindStrings:
		return "[]string"
	case model.KindEnv:
		return "map[string]string"
	case model.KindPaths:
		return "[]Path"
	case model.KindPath:
		if f.Required {
			return "Path"
		}
		return "*Path"
	}
	panic(unknown("the kind " + string(f.Kind)))
}
