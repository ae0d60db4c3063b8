package schema

import (
	"fmt"
	"regexp"
	"slices"

	"cuelang.org/go/cue/ast"

	"steps.example/schema/internal/model"
)

var tokenSyntax = regexp.MustCompile(`\{\{([A-Za-z_][A-Za-z0-9_.]*)\}\}`)

// layoutFaults checks that the layout has the bases and tokens that a valid step's paths
// and guards use.
func (v *validator) layoutFaults(s *ast.StructLit, def *model.Step) {
	if _, guards := member(s, "guards"); guards != nil {
		v.eachPlace("guards", guards)
	}
	v.fieldFaults("", s, def.Fields)
}

// fieldFaults checks the paths in an object whose own name, with a dot, is prefix.
func (v *validator) fieldFaults(prefix string, s *ast.StructLit, defs []model.Field) {
	for _, d := range defs {
		_, value := member(s, d.Name)
		switch {
		case value == nil:
		case d.Kind == model.KindPath || d.Kind == model.KindPaths:
			v.eachPlace(prefix+d.Name, value)
		case d.Kind == model.KindObjects:
			for i, e := range value.(*ast.ListLit).Elts {
				v.fieldFaults(fmt.Sprintf("%s%s[%d].", prefix, d.Name, i), e.(*ast.StructLit), d.Object.Fields)
			}
		case d.Kind == model.KindObject:
			v.fieldFaults(prefix+d.Name+".", value.(*ast.StructLit), d.Object.Fields)
		}
	}
}

// eachPlace checks a path or guard, or a list of them.
func (v *validator) eachPlace(field string, value ast.Expr) {
	list, ok := value.(*ast.ListLit)
	if !ok {
		v.placeFaults(field, value)
		return
	}
	for i, e := range list.Elts {
		v.placeFaults(fmt.Sprintf("%s[%d]", field, i), e)
	}
}

// placeFaults checks one path or guard.
func (v *validator) placeFaults(field string, expr ast.Expr) {
	path, value := expr, ast.Expr(nil)
	if s, ok := expr.(*ast.StructLit); ok {
		_, path = member(s, "path")
		_, value = member(s, "base")
	}
	if base, ok := text(value); ok && !v.hasBase(base) {
		v.fault(value, field+".base", fmt.Sprintf("the layout %s has no base %q", v.layout.Name, base), "")
	}
	if s, ok := text(path); ok {
		for _, m := range tokenSyntax.FindAllStringSubmatch(s, -1) {
			if !v.hasToken(m[1]) {
				v.fault(path, field, fmt.Sprintf("the layout %s has no token {{%s}}", v.layout.Name, m[1]), "")
			}
		}
	}
}

func (v *validator) hasBase(name string) bool {
	if name == "absolute" || name == "relative" || slices.Contains(v.model.GlobBases, name) {
		return true
	}
	return slices.ContainsFunc(v.layout.Bases, func(p model.Pair) bool { return p.Name == name })
}

func (v *validator) hasToken(name string) bool {
	return slices.Contains(v.layout.Verbatim, name) ||
		slices.ContainsFunc(v.layout.Tokens, func(p model.Pair) bool { return p.Name == name })
}
