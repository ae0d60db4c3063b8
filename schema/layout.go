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
	for _, f := range fields(s) {
		isPath := f.name == "guards" || slices.ContainsFunc(def.Fields, func(d model.Field) bool {
			return d.Name == f.name && (d.Kind == model.KindPath || d.Kind == model.KindPaths)
		})
		if !isPath {
			continue
		}
		if list, ok := f.value.(*ast.ListLit); ok {
			for i, e := range list.Elts {
				v.placeFaults(fmt.Sprintf("%s[%d]", f.name, i), e)
			}
			continue
		}
		v.placeFaults(f.name, f.value)
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
