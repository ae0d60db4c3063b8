package main

import (
	"strconv"

	"steps.example/schema/internal/model"
)

// printLayouts prints the table of layouts.
func printLayouts(p *printer, m *model.Model) {
	p.f("var layouts = []*Layout{\n")
	for _, l := range m.Layouts {
		p.f("{\nName: %q,\nVars: []LayoutVar{\n", l.Name)
		for _, v := range l.Vars {
			p.f("{Name: %q, Doc: %q, Dir: %t},\n", v.Name, v.Doc, v.Dir)
		}
		p.f("},\nBases: map[Base]string{\n")
		printPairs(p, l.Bases)
		p.f("},\nTokens: map[string]string{\n")
		printPairs(p, l.Tokens)
		p.f("},\nPlaceholders: map[string]string{\n")
		printPairs(p, l.Placeholders)
		p.f("},\nVerbatim: %s,\nGrants: []Grant{\n", stringSlice(l.Verbatim))
		for _, g := range l.Grants {
			p.f("{Dir: %q, Access: %q, Approval: %q},\n", g.Dir, g.Access, g.Approval)
		}
		p.f("},\nRun: RunGrants{Reads: %s, Writes: %s},\n},\n", stringSlice(l.Run.Reads), stringSlice(l.Run.Writes))
	}
	p.f("}\n")
}

// printComposites prints the table of composites and that of unsupported types.
func printComposites(p *printer, m *model.Model) {
	p.f("var composites = map[Type]composite{\n")
	for _, c := range m.Composites {
		p.f("%q: {\nby: %q,\n", c.Type, c.By)
		if len(c.Defaults) > 0 {
			p.f("defaults: map[string]string{\n")
			printPairs(p, c.Defaults)
			p.f("},\n")
		}
		p.f("steps: map[string]string{\n")
		for _, s := range c.Steps {
			p.f("%q: %s,\n", s.Name, quote(s.Template))
		}
		p.f("},\n},\n")
	}
	p.f("}\n\nvar unsupportedTypes = map[Type]string{\n")
	printPairs(p, m.Unsupported)
	p.f("}\n")
}

// printProtected prints the table of protected names.
func printProtected(p *printer, m *model.Model) {
	p.f("var protectedNames = []ProtectedName{\n")
	for _, n := range m.Protected {
		p.f("{Name: %q, Why: %q},\n", n.Name, n.Why)
	}
	p.f("}\n")
}

func printPairs(p *printer, pairs []model.Pair) {
	for _, pair := range pairs {
		p.f("%q: %q,\n", pair.Name, pair.Template)
	}
}

func stringSlice(list []string) string {
	if len(list) == 0 {
		return "nil"
	}
	out := "[]string{"
	for _, s := range list {
		out += strconv.Quote(s) + ", "
	}
	return out + "}"
}

// quote prefers a raw string, which leaves regular expressions and JSON readable.
func quote(s string) string {
	if strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
