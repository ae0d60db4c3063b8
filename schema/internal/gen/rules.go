package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"steps.example/schema/internal/model"
)

// textRules are the rules for a path's text that package steps has written out by hand.
var textRules = []string{"#AbsoluteText", "#RelativeText", "#LinkText", "#CommandText", "#CommandName"}

// printRules prints the rules for scalars, paths and tokens.
func printRules(p *printer, m *model.Model) {
	p.f("import (\n\"regexp\"\n\"sync\"\n)\n\n")
	p.f("// maxUndo is how many names \"..\" may undo, nested, in a path beneath a base.\nconst maxUndo = %d\n\n", m.MaxUndo)
	printTokens(p, "isAbsoluteToken", m.AbsoluteTokens)
	printTokens(p, "isValueToken", m.ValueTokens)
	p.f("var placeholderNames = []string{%s}\n\n", quotedList(m.Placeholders))
	p.f("// want says in words what the rule wants.\nfunc (r textRule) want() string {\nswitch r {\n")
	for _, name := range textRules {
		if m.Rules[name] == nil {
			panic(unknown("a schema without " + name))
		}
		p.f("case %s:\nreturn %q\n", ruleName(m.Rules[name]), m.Rules[name].Want)
	}
	p.f("}\nreturn \"\"\n}\n\n")
	for _, name := range slices.Sorted(maps.Keys(m.Rules)) {
		r := m.Rules[name]
		switch {
		case slices.Contains(textRules, name):
		case len(r.Arms) > 0:
			printForm(p, r)
		case r.Min == nil && name != "#Sudo" && name != "#SudoFlag":
			printScalarRule(p, r)
		}
	}
}

func printTokens(p *printer, name string, tokens []string) {
	p.f("func %s(name string) bool {\nswitch name {\ncase ", name)
	p.f("%s:\nreturn true\n}\nreturn false\n}\n\n", quotedList(tokens))
}

// printScalarRule prints a rule with its regular expressions verbatim: Go and CUE share
// their dialect.
func printScalarRule(p *printer, r *model.Rule) {
	short := strings.TrimPrefix(r.Name, "#")
	var tests []string
	add := func(exprs []string, not string) {
		for _, expr := range exprs {
			name := fmt.Sprintf("re%s%d", short, len(tests)+1)
			p.f("var %s = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(%s) })\n\n", name, quote(expr))
			tests = append(tests, fmt.Sprintf("%s%s().MatchString(s)", not, name))
		}
	}
	add(r.Match, "")
	add(r.NoMatch, "!")
	p.f("var %s = scalarRule{", ruleName(r))
	if len(tests) > 0 {
		p.f("ok: func(s string) bool { return %s }, ", strings.Join(tests, " && "))
	}
	p.f("want: %q}\n\n", r.Want)
}

// printForm prints how the base of a path decides about the rest of it.
func printForm(p *printer, r *model.Rule) {
	bare := "#AbsoluteText"
	var bases []string
	p.f("func base%s(name []byte) (base Base, rule textRule, formula, ok bool) {\nswitch string(name) {\n", strings.TrimPrefix(r.Name, "#"))
	for _, arm := range r.Arms {
		if arm.Text != nil {
			bare = arm.Text.Name
			continue
		}
		text, names, formula := readArm(r, arm)
		if text == "" {
			continue
		}
		bases = append(bases, names...)
		for _, name := range names {
			p.f("case %q:\nreturn %q, %s, %t, true\n", name, canonicalBase(name), "rule"+text[1:], formula)
		}
	}
	p.f("}\nreturn \"\", 0, false, false\n}\n\n")
	bases = slices.DeleteFunc(bases, func(s string) bool { return s == "" })
	p.f("var %s = pathForm{bare: rule%s, base: base%s, bases: []string{%s}}\n\n", formName(r), bare[1:], strings.TrimPrefix(r.Name, "#"), quotedList(bases))
}

// canonicalBase undoes the deprecated spelling.
func canonicalBase(name string) string {
	if name == "path" {
		return "search_path"
	}
	return name
}

// readArm reads which bases an arm is for, "" among them if it needs none, and what the
// rest of the path then is. The arm for a guard without a path has no text.
func readArm(r *model.Rule, arm model.Arm) (text string, bases []string, formula bool) {
	if len(arm.Fields) > 0 && slices.ContainsFunc(arm.Fields, func(f model.ArmField) bool { return f.Const == "on" }) {
		return "", nil, false
	}
	bases = []string{""}
	for _, f := range arm.Fields {
		switch f.Name {
		case "path":
			if f.Rule == nil || !f.Required || !slices.Contains(textRules, f.Rule.Name) {
				panic(unknown("the text of " + r.Name))
			}
			text = f.Rule.Name
		case "base":
			bases = baseNames(f)
		case "formula":
			if f.Rule.Name != "#Formula" || !f.Required {
				panic(unknown("the field formula of " + r.Name))
			}
			formula = true
		case "condition", "id":
		default:
			panic(unknown("the field " + f.Name + " of " + r.Name))
		}
	}
	return text, bases, formula
}

var alternatives = regexp.MustCompile(`^\^\(\?:([a-z0-9_|]+)\)\$$`)

func baseNames(f model.ArmField) []string {
	var names []string
	switch {
	case f.Const != "":
		names = []string{f.Const}
	case len(f.Rule.Match) == 1 && len(f.Rule.NoMatch) == 0 && alternatives.MatchString(f.Rule.Match[0]):
		names = strings.Split(alternatives.FindStringSubmatch(f.Rule.Match[0])[1], "|")
	default:
		panic(unknown("a base that is neither one name nor ^(?:a|b|c)$"))
	}
	if !f.Required {
		names = append(names, "")
	}
	return names
}

func quotedList(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strconv.Quote(s)
	}
	return strings.Join(out, ", ")
}

func quoted(s string) string { return strconv.Quote(s) }
