package schema

import (
	"fmt"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/encoding/json"

	"steps.example/schema/internal/model"
	"steps.example/steps"
)

// ValidateDocument checks a document against the schema: a native one, a formula or a
// cask. It reports [steps.Errors], at most ten.
func ValidateDocument(data []byte) error {
	return withValidator(data, func(v *validator, expr ast.Expr) { v.document(expr) })
}

// ValidateSteps checks a bare list of steps.
func ValidateSteps(data []byte) error {
	return withValidator(data, func(v *validator, expr ast.Expr) {
		list, ok := expr.(*ast.ListLit)
		if !ok {
			v.fault(expr, "", "is no array of steps", "")
			return
		}
		v.steps(list)
	})
}

// ValidateTrust checks a trust policy.
func ValidateTrust(data []byte) error {
	return withValidator(data, func(v *validator, expr ast.Expr) { v.definition("#Trust", expr) })
}

// maxErrors is how many faults are reported at once.
const maxErrors = 10

type validator struct {
	*compiled
	layout *model.Layout
	faults steps.Errors
	count  int

	// The step at hand, for faults.
	phase steps.Phase
	step  int
	typ   steps.Type
}

func withValidator(data []byte, check func(*validator, ast.Expr)) error {
	if err := steps.CheckJSON(data, steps.Limits{}); err != nil {
		return err
	}
	c, err := load()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	expr, err := json.Extract("", data)
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	v := &validator{compiled: c}
	check(v, expr)
	if len(v.faults) > 0 {
		return v.faults
	}
	return nil
}

func (v *validator) full() bool { return len(v.faults) >= maxErrors }

func (v *validator) fault(at ast.Node, field, msg, want string) {
	if !v.full() {
		pos := at.Pos()
		v.faults = append(v.faults, &steps.Error{
			Pos: steps.Pos{Line: pos.Line(), Col: pos.Column()}, Phase: v.phase, Step: v.step, Type: v.typ,
			Field: field, Msg: msg, Want: want,
		})
	}
}

// definition checks a value that is no step against a definition.
func (v *validator) definition(name string, expr ast.Expr) {
	seen := map[string]bool{}
	for _, e := range errors.Errors(v.check(v.lookup(name), expr)) {
		path := e.Path()[min(1, len(e.Path())):] // without the definition's name
		field := fieldName(path)
		if seen[field] {
			continue
		}
		seen[field] = true
		format, args := e.Msg()
		msg := fmt.Sprintf(format, args...)
		v.fault(locate(expr, path, msg == notAllowed), field, msg, "")
	}
}

// notAllowed is what CUE says about a name that a closed definition does not have.
const notAllowed = "field not allowed"

// check unifies a value of the document with a definition.
func (v *validator) check(def cue.Value, expr ast.Expr) error {
	return def.Unify(v.root.Context().BuildExpr(expr)).Validate(cue.Concrete(true))
}

// steps checks a list of steps, each against the definition of its type.
func (v *validator) steps(list *ast.ListLit) {
	for i, e := range list.Elts {
		if v.full() {
			break
		}
		v.step, v.typ = i+1, ""
		if v.count++; v.count > steps.DefaultLimits.Steps {
			v.fault(e, "", "the document has too many steps", fmt.Sprintf("at most %d", steps.DefaultLimits.Steps))
			break
		}
		v.one(e)
	}
	v.step, v.typ = 0, ""
}

func (v *validator) one(expr ast.Expr) {
	s, ok := expr.(*ast.StructLit)
	if !ok {
		v.fault(expr, "", "is no object", `an object with the field "type"`)
		return
	}
	at, value := member(s, "type")
	typ, ok := text(value)
	if !ok {
		v.fault(s, "type", "is missing or no string", "the name of a step type")
		return
	}
	def, ok := v.byType[typ]
	if !ok {
		v.fault(at, "type", fmt.Sprintf("%q is no step type", typ), "")
		return
	}
	v.typ = steps.Type(typ)
	if err := v.check(def, s); err != nil {
		v.explain(s, v.compiled.steps[typ], err)
	} else if v.layout != nil {
		v.layoutFaults(s, v.compiled.steps[typ])
	}
}

// explain turns what CUE says about a step into one fault for each field at fault.
// CUE lists each form of a path that does not fit; the words of the schema are better.
func (v *validator) explain(s *ast.StructLit, def *model.Step, err error) {
	seen := map[string]bool{}
	for _, e := range errors.Errors(err) {
		path := e.Path()[min(2, len(e.Path())):] // without #ByType and the type
		path = path[:min(2, len(path))]
		head := ""
		if len(path) > 0 {
			head = unquote(path[0])
		}
		if seen[head] {
			continue
		}
		seen[head] = true
		name, value := member(s, head)
		switch known, want := wanted(def, head, v.model); {
		case head == "":
			format, args := e.Msg()
			v.fault(s, "", fmt.Sprintf(format, args...), "")
		case !known:
			v.fault(name, head, "not a field of "+def.Type, "")
		case value == nil:
			v.fault(s, head, "is missing", want)
		default:
			v.fault(locate(s, path, false), fieldName(path), "the schema does not allow this value", want)
		}
	}
}

// wanted finds a field of a step type and the words for what it wants.
func wanted(def *model.Step, name string, m *model.Model) (known bool, want string) {
	switch name {
	case "type":
		return true, def.Type
	case "guards":
		return true, m.Rules["#Guard"].Want
	}
	for _, f := range def.Fields {
		if f.Name != name {
			continue
		}
		return true, f.Want()
	}
	return false, ""
}
