package model

import (
	"fmt"
	"io/fs"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"
)

// Compile builds the CUE files of fsys, all of one package. The value can be used by
// one goroutine at a time.
func Compile(fsys fs.FS) (cue.Value, error) {
	names, err := fs.Glob(fsys, "*.cue")
	if err != nil {
		return cue.Value{}, err
	}
	inst := build.NewContext().NewInstance("", nil)
	for _, name := range names {
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return cue.Value{}, err
		}
		file, err := parser.ParseFile(name, src, parser.ParseComments)
		if err != nil {
			return cue.Value{}, details(err)
		}
		if err := inst.AddSyntax(file); err != nil {
			return cue.Value{}, details(err)
		}
	}
	if err := inst.Complete(); err != nil {
		return cue.Value{}, details(err)
	}
	v := cuecontext.New().BuildInstance(inst)
	if err := v.Err(); err != nil {
		return cue.Value{}, details(err)
	}
	return v, nil
}

func details(err error) error {
	return fmt.Errorf("the schema is broken: %s", strings.TrimSpace(errors.Details(err, nil)))
}

// Load reads the model from the compiled schema.
func Load(v cue.Value) (m *Model, err error) {
	l := &loader{root: v, rules: map[string]*Rule{}}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			m, err = nil, r.error
		default:
			panic(r)
		}
	}()
	return l.model(), nil
}

// loader walks the schema. It gives up by panicking with a failure, which Load catches.
type loader struct {
	root    cue.Value
	rules   map[string]*Rule
	objects []*Object
}

type failure struct{ error }

func (l *loader) fail(v cue.Value, format string, args ...any) {
	panic(failure{fmt.Errorf("schema: %s: %s (%s)", v.Path(), fmt.Sprintf(format, args...), v.Pos())})
}

func (l *loader) check(v cue.Value, err error) {
	if err != nil {
		l.fail(v, "%v", err)
	}
}

func (l *loader) model() *Model {
	m := &Model{
		Bases:          l.stringList("#Bases"),
		FormulaBases:   l.stringList("#FormulaBases"),
		GlobBases:      l.stringList("#GlobBases"),
		AbsoluteTokens: l.stringList("#AbsoluteTokens"),
		ValueTokens:    l.stringList("#ValueTokens"),
		Placeholders:   l.stringList("#Placeholders"),
		Phases:         l.stringList("#Phases"),
	}
	undo, err := l.lookup("#MaxUndo").Int64()
	l.check(l.root, err)
	m.MaxUndo = int(undo)
	for _, f := range l.fields(l.lookup("#ByType")) {
		m.Steps = append(m.Steps, l.step(f.name, f.value))
	}
	for _, name := range []string{"#Guard", "#EnvName", "#PackageName", "#Version"} {
		l.rule(l.lookup(name))
	}
	m.Layouts = l.layouts()
	protected := l.lookup("#ProtectedNames")
	l.check(protected, protected.Decode(&m.Protected))
	m.Composites, m.Unsupported = l.composites(m.Steps), l.unsupported(m.Steps)
	m.Classes = l.classes(m.Steps, m.Unsupported)
	m.Rules, m.Objects = l.rules, l.objects
	return m
}

func (l *loader) lookup(path string) cue.Value {
	v := l.root.LookupPath(cue.ParsePath(path))
	if !v.Exists() {
		l.fail(l.root, "%s is missing", path)
	}
	return v
}

func (l *loader) stringList(path string) []string {
	return l.strings(l.lookup(path))
}

func (l *loader) strings(v cue.Value) []string {
	if !v.Exists() {
		return nil
	}
	var out []string
	l.check(v, v.Decode(&out))
	return out
}

func (l *loader) string(v cue.Value) string {
	s, err := v.String()
	l.check(v, err)
	return s
}

type field struct {
	name     string
	optional bool
	value    cue.Value
}

// fields lists the fields of a definition in order, optional and required ones too.
func (l *loader) fields(v cue.Value) []field { return l.list(v, cue.Optional(true)) }

// data lists the fields of a value in order.
func (l *loader) data(v cue.Value) []field { return l.list(v) }

func (l *loader) list(v cue.Value, opts ...cue.Option) []field {
	var out []field
	it, err := v.Fields(opts...)
	l.check(v, err)
	for it.Next() {
		out = append(out, field{name: it.Selector().Unquoted(), optional: it.FieldType()&cue.OptionalConstraint != 0, value: it.Value()})
	}
	return out
}

// doc is the text of the comment above v.
func doc(v cue.Value) []string {
	for _, g := range v.Doc() {
		if g.Doc {
			return docLines(g)
		}
	}
	return nil
}

func docLines(g *ast.CommentGroup) []string {
	return strings.Split(strings.TrimSpace(g.Text()), "\n")
}
