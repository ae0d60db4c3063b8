package schema

import (
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

// A label is the name of a field. Reading JSON takes off the quotes of a name where it
// can, so its position is after the quote then.
type label struct{ ast.Label }

func (l label) Pos() token.Pos {
	if _, bare := l.Label.(*ast.Ident); bare {
		return l.Label.Pos().Add(-1)
	}
	return l.Label.Pos()
}

// fields lists the fields of an object with their names.
func fields(s *ast.StructLit) []namedField {
	out := make([]namedField, 0, len(s.Elts))
	for _, e := range s.Elts {
		if f, ok := e.(*ast.Field); ok {
			if name, _, err := ast.LabelName(f.Label); err == nil {
				out = append(out, namedField{name, label{f.Label}, f.Value, f})
			}
		}
	}
	return out
}

type namedField struct {
	name  string
	label label
	value ast.Expr
	field *ast.Field
}

// member finds a field of an object: its name and its value. Where there is none, the
// first is the object and the second nil.
func member(s *ast.StructLit, name string) (ast.Node, ast.Expr) {
	for _, f := range fields(s) {
		if f.name == name {
			return f.label, f.value
		}
	}
	return s, nil
}

// locate follows a path into a value, as far as it goes. It returns the name of the last
// field if name is set, else the value.
func locate(expr ast.Expr, path []string, name bool) ast.Node {
	at := ast.Node(expr)
	for _, p := range path {
		switch node := expr.(type) {
		case *ast.ListLit:
			i, err := strconv.Atoi(p)
			if err != nil || i >= len(node.Elts) {
				return at
			}
			expr = node.Elts[i]
			at = expr
		case *ast.StructLit:
			label, value := member(node, unquote(p))
			if value == nil {
				return at
			}
			if expr, at = value, value; name {
				at = label
			}
		default:
			return at
		}
	}
	return at
}

// unquote takes off the quotes that CUE puts around names that are no identifiers.
func unquote(name string) string {
	if s, err := strconv.Unquote(name); err == nil {
		return s
	}
	return name
}

// text is the content of a string.
func text(expr ast.Expr) (string, bool) {
	lit, ok := expr.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := literal.Unquote(lit.Value)
	return s, err == nil
}

func isNull(expr ast.Expr) bool {
	lit, ok := expr.(*ast.BasicLit)
	return ok && lit.Kind == token.NULL
}

// fieldName writes a path as source.path or paths[0].
func fieldName(path []string) string {
	var b strings.Builder
	for _, p := range path {
		p = unquote(p)
		switch _, err := strconv.Atoi(p); {
		case err == nil:
			b.WriteString("[" + p + "]")
		case b.Len() > 0:
			b.WriteString("." + p)
		default:
			b.WriteString(p)
		}
	}
	return b.String()
}

// plain rewrites the symbol form to the plain one, in place and keeping positions. It
// returns the names that are then there twice in one object.
func plain(expr ast.Expr) (twice []namedField) {
	ast.Walk(expr, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			if s, ok := text(lit); ok {
				lit.Value = literal.String.Quote(unsymbol(s))
			}
		}
		return true
	}, func(n ast.Node) {
		s, ok := n.(*ast.StructLit)
		if !ok {
			return
		}
		seen := map[string]bool{}
		for _, f := range fields(s) {
			if seen[f.name] {
				twice = append(twice, f)
			}
			seen[f.name] = true
		}
	})
	return twice
}

// unsymbol takes off the colon or backslash that a symbol or string begins with.
func unsymbol(s string) string {
	if s != "" && (s[0] == ':' || s[0] == '\\') {
		return s[1:]
	}
	return s
}
