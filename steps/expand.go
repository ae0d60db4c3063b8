package steps

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
)

// A composite is a step type that expands to others: templates of the schema, in which
// $field stands for a field of the composite.
type composite struct {
	// by is the field that chooses the expansion; "" where there is but one.
	by       string
	defaults map[string]string
	// steps are JSON arrays.
	steps map[string]string
}

// Unsupported tells why a known step type cannot be done yet.
func Unsupported(t Type) (reason string, unsupported bool) {
	reason, unsupported = unsupportedTypes[t]
	return reason, unsupported
}

// Expand returns the primitive steps that a composite stands for; the result is false
// for a step that is no composite. resolve turns a path of the step into an absolute
// one, for use in arguments.
//
// The step's own guards come first in each expanded step. The ids of the composite's
// guards begin with "composite:", which no document's id can.
func Expand(s Step, resolve func(Path) (string, error)) ([]Step, bool, error) {
	c, ok := composites[s.Type()]
	if !ok {
		return nil, false, nil
	}
	e := expansion{resolve: resolve}
	if err := json.Unmarshal(s.appendJSON(nil), &e.fields); err != nil {
		return nil, true, fmt.Errorf("%s: %w", s.Type(), err)
	}
	for name, value := range c.defaults {
		if e.fields[name] == nil {
			e.fields[name] = value
		}
	}
	choice, _ := e.fields[c.by].(string)
	template, ok := c.steps[choice]
	if !ok {
		return nil, true, fmt.Errorf("%s: %s %q has no expansion", s.Type(), c.by, choice)
	}
	var tree any
	if err := json.Unmarshal([]byte(template), &tree); err != nil {
		return nil, true, bug("template of %s: %w", s.Type(), err)
	}
	text, err := json.Marshal(e.fill(tree))
	if e.err != nil {
		return nil, true, fmt.Errorf("%s: %w", s.Type(), e.err)
	}
	if err != nil {
		return nil, true, bug("template of %s: %w", s.Type(), err)
	}
	list, err := DecodeSteps(text, Limits{})
	if err != nil {
		return nil, true, bug("expansion of %s: %w", s.Type(), err)
	}
	for _, p := range list {
		guards := append([]Guard{}, s.StepGuards()...)
		for _, g := range p.StepGuards() {
			g.ID = "composite:" + g.ID
			guards = append(guards, g)
		}
		p.setGuards(guards)
	}
	return list, true, nil
}

// bug marks an error that is a fault of this program, not of its input.
func bug(format string, args ...any) error {
	return fmt.Errorf("BUG(steps): "+format, args...)
}

// An expansion fills the placeholders of a template.
type expansion struct {
	fields  map[string]any
	resolve func(Path) (string, error)
	err     error
}

var placeholder = regexp.MustCompile(`\$[a-z_]+`)

func (e *expansion) fill(node any) any {
	switch node := node.(type) {
	case string:
		return placeholder.ReplaceAllStringFunc(node, func(ref string) string { return e.text(ref[1:]) })
	case []any:
		for i := range node {
			node[i] = e.fill(node[i])
		}
	case map[string]any:
		base, _ := node["base"].(string)
		if own, ok := e.fields[strings.TrimPrefix(base, "$")].(map[string]any); ok && strings.HasPrefix(base, "$") {
			e.join(node, own)
			return node
		}
		for k := range node {
			node[k] = e.fill(node[k])
		}
	}
	return node
}

// text is the text of a field; a path is absolute.
func (e *expansion) text(name string) string {
	switch field := e.fields[name].(type) {
	case string:
		return field
	case map[string]any:
		get := func(key string) string { s, _ := field[key].(string); return s }
		abs, err := e.resolve(Path{Base: Base(get("base")), Path: get("path"), Formula: get("formula")})
		if err != nil && e.err == nil {
			e.err = err
		}
		return abs
	}
	return ""
}

// join puts the path in node beneath the composite's own one. Where node is a guard,
// glob characters of its own path are literal, as they are elsewhere.
func (e *expansion) join(node, own map[string]any) {
	delete(node, "base")
	below, _ := node["path"].(string)
	path, _ := own["path"].(string)
	if _, guard := node["condition"]; guard {
		path = literalGlob(path)
	}
	for _, key := range []string{"base", "formula"} {
		if v, ok := own[key]; ok {
			node[key] = v
		}
	}
	switch {
	case path == ".":
		path = below
	case below != ".":
		path = strings.TrimSuffix(path, "/") + "/" + below
	}
	node["path"] = path
}

// literalGlob escapes the glob characters of a path, but not its tokens.
func literalGlob(path string) string {
	var b strings.Builder
	for path != "" {
		if _, after, ok := cutToken(path); ok {
			b.WriteString(path[:len(path)-len(after)])
			path = after
			continue
		}
		if strings.IndexByte(`\*?[]{}`, path[0]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(path[0])
		path = path[1:]
	}
	return b.String()
}
