package schema

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"

	"steps.example/schema/internal/model"
	"steps.example/steps"
)

// document checks a whole document. Its form shows in its names.
func (v *validator) document(expr ast.Expr) {
	s, ok := expr.(*ast.StructLit)
	if !ok {
		v.fault(expr, "", "is no document, which is an object", "")
		return
	}
	has := func(name string) bool { _, value := member(s, name); return value != nil }
	switch {
	case has("schema"), has("layout"), has("$schema"):
		_, layout := member(s, "layout")
		name, _ := text(layout)
		v.layout = v.layoutNamed(name)
		v.native(s)
	case has("token"):
		v.layout = v.layoutNamed("homebrew-cask")
		v.cask(s)
	case has("name"):
		v.layout = v.layoutNamed("homebrew-formula")
		v.formula(s)
	default:
		v.fault(s, "", "is no document: it has neither schema, layout and name, nor the fields of a formula or cask", "")
	}
}

func (v *validator) layoutNamed(name string) *model.Layout {
	i := slices.IndexFunc(v.model.Layouts, func(l model.Layout) bool { return l.Name == name })
	if i < 0 {
		return nil
	}
	return &v.model.Layouts[i]
}

func (v *validator) isPhase(name string) bool { return slices.Contains(v.model.Phases, name) }

// header checks the fields that keep accepts against a definition.
func (v *validator) header(definition string, s *ast.StructLit, keep func(string) bool) {
	header := &ast.StructLit{Lbrace: s.Lbrace, Rbrace: s.Rbrace}
	for _, f := range fields(s) {
		if keep(f.name) {
			header.Elts = append(header.Elts, f.field)
		}
	}
	v.definition(definition, header)
}

func (v *validator) native(s *ast.StructLit) {
	v.header("#Header", s, func(name string) bool { return !v.isPhase(name) })
	v.phases(s)
}

// phases checks all fields that are phases.
func (v *validator) phases(s *ast.StructLit) {
	for _, f := range fields(s) {
		if !v.isPhase(f.name) {
			continue
		}
		list, ok := f.value.(*ast.ListLit)
		if !ok {
			v.fault(f.value, f.name, "is no array of steps", "")
			continue
		}
		v.phase = steps.Phase(f.name)
		if !isBlockList(list) {
			v.steps(list)
		} else {
			for i, e := range list.Elts {
				if block, ok := e.(*ast.ListLit); ok {
					v.steps(block)
				} else {
					v.fault(e, fmt.Sprintf("%s[%d]", f.name, i), "is no array of steps, as the others", "")
				}
			}
		}
		v.phase = ""
	}
}

// isBlockList reports whether a phase is a list of lists.
func isBlockList(list *ast.ListLit) bool {
	if len(list.Elts) == 0 {
		return false
	}
	_, ok := list.Elts[0].(*ast.ListLit)
	return ok
}

// foreign refuses names of an API object that look like a phase, or are one of the
// known ones in other letters.
func (v *validator) foreign(s *ast.StructLit, known ...string) {
	for _, f := range fields(s) {
		lower := strings.ToLower(f.name)
		if strings.HasSuffix(lower, "_steps") && !v.isPhase(f.name) {
			v.fault(f.label, f.name, "is no phase", "one of "+strings.Join(v.model.Phases, ", "))
		} else if lower != f.name && slices.Contains(known, lower) {
			v.fault(f.label, f.name, "is a known name in other letters", lower)
		}
	}
}

func (v *validator) formula(s *ast.StructLit) {
	own := []string{"name", "versions", "revision"}
	v.header("#FormulaHeader", s, func(name string) bool { return slices.Contains(own, name) })
	v.foreign(s, append(own, "token", "artifacts")...)
	if at, value := member(s, "artifacts"); value != nil {
		v.fault(at, "artifacts", "is a cask's field, but there is no token", "")
	}
	v.phases(s)
}

func (v *validator) cask(s *ast.StructLit) {
	v.header("#CaskHeader", s, func(name string) bool { return name == "token" || name == "version" })
	v.foreign(s, "token", "version", "artifacts")
	for _, f := range fields(s) {
		if v.isPhase(f.name) {
			v.fault(f.label, f.name, "is not in its place: the steps of a cask are among its artifacts", "")
		}
	}
	_, artifacts := member(s, "artifacts")
	if artifacts == nil || isNull(artifacts) {
		return
	}
	list, ok := artifacts.(*ast.ListLit)
	if !ok {
		v.fault(artifacts, "artifacts", "is no array", "")
		return
	}
	for _, e := range list.Elts {
		switch e := e.(type) {
		case *ast.StructLit:
			v.artifact(e)
		case *ast.ListLit:
			v.symbolArtifact(e)
		}
	}
}

// artifact checks {"postflight_steps": [{"steps": […]}, …]}.
func (v *validator) artifact(s *ast.StructLit) {
	v.foreign(s)
	for _, f := range fields(s) {
		if !v.isPhase(f.name) {
			continue
		}
		list, ok := f.value.(*ast.ListLit)
		if !ok {
			v.fault(f.value, f.name, "is no array of objects with the field steps", "")
			continue
		}
		v.blocks(f.name, list.Elts)
	}
}

// symbolArtifact checks [":postflight_steps", {":steps": […]}, …].
func (v *validator) symbolArtifact(list *ast.ListLit) {
	if len(list.Elts) == 0 {
		return
	}
	name, ok := text(list.Elts[0])
	if !ok {
		return
	}
	name = unsymbol(name)
	if !v.isPhase(name) {
		if strings.HasSuffix(strings.ToLower(name), "_steps") {
			v.fault(list.Elts[0], "", fmt.Sprintf("%q is no phase", name), "")
		}
		return
	}
	for _, e := range list.Elts[1:] {
		for _, f := range plain(e) {
			v.fault(f.label, f.name, "is there twice in one object", "each name once")
		}
	}
	v.blocks(name, list.Elts[1:])
}

// blocks checks objects whose only field is steps.
func (v *validator) blocks(phase string, blocks []ast.Expr) {
	for _, e := range blocks {
		s, ok := e.(*ast.StructLit)
		if !ok || len(s.Elts) != 1 {
			v.fault(e, phase, "is no object with the field steps and no other", "")
			continue
		}
		_, value := member(s, "steps")
		list, ok := value.(*ast.ListLit)
		if !ok {
			v.fault(e, phase, "has no array steps", "")
			continue
		}
		v.phase = steps.Phase(phase)
		v.steps(list)
		v.phase = ""
	}
}
