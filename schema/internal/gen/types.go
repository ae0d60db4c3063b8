package main

import "steps.example/schema/internal/model"

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
	for _, s := range m.Steps {
		p.doc(s.Name, s.Doc)
		p.f("type %s struct {\n", s.Name)
		for _, f := range s.Fields {
			p.doc(camel(f.Name), f.Doc)
			p.f("%s %s\n", camel(f.Name), goType(f))
		}
		p.f("Guards []Guard\n}\n\n")
		p.f("// Type is [Type%s].\nfunc (*%s) Type() Type { return Type%s }\n\n", s.Name, s.Name, s.Name)
		p.f("// StepGuards are the step's guards.\nfunc (s *%s) StepGuards() []Guard { return s.Guards }\n\n", s.Name)
		p.f("func (s *%s) setGuards(g []Guard) { s.Guards = g }\n\n", s.Name)
		printWrites(p, s)
	}
}

// printWrites prints the method that lists the paths that the step writes to.
func printWrites(p *printer, s model.Step) {
	p.f("func (s *%s) writes() []Path {\nvar paths []Path\n", s.Name)
	for _, f := range s.Fields {
		v := "s." + camel(f.Name)
		switch {
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

func goType(f model.Field) string {
	switch f.Kind {
	case model.KindBool:
		return "bool"
	case model.KindChoice:
		return "*bool"
	case model.KindSudo:
		return "Sudo"
	case model.KindInt:
		return "int"
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
